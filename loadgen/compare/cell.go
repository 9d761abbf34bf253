package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strings"
)

// cell is the runs that agree in everything that is named by --within, in the order of their start.
type cell struct {
	within map[string]string
	runs   []*Run
	arms   map[string]*arm
}

// arm is the runs of one arm in a cell, in the order of their start. What is invalid enters no figure.
type arm struct {
	name            string
	valid, excluded []*Run
	drifts          map[key]Drift // as far as they were asked for
}

// prepared are copies of runs, in the order of their start, with what follows from their figures.
func prepared(runs []Run) []*Run {
	var all []*Run
	for _, r := range runs {
		r.Metrics = maps.Clone(r.Metrics)
		r.addOccupiedWhenReady()
		all = append(all, &r)
	}
	slices.SortStableFunc(all, func(a, b *Run) int {
		return cmp.Or(a.StartedAt.Compare(b.StartedAt), cmp.Compare(a.ID, b.ID))
	})
	findStarts(all)
	return all
}

// addOccupiedWhenReady adds what is occupied once the engine has its KV cache. It is by the same word as the part
// without the cache.
func (r *Run) addOccupiedWhenReady() {
	without, known := r.Metrics[MemoryOccupiedWithoutKV]
	kv, sized := r.Metrics[KVCapacity]
	if _, there := r.Metrics[MemoryOccupiedWhenReady]; there || !known || !sized {
		return
	}
	r.Metrics[MemoryOccupiedWhenReady] = without + kv
	if r.engineSays(MemoryOccupiedWithoutKV) {
		r.EngineReported = append(slices.Clone(r.EngineReported), MemoryOccupiedWhenReady)
	}
}

func (r *Run) engineSays(metric string) bool { return slices.Contains(r.EngineReported, metric) }

// metric is a figure of the run by one source: measured, or an engine's own word.
func (r *Run) metric(k key) (float64, bool) {
	v, known := r.Metrics[k.name]
	return v, known && r.engineSays(k.name) == k.engine && usable(v)
}

// largest is beyond any figure of a run; products of larger ones are no numbers.
const largest = 1e100

// usable says whether a figure can be computed with.
func usable(v float64) bool { return math.Abs(v) <= largest }

// key is a metric by its source: figures of different source never share a row.
type key struct {
	name   string
	engine bool // by the engine's own word
}

// byTool says whether a tool reported it, by its own definition.
func (k key) byTool() bool { return strings.HasPrefix(k.name, toolReported) }

// toolsOf are the tools whose figures are in the arms: what two of them call by one name is not one figure.
func toolsOf(arms ...*arm) []string {
	tools := map[string]bool{}
	for _, a := range arms {
		for _, r := range a.valid {
			if r.Tool != "" {
				tools[r.Tool] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(tools))
}

// sentByUs says whether the throughput of any run was measured here.
func (a *arm) sentByUs() bool {
	return len(a.sample(key{name: OutputTokensPerSecond}).values)+len(a.sample(key{name: "requests_per_second"}).values) > 0
}

// keys are all rows that there can be, in the order of the table.
func keys() []key {
	var all []key
	for _, m := range Table() {
		all = append(all, key{m.Name, false}, key{m.Name, true})
	}
	return all
}

// sample is a metric in an arm.
type sample struct {
	runs   []*Run
	values []float64
}

func (a *arm) sample(k key) sample {
	var s sample
	for _, r := range a.valid {
		if v, known := r.metric(k); known {
			s.runs, s.values = append(s.runs, r), append(s.values, v)
		}
	}
	return s
}

// drift is how a metric goes with time in the arm. It is asked for more than once, and takes its time.
func (a *arm) drift(k key) Drift {
	d, known := a.drifts[k]
	if !known {
		d = driftOf(a.sample(k))
		a.drifts[k] = d
	}
	return d
}

// validOf are the valid ones of runs.
func validOf(runs []*Run) []*Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return !r.Valid })
}

// cellsOf parts runs by the labels of --within; cells are in the order of their labels.
func cellsOf(runs []*Run, o Options) []*cell {
	var cells []*cell
	for _, r := range runs {
		within := map[string]string{}
		for _, name := range o.Within {
			within[name] = r.Label(name)
		}
		i := slices.IndexFunc(cells, func(c *cell) bool { return maps.Equal(c.within, within) })
		if i < 0 {
			i = len(cells)
			cells = append(cells, &cell{within: within, arms: map[string]*arm{}})
		}
		cells[i].add(r, r.Label(o.By))
	}
	slices.SortStableFunc(cells, func(a, b *cell) int {
		for _, name := range o.Within {
			if order := naturally(a.within[name], b.within[name]); order != 0 {
				return order
			}
		}
		return 0
	})
	return cells
}

func (c *cell) add(r *Run, name string) {
	c.runs = append(c.runs, r)
	a := c.arms[name]
	if a == nil {
		a = &arm{name: name, drifts: map[key]Drift{}}
		c.arms[name] = a
	}
	if r.Valid {
		a.valid = append(a.valid, r)
	} else {
		a.excluded = append(a.excluded, r)
	}
}

// arm is that of a name; one without runs if the cell has none.
func (c *cell) arm(name string) *arm {
	if a := c.arms[name]; a != nil {
		return a
	}
	return &arm{name: name, drifts: map[key]Drift{}}
}
