package importer

import (
	"fmt"
	"slices"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/rundir"
)

// judging returns the file's data about a run. Without requests it is that of a recorded command: none of it is
// measured.
func (one found) judging(format Format) *rundir.Judging {
	r := one.result
	j := &rundir.Judging{Streaming: true, Unmeasured: []string{}, Stopped: r.Stopped, Complete: true}
	origin := "every figure is the word of %s, none was measured here"
	if len(r.Requests) > 0 {
		origin = "%s recorded its requests, the figures are computed from them here"
	} else {
		j.Tool = &rundir.ToolReport{
			Program: r.Program, Extractor: format.Name, Version: r.Version, File: one.file.name, ExitCode: r.ExitCode,
			Values: fromFile(r.Values, one.file.name),
		}
	}
	j.Warnings = append([]string{fmt.Sprintf("imported from %s: "+origin, one.file.name, r.Program)}, r.Warnings...)
	if r.ExitCode != nil && *r.ExitCode != 0 && j.Stopped == "" {
		j.Stopped = fmt.Sprintf("%s: exit code %d", r.Program, *r.ExitCode)
	}
	return j
}

// imported returns the origin of a run, and the data of its file apart from the figures of its load.
func (o Order) imported(one found) *rundir.Imported {
	r := one.result
	m := &rundir.Imported{
		Format: o.Format.Name, File: one.file.name, SHA256: one.file.sha256, Key: r.Key, At: o.Now.UTC(),
		StartCelsius: r.StartCelsius, MaxCelsius: r.MaxCelsius, EndCelsius: r.EndCelsius, EndKnown: r.EndKnown,
	}
	if r.Memory != nil {
		own := *r.Memory
		own.Source = one.file.name
		m.Engine = &own
	}
	return m
}

// fromFile sets the file as the source of figures.
func fromFile(values []spec.Reported, name string) []spec.Reported {
	all := slices.Clone(values)
	for i := range all {
		if all[i].From == "" {
			all[i].From = name
		}
	}
	if all == nil {
		all = []spec.Reported{}
	}
	return all
}
