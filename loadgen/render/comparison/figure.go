package comparison

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/stats"
)

// arms are the colours of arms, by their position in the comparison: neighbours differ clearly for colour-blind readers
// too. Further arms start again from the first colour, with another form of their marks.
var arms = []string{"c0", "c4", "c1", "c3", "c5", "c7", "c6"}

// armClass returns the colour of an arm, and the form of its marks.
func armClass(c compare.Comparison, arm string) (class string, form int) {
	i := max(0, slices.Index(c.Arms, arm))
	return arms[i%len(arms)], i
}

// point is the value of a run.
type point struct {
	run   compare.RunRef
	arm   string
	value float64
}

func (p point) text(unit figure.Unit) string {
	return fmt.Sprintf("%s, %s, %s: %s", p.arm, p.run.Run, p.run.StartedAt.UTC().Format("2006-01-02 15:04"), unit.Text(p.value))
}

// key is a metric with its source: engine-reported values never share a chart with measured ones.
type key struct {
	name   string
	engine bool
}

func keyOf(m compare.Metrics) key { return key{m.Name, m.EngineReported} }

// title returns the title of the metric with a capital letter.
func (k key) title() string {
	text := k.words()
	return strings.ToUpper(text[:1]) + text[1:]
}

// words returns the title of the metric; its name if the table does not have it.
func (k key) words() string {
	text := strings.ReplaceAll(k.name, "_", " ")
	if m, known := figure.FindCompared(k.name); known {
		text = m.Title
	}
	if k.engine {
		text += ", as the engine reports it"
	}
	return text
}

// unit returns the unit of the metric.
func (k key) unit() figure.Unit {
	m, _ := figure.FindCompared(k.name)
	return m.Unit
}

// points returns the values of the runs of an arm, in the order of time.
func points(s compare.Stratum, arm string, k key) []point {
	a := s.Arms[arm]
	var all []point
	for _, series := range a.Metrics {
		if series.Name != k.name || series.EngineReported != k.engine {
			continue
		}
		for i, v := range series.Values {
			if v != nil && i < len(a.Runs) {
				all = append(all, point{a.Runs[i], arm, *v})
			}
		}
	}
	return all
}

func values(all []point) []float64 {
	var x []float64
	for _, p := range all {
		x = append(x, p.value)
	}
	return x
}

// mean is the mean of some runs with its 95 % interval, which a single run does not have.
type mean struct {
	value float64
	ci    *stats.Interval
}

func meanOf(x []float64) mean {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	m := mean{value: sum / float64(len(x))}
	if ci, err := stats.MeanInterval(x, 0.95); err == nil {
		m.ci = &ci
	}
	return m
}

func (m mean) text(unit figure.Unit, n int) string {
	text := fmt.Sprintf("mean %s, n = %d", unit.Text(m.value), n)
	if m.ci != nil {
		text += fmt.Sprintf(", 95 %% CI %s to %s", unit.Text(m.ci.Low), unit.Text(m.ci.High))
	}
	return text
}

// counts formats the number of runs of each arm in a chart, such as "n = 10 native, 13 container runs".
func counts(c compare.Comparison, of func(arm string) int) string {
	var parts []string
	for _, arm := range c.Arms {
		if n := of(arm); n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", n, arm))
		}
	}
	return "n = " + strings.Join(parts, ", ") + " runs"
}

// pairCounts is counts of the runs of two arms that are compared.
func pairCounts(c compare.Comparison, s compare.Stratum, pair compare.Pair) string {
	return counts(c, func(arm string) int {
		if arm != pair.A && arm != pair.B {
			return 0
		}
		return len(s.Arms[arm].Runs)
	})
}

// legend names the arms that have values to show.
func legend(c compare.Comparison, has func(arm string) bool) []render.LegendItem {
	var items []render.LegendItem
	for _, arm := range c.Arms {
		if class, _ := armClass(c, arm); has(arm) {
			items = append(items, render.LegendItem{Class: class, Text: arm})
		}
	}
	return items
}

// span is the range from the smallest to the largest of some values.
type span struct{ lo, hi float64 }

func noSpan() span { return span{math.Inf(1), math.Inf(-1)} }

func (s *span) take(values ...float64) {
	for _, v := range values {
		s.lo, s.hi = min(s.lo, v), max(s.hi, v)
	}
}

// headline returns the metrics of most interest, the most important first; others follow in the order of the table.
func headline() []string {
	return []string{
		figure.OutputTokensPerSecond, figure.ToolOutputTokensPerSecond, figure.TimeToFirstToken, figure.TimePerOutputToken, figure.RequestDuration,
		figure.MemoryOccupiedWithoutKV, figure.KVCapacity, figure.MemoryOccupiedWhenReady, figure.MemoryUnavailablePeak, "gpu_end_celsius", "gpu_max_celsius", "joules_per_output_token",
	}
}

// shown returns the metrics of a stratum that are drawn: those that decide, then the headline, then those that differ.
func shown(s compare.Stratum, most int) []key {
	rank := map[key]int{}
	note := func(k key, at int) {
		if old, known := rank[k]; !known || at < old {
			rank[k] = at
		}
	}
	for _, pair := range s.Pairs {
		for i, m := range pair.Metrics {
			place := slices.Index(headline(), m.Name)
			switch {
			case m.Primary:
				note(keyOf(m), 0)
			case place >= 0:
				note(keyOf(m), 1+place)
			case found(m):
				note(keyOf(m), 100+i)
			default:
				note(keyOf(m), 1000+i)
			}
		}
	}
	keys := slices.SortedFunc(maps.Keys(rank), func(a, b key) int { return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(a.title(), b.title())) })
	return keys[:min(len(keys), most)]
}

// find returns a metric of a pair; nil if it has none of that name.
func find(pair compare.Pair, k key) *compare.Metrics {
	for i := range pair.Metrics {
		if keyOf(pair.Metrics[i]) == k {
			return &pair.Metrics[i]
		}
	}
	return nil
}

// outliers returns the runs of a stratum that are outliers in a metric.
func outliers(s compare.Stratum, k key) map[string]bool {
	flagged := map[string]bool{}
	for _, pair := range s.Pairs {
		if m := find(pair, k); m != nil {
			for _, o := range m.Outliers {
				flagged[o.Run] = true
			}
		}
	}
	return flagged
}
