package report

import "github.com/umascope/umascope/loadgen/chart"

// Computed is a figure that somebody made of others; nil where one of these is not there.
type Computed struct {
	Name  string
	Value *float64
}

func (c Computed) text() string { return chart.Optional(c.Value, chart.Digits) }

// With is the summary with figures that are shown beside its own. They are no part of summary.json.
func (s Summary) With(computed []Computed) Summary {
	s.computed = computed
	return s
}

func (s Summary) computedFacts() []fact {
	var facts []fact
	for _, c := range s.computed {
		facts = append(facts, fact{c.Name + " (computed)", c.text()})
	}
	return facts
}

// Computed are the figures that With has added.
func (s Summary) Computed() []Computed { return s.computed }
