package grafana

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Source answers the queries of variables: a Prometheus over HTTP, or an engine in a test.
type Source struct {
	// LabelValues lists the values of a label in a time range, among the series that the selector matches, "" for all.
	LabelValues func(ctx context.Context, label, selector string, window Window) ([]string, error)
	// Instant evaluates an expression at one time. Its result is a vector.
	Instant func(ctx context.Context, expression string, at time.Time) ([]Sample, error)
}

// Sample is one value; the text is as Prometheus writes it.
type Sample struct {
	Labels map[string]string
	Value  string
	Time   time.Time
}

// Resolve finds the options and values of a dashboard's variables. Variables that others refer to come first, else they
// keep their order, as Grafana updates them. An error of a variable is stored in it, and the others are resolved as if
// it were empty.
func Resolve(ctx context.Context, d Dashboard, settings Settings, source Source) Scope {
	s := Scope{Settings: settings}
	waiting := slices.Clone(d.Variables)
	for len(waiting) > 0 {
		next, err := nextOf(waiting)
		r := Resolved{Variable: waiting[next], Err: err}
		waiting = slices.Delete(waiting, next, next+1)
		if r.Kind == KindDatasource {
			r.Options = []string{s.Source}
		} else if err == nil {
			var found []string
			found, r.Err = s.find(ctx, r.Query, source)
			r.Options = r.options(found)
		}
		r.Current = r.choose(settings.Chosen[r.Name])
		s.Variables = append(s.Variables, r)
	}
	slices.SortStableFunc(s.Variables, func(a, b Resolved) int { return d.position(a.Name) - d.position(b.Name) })
	return s
}

func (d Dashboard) position(name string) int {
	return slices.IndexFunc(d.Variables, func(v Variable) bool { return v.Name == name })
}

// nextOf returns the first variable that refers to no unresolved one. In a cycle of references it returns the first
// with an error: Grafana would load for ever.
func nextOf(waiting []Variable) (int, error) {
	for i, v := range waiting {
		free := !slices.ContainsFunc(mentions(v.Query+v.Datasource), func(m mention) bool {
			return slices.ContainsFunc(waiting, func(other Variable) bool { return other.Name == m.name })
		})
		if free {
			return i, nil
		}
	}
	return 0, errors.New("it needs a variable that needs it")
}

// choose returns the value of a variable: that of the address, even if it is not an option, else the stored one if it
// is an option, else the first option (MultiValueVariable in scenes). Without options it is empty, or All where there
// is one.
func (r Resolved) choose(asked []string) []string {
	if r.Kind == KindDatasource {
		return []string{r.Options[0]} // there is one data source
	}
	if len(asked) > 0 {
		if r.IncludeAll && (slices.Contains(asked, All) || slices.Contains(asked, allText) || r.AllValue != "" && asked[0] == r.AllValue) {
			return []string{All}
		}
		if r.Multi {
			return asked
		}
		return asked[:1]
	}
	if r.IncludeAll && slices.Contains(r.Variable.Current, All) {
		return []string{All}
	}
	var valid []string
	for _, value := range r.Variable.Current {
		if slices.Contains(r.Options, value) {
			valid = append(valid, value)
		}
	}
	switch {
	case len(valid) > 0:
		return valid
	case len(r.Options) > 0:
		return []string{r.Options[0]}
	case r.IncludeAll:
		return []string{All}
	case r.Multi:
		return nil
	}
	return []string{""}
}

// The query functions of a query variable (metric_find_query in Grafana's Prometheus library).
var (
	labelValues = regexp.MustCompile(`(?s)^label_values\((?:(.+),\s*)?([a-zA-Z_][a-zA-Z0-9_]*)\)\s*$`)
	queryResult = regexp.MustCompile(`(?s)^query_result\((.+)\)\s*$`)
)

// find runs the query of a query variable. Its variables are written as in a query of a panel; the interval is the data
// source's scrape interval.
func (s Scope) find(ctx context.Context, query string, source Source) ([]string, error) {
	question, err := s.Expr(query, 0)
	if err != nil {
		return nil, err
	}
	if match := labelValues.FindStringSubmatch(question); match != nil {
		return source.LabelValues(ctx, match[2], strings.TrimSpace(match[1]), s.Window)
	}
	if match := queryResult.FindStringSubmatch(question); match != nil {
		samples, err := source.Instant(ctx, match[1], s.Window.To)
		return resultLines(samples), err
	}
	return nil, fmt.Errorf("%q is no question that is known here: want label_values or query_result", query)
}

// resultLines are the lines that Grafana makes of a vector, to which it applies the variable's regular expression: for
// every sample its series, its value and its time in milliseconds. Prometheus sorts labels by name.
func resultLines(samples []Sample) []string {
	var lines []string
	for _, sample := range samples {
		var labels []string
		for name, value := range sample.Labels {
			if name != nameLabel {
				labels = append(labels, name+`="`+value+`"`) // not escaped: neither does Grafana
			}
		}
		slices.Sort(labels)
		series := sample.Labels[nameLabel] + "{" + strings.Join(labels, ",") + "}"
		lines = append(lines, series+" "+sample.Value+" "+strconv.FormatInt(sample.Time.UnixMilli(), 10))
	}
	return lines
}
