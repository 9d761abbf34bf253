package plan

import "slices"

// Known holds the names from other packages that a plan may use.
type Known struct {
	RunFlags, RecordFlags []string // without dashes
	// Own are the flags that a campaign sets itself.
	Own        []string
	Signals    []string
	Extractors []string
	// Metric and Margin return what is wrong with the name of a metric, and with its margin; nil if it is valid.
	Metric func(name string) error
	Margin func(metric, amount string) error
}

// CheckNames checks that the names in the plan exist: flags, signals, extractors and metrics.
func (p *Plan) CheckNames(k Known) error {
	either := append(slices.Clone(k.RunFlags), k.RecordFlags...)
	if err := p.checkFlags("flags", p.Flags, "run", k.RunFlags, k.Own); err != nil {
		return err
	}
	for i, a := range p.Arms {
		if err := p.checkFlags(item("arms", i)+".flags", a.Flags, "run", either, k.Own); err != nil {
			return err
		}
	}
	for i, s := range p.Scenarios {
		path := item("scenarios", i)
		if err := p.checkFlags(path+".run", s.Run, "run", k.RunFlags, k.Own); err != nil {
			return err
		}
		if s.Record == nil {
			continue
		}
		if err := p.checkFlags(path+".record.flags", s.Record.Flags, "record", k.RecordFlags, k.Own); err != nil {
			return err
		}
		if !slices.Contains(k.Extractors, s.Record.Extract) {
			return p.errorAt(path+".record.extract", "unknown extractor %q%s", s.Record.Extract, orNearest(s.Record.Extract, k.Extractors))
		}
	}
	for i, a := range p.AbortIf {
		if !slices.Contains(k.Signals, a.Signal) {
			return p.errorAt(item("abort_if", i)+".signal", "unknown signal %q%s", a.Signal, orNearest(a.Signal, k.Signals))
		}
	}
	if p.Primary != "" {
		if err := k.Metric(p.Primary); err != nil {
			return p.errorAt("primary", "%w", err)
		}
	}
	for _, metric := range sortedKeys(p.Margins) {
		if err := k.Margin(metric, p.Margins[metric]); err != nil {
			return p.errorAt("margins."+metric, "%w", err)
		}
	}
	return nil
}

func (p *Plan) checkFlags(path string, flags map[string]string, verb string, known, own []string) error {
	for _, name := range sortedKeys(flags) {
		if slices.Contains(own, name) {
			return p.errorAt(path+"."+name, "the campaign sets it itself")
		}
		if !slices.Contains(known, name) {
			return p.errorAt(path+"."+name, "unknown flag of %s%s", verb, orNearest(name, known))
		}
	}
	return nil
}
