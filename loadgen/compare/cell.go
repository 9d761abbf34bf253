package compare

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/figure"
)

// cell holds the runs with the same values of all --within labels, in the order of their start.
type cell struct {
	within map[string]string
	runs   []*Run
	arms   map[string]*arm
}

// arm holds the runs of one arm in a cell, in the order of their start. Invalid runs enter no figure.
type arm struct {
	name            string
	valid, excluded []*Run
	drifts          map[key]Drift // computed so far
}

// prepared returns copies of runs, in the order of their start, with the fields that are derived from their figures.
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

// addOccupiedWhenReady adds the memory occupied once the engine has its KV cache. Its source is the source of the part
// without the cache.
func (r *Run) addOccupiedWhenReady() {
	without, known := r.Metrics[figure.MemoryOccupiedWithoutKV]
	kv, sized := r.Metrics[figure.KVCapacity]
	if _, there := r.Metrics[figure.MemoryOccupiedWhenReady]; there || !known || !sized {
		return
	}
	if r.setFigure(figure.MemoryOccupiedWhenReady, new(without+kv)) && r.reportedByEngine(figure.MemoryOccupiedWithoutKV) {
		r.EngineReported = append(slices.Clone(r.EngineReported), figure.MemoryOccupiedWhenReady)
	}
}

func (r *Run) reportedByEngine(metric string) bool { return slices.Contains(r.EngineReported, metric) }

// metric returns a figure of the run by one source: measured, or reported by an engine.
func (r *Run) metric(k key) (float64, bool) {
	v, known := r.Metrics[k.name]
	return v, known && r.reportedByEngine(k.name) == k.engine && usable(v)
}

// largest is beyond any figure of a run; products of larger values overflow.
const largest = 1e100

// usable reports whether v is at most largest in size, so that figures can be computed from it.
func usable(v float64) bool { return math.Abs(v) <= largest }

// key is a metric and its source: figures of different sources never share a row.
type key struct {
	name   string
	engine bool // reported by the engine
}

// byTool reports whether a tool reported the metric, by its own definition.
func (k key) byTool() bool { return figure.ByTool(k.name) }

// toolsOf returns the tools whose figures are in the arms: figures of two tools are different metrics even if their
// names are equal.
func toolsOf(arms ...*arm) []string {
	var runs []*Run
	for _, a := range arms {
		runs = append(runs, a.valid...)
	}
	return slices.Sorted(slices.Values(distinctOf(runs, func(r *Run) string { return r.Tool })))
}

// sentByUs reports whether the throughput of any run was measured by uma-load.
func (a *arm) sentByUs() bool {
	return len(a.sample(key{name: figure.OutputTokensPerSecond}).values)+len(a.sample(key{name: figure.RequestsPerSecond}).values) > 0
}

// keys returns all possible rows, in the order of the table.
func keys() []key {
	var all []key
	for _, m := range figure.Compared() {
		all = append(all, key{m.Name, false}, key{m.Name, true})
	}
	return all
}

// sample holds the values of a metric in an arm.
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

// drift returns the drift of a metric over time in the arm. It keeps the result: it is needed more than once and is
// slow to compute.
func (a *arm) drift(k key) Drift {
	d, known := a.drifts[k]
	if !known {
		d = driftOf(a.sample(k))
		a.drifts[k] = d
	}
	return d
}

// validOf returns the valid runs.
func validOf(runs []*Run) []*Run {
	return slices.DeleteFunc(slices.Clone(runs), func(r *Run) bool { return !r.Valid })
}

// cellsOf groups runs by the labels of --within, in the order of the labels.
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

// arm returns the arm of a name; one without runs if the cell has none.
func (c *cell) arm(name string) *arm {
	if a := c.arms[name]; a != nil {
		return a
	}
	return &arm{name: name, drifts: map[key]Drift{}}
}
