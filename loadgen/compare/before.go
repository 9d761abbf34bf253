package compare

import (
	"encoding/json"

	"github.com/umascope/umascope/exporter/metric"
)

// UnmarshalJSON reads a comparison of Schema, or one of SchemaBefore, whose names it replaces by those of Schema.
func (c *Comparison) UnmarshalJSON(text []byte) error {
	type plain Comparison
	if err := json.Unmarshal(text, (*plain)(c)); err != nil || c.Schema != SchemaBefore {
		return err
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
