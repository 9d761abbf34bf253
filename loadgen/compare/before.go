package compare

import (
	"encoding/json"
	"math"

	"github.com/umascope/umascope/exporter/metric"
)

// UnmarshalJSON reads a comparison of Schema, or one of SchemaBefore, whose names it replaces by those of Schema.
func (c *Comparison) UnmarshalJSON(text []byte) error {
	type plain Comparison
	if err := json.Unmarshal(text, (*plain)(c)); err != nil {
		return err
	}
	for _, s := range c.Strata {
		for _, p := range s.Pairs {
			for i := range p.Metrics {
				p.Metrics[i].renewVerdict()
			}
		}
	}
	if c.Schema != SchemaBefore {
		return nil
	}
	renameKVModel(c.KVModel)
	renameWarnings(c.Warnings)
	for _, s := range c.Strata {
		renameKVModel(s.KVModel)
		renameWarnings(s.Warnings)
		for _, a := range s.Arms {
			for i := range a.Metrics {
				rename(&a.Metrics[i].Name, metric.RenamedFigures())
			}
		}
		for i := range s.Pairs {
			s.Pairs[i].rename()
		}
	}
	c.Schema = Schema
	return nil
}

// renewVerdict gives a saved verdict its present word. Before, a verdict was better or worse wherever its interval
// excluded 0, and confounded was a mark beside it.
func (m *Metrics) renewVerdict() {
	if open, differs := extentOpen[m.Verdict]; differs && !m.Constant && !m.beyondMargin() {
		m.Verdict = open
	}
	if m.Confounded && m.Verdict != Confounded {
		m.VerdictIgnoringOrder, m.Verdict = m.Verdict, Confounded
	}
}

// beyondMargin reports whether the 95 % interval of a saved metric lies wholly beyond its margin. Without an interval
// there is nothing to go by, and the verdict stays.
func (m *Metrics) beyondMargin() bool {
	i, low, high := m.CI95, -m.Margin.Value, m.Margin.Value
	switch {
	case m.RatioCI95 != nil && m.Margin.Relative:
		i, low, high = m.RatioCI95, 1+low, 1+high
	case m.Margin.Relative && m.A.Mean != nil:
		low, high = low*math.Abs(*m.A.Mean), high*math.Abs(*m.A.Mean)
	}
	return i == nil || i[0] >= high || i[1] <= low
}

func (p *Pair) rename() {
	figures := metric.RenamedFigures()
	for i := range p.Metrics {
		rename(&p.Metrics[i].Name, figures)
		rename(&p.Metrics[i].SameAs, figures)
	}
	for i := range p.Order.AfterSwitch {
		rename(&p.Order.AfterSwitch[i].Metric, figures)
	}
	for i := range p.Order.Halves {
		rename(&p.Order.Halves[i].Metric, figures)
	}
	if p.Order.Drift != nil {
		rename(&p.Order.Drift.Metric, figures)
	}
	renameWarnings(p.Warnings)
}

func renameKVModel(m *KVModel) {
	if m != nil {
		rename(&m.Of, metric.RenamedWords())
	}
}

func renameWarnings(warnings []Warning) {
	for i := range warnings {
		rename(&warnings[i].Code, metric.RenamedWords())
	}
}

func rename(name *string, of []metric.Renaming) { *name, _ = metric.CurrentName(of, *name) }
