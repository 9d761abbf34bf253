package spec

import (
	"fmt"
	"slices"
)

// PerModel reads each model of a view: the values of the label on any of these names. A page without the label has one
// model without a name.
func PerModel(all View, label string, names []string, read func(View) Model) []Model {
	var found []string
	for _, name := range names {
		for _, series := range all.Series(name) {
			if model := series.Labels[label]; !slices.Contains(found, model) && len(found) <= MaxModels {
				found = append(found, model)
			}
		}
	}
	if len(found) == 0 {
		return []Model{read(all)}
	}
	slices.Sort(found)
	models := make([]Model, len(found))
	for i, model := range found {
		models[i] = read(all.With(label, model))
		models[i].Name = ShortText(model)
	}
	return models
}

// View is a page, or the part of it with some labels, of an engine with these roles of labels.
type View struct {
	page   Page
	match  []Label
	labels Labels
	log    *readLog
}

// NewView returns the view of a whole page.
func NewView(page Page, labels Labels) View {
	return View{page: page, labels: labels, log: &readLog{asked: map[string]bool{}}}
}

// readLog records which families are read, and why figures are absent.
type readLog struct {
	asked  map[string]bool
	absent []string
}

// MaxReasons is the maximum number of reasons that a reading gives.
const MaxReasons = 20

// LeaveOut records why a figure is absent, once.
func (v View) LeaveOut(format string, values ...any) {
	if reason := fmt.Sprintf(format, values...); len(v.log.absent) < MaxReasons && !slices.Contains(v.log.absent, reason) {
		v.log.absent = append(v.log.absent, reason)
	}
}

// With narrows the view to the series with this value of a label.
func (v View) With(name, value string) View {
	v.match = append(slices.Clone(v.match), Label{Name: name, Value: value})
	return v
}

// Whole is the view of the whole page.
func (v View) Whole() View {
	v.match = nil
	return v
}

// Series returns the series of a name in the view.
func (v View) Series(name string) []Series {
	v.log.asked[v.page.Family(name)] = true
	return v.page.Series(name, v.match...)
}

// first returns the first of the names that there is, and its series.
func (v View) first(names ...string) (string, []Series) {
	for _, name := range names {
		if found := v.Series(name); len(found) > 0 {
			return name, found
		}
	}
	return "", nil
}

// Counter adds up all series of the first of the names that there is, nil if there is none.
func (v View) Counter(names ...string) *float64 {
	name, found := v.first(names...)
	if len(found) == 0 || v.belowZero(name, found) {
		return nil
	}
	sum := 0.0
	for _, one := range found {
		sum += one.Value
	}
	return &sum
}

// Gauge adds up the replicas of the first of the names that there is, nil if there is none. Series that differ only in
// labels that are no part of a replica's identity repeat one figure: if they are not equal, it is unknown which of them
// is right, and the figure is absent.
func (v View) Gauge(names ...string) *float64 {
	name, found := v.first(names...)
	if len(found) == 0 || v.belowZero(name, found) {
		return nil
	}
	sum, seen := 0.0, map[string]float64{}
	for _, one := range found {
		replica := v.labels.replicaOf(one)
		before, repeated := seen[replica]
		switch {
		case !repeated:
			seen[replica] = one.Value
			sum += one.Value
		case before != one.Value:
			v.LeaveOut("%s is not used: it has different values for one engine, in series that only %s separates", name, v.labels.separating(found))
			return nil
		}
	}
	return &sum
}

// belowZero reports whether a series is below zero, which no count, size or share that is read here can be. Engines
// write -1 for a value that they do not have.
func (v View) belowZero(name string, found []Series) bool {
	below := slices.ContainsFunc(found, func(one Series) bool { return one.Value < 0 })
	if below {
		v.LeaveOut("%s is not used: it is below zero", name)
	}
	return below
}

// MaxReplicas is the maximum number of replicas, far above any engine's: each is looked up in all series of a name.
const MaxReplicas = 256

// Replicas returns a view of each replica in the series of the first of the names that there is, none if there are
// more than MaxReplicas.
func (v View) Replicas(names ...string) []View {
	name, found := v.first(names...)
	var views []View
	seen := map[string]bool{}
	for _, one := range found {
		if key := v.labels.replicaOf(one); !seen[key] {
			seen[key] = true
			views = append(views, v.replica(one))
		}
		if len(views) > MaxReplicas {
			v.LeaveOut("%s is not used: more than %d replicas", name, MaxReplicas)
			return nil
		}
	}
	return views
}

// replica is the view of the replica that a series belongs to.
func (v View) replica(one Series) View {
	for _, label := range v.labels.Replica {
		v = v.With(label, one.Labels[label])
	}
	return v
}

// Under returns the view with other roles of labels, as on series that another program has written on the page.
func (v View) Under(labels Labels) View {
	v.labels = labels
	return v
}

// Narrowest is the label that the view was narrowed by last; it has none of a whole page.
func (v View) Narrowest() Label {
	if len(v.match) == 0 {
		return Label{}
	}
	return v.match[len(v.match)-1]
}

// Asked reports whether a family was looked at, in any part of the page.
func (v View) Asked(family string) bool { return v.log.asked[family] }
