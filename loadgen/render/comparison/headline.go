package comparison

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// Headline answers a comparison of two arms in one sentence.
type Headline struct {
	Where string // the stratum; empty where there is one only
	Pair  string // container against native
	Text  string // a sentence without its beginning
	Tone  render.Tone
}

// Block returns a headline for a page.
func (h Headline) Block() render.Paragraph {
	var spans []render.Span
	if h.Where != "" {
		spans = []render.Span{render.Tag(h.Where), render.Plain(" ")}
	}
	return render.Notice(h.Tone, append(spans, render.Strong(h.Sentence()))...)
}

// Sentence returns the whole sentence.
func (h Headline) Sentence() string { return h.Pair + ": " + h.Text }

// Headlines returns a sentence for each pair of arms: what the metric that decides shows, then memory before the KV cache
// and throughput, then how many runs this is based on, in which order and of which quality.
func Headlines(c compare.Comparison) []Headline {
	var all []Headline
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			h := answer(s, p)
			if len(c.Strata) > 1 {
				h.Where = stratumName(c, s)
			}
			all = append(all, h)
		}
	}
	return all
}

func answer(s compare.Stratum, p compare.Pair) Headline {
	h := Headline{Pair: pairName(p), Tone: render.Note}
	var clauses []string
	for i, m := range headlineMetrics(p) {
		clauses = append(clauses, clause(m))
		if i == 0 {
			h.Tone = toneOf(m.Verdict)
		}
	}
	clauses = append(clauses, basis(s, p))
	h.Text = strings.Join(clauses, "; ") + "."
	return h
}

// headlineMetrics returns the metrics of a headline: those that decide first.
func headlineMetrics(p compare.Pair) []compare.Metrics {
	var first, then []compare.Metrics
	for _, m := range p.Metrics {
		switch {
		case m.Primary:
			first = append(first, m)
		case inHeadline(m):
			then = append(then, m)
		}
	}
	return append(first, then...)
}

// inHeadline reports whether a headline states the metric.
func inHeadline(m compare.Metrics) bool {
	return m.Primary || m.Name == figure.MemoryOccupiedWithoutKV || m.Name == figure.OutputTokensPerSecond
}

func toneOf(v compare.Verdict) render.Tone {
	switch v {
	case compare.Equivalent, compare.Irrelevant, compare.Better:
		return render.Good
	case compare.Worse:
		return render.Bad
	default:
		return render.Note
	}
}

// clause returns what is known of one metric: memory occupied without KV cache 10.2 GiB more [8.0, 11.9], worse.
func clause(m compare.Metrics) string {
	name := keyOf(m).words()
	margin := "±" + m.Margin.Text(figure.Unit(m.Unit))
	switch m.Verdict {
	case compare.Equivalent:
		return name + " the same within " + margin
	case compare.Irrelevant:
		return fmt.Sprintf("%s %s, less than the margin of %s", name, amount(m), margin)
	case compare.Inconclusive:
		if lostToHolm(m) {
			return name + " " + amount(m) + ", not decided as one of many tests"
		}
		return name + " not decided"
	case compare.Undecided:
		return fmt.Sprintf("%s %s, not tested", name, amount(m))
	}
	return name + " " + amount(m) + ", " + m.Verdict.Text()
}

// lostToHolm reports whether a metric would have a finding if it were the only one that is tested: its interval leaves out
// no difference.
func lostToHolm(m compare.Metrics) bool {
	return m.Verdict == compare.Inconclusive && m.CI95 != nil && (m.CI95[0] > 0 || m.CI95[1] < 0)
}

// amount formats a difference by its size and direction, with its 95 % interval.
func amount(m compare.Metrics) string {
	c := changeOf(m)
	if c.text == nil {
		return "of no known difference"
	}
	if c.value == 0 {
		return "the same"
	}
	size, signs := math.Abs(c.value), 1.0
	direction := c.more
	if c.value < 0 {
		direction, signs = c.less, -1
	}
	text := c.text(size) + " " + direction
	if c.interval != nil {
		low, high := signs*c.interval[0], signs*c.interval[1]
		text += fmt.Sprintf(" [%s, %s]", c.inUnit(min(low, high), size), c.inUnit(max(low, high), size))
	}
	return text
}

// change is the difference of a metric: relative where it is analysed as ratios, else in the unit of the metric.
type change struct {
	value      float64
	interval   *compare.Interval
	text       func(v float64) string        // with its unit
	inUnit     func(v, other float64) string // in the unit that other is shown in
	more, less string
}

func changeOf(m compare.Metrics) change {
	unit := figure.Unit(m.Unit)
	c := change{interval: m.CI95, text: unit.Text, inUnit: unit.InUnitOf, more: "higher", less: "lower"}
	relative := m.RatioCI95 != nil || m.CI95 == nil && m.Margin.Relative
	switch {
	case relative && m.Ratio != nil:
		c.value, c.interval = *m.Ratio-1, nil
		c.text, c.inUnit = figure.Percent, figure.Ratio.InUnitOf
		if m.RatioCI95 != nil {
			c.interval = &compare.Interval{m.RatioCI95[0] - 1, m.RatioCI95[1] - 1}
		}
	case m.Difference != nil:
		c.value = *m.Difference
	default:
		return change{}
	}
	switch unit {
	case figure.Bytes, figure.Tokens, figure.Joules:
		c.more, c.less = "more", "less"
	case figure.Seconds:
		c.more, c.less = "longer", "shorter"
	}
	return c
}

// basis returns what a headline rests on: 8 runs, ABBA, decision grade.
func basis(s compare.Stratum, p compare.Pair) string {
	runs := slices.Concat(s.Arms[p.A].Runs, s.Arms[p.B].Runs)
	grades := map[compare.Grade]int{}
	for _, r := range runs {
		grades[r.Grade]++
	}
	parts := []string{compare.Runs(len(runs)), orderName(p.Order.Kind, s.Order.Kind)}
	switch decision := grades[compare.GradeDecision]; {
	case decision == len(runs):
		parts = append(parts, "decision grade")
	case decision > 0:
		parts = append(parts, fmt.Sprintf("%d of decision grade", decision))
	default:
		parts = append(parts, "none of decision grade")
	}
	if excluded := len(s.Arms[p.A].Excluded) + len(s.Arms[p.B].Excluded); excluded > 0 {
		parts = append(parts, fmt.Sprintf("%d invalid left out", excluded))
	}
	return strings.Join(parts, ", ")
}

// orderName returns the order of the runs of two arms; that of the whole stratum where theirs is not known.
func orderName(pair, stratum string) string {
	kind := pair
	if kind == "" {
		kind = stratum
	}
	switch kind {
	case compare.OrderABBA:
		return "ABBA"
	case compare.OrderBlocked:
		return "in blocks"
	case compare.OrderRandom:
		return "in random order"
	case compare.OrderAlternating:
		return "alternating"
	case compare.OrderSingle:
		return "one of each arm"
	default:
		return "order " + kind
	}
}
