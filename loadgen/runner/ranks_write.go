package runner

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Write writes the folder of the whole, apart from its summary: a run of a given name.
func (w *SharedRun) Write(ctx context.Context, to rundir.Folder, run string) error {
	err := to.Write(rundir.ScheduleFile, func(out io.Writer) error { return w.schedule(ctx, out) })
	if err != nil {
		return err
	}
	var torn []int // ranks whose last record is incomplete
	err = to.Write(rundir.RequestsFile, func(out io.Writer) (err error) {
		torn, err = w.requests(ctx, run, out)
		return err
	})
	if err == nil && w.haveOutputs() {
		err = to.Write(rundir.OutputsFile, func(out io.Writer) error { return w.outputs(ctx, run, out) })
	}
	if err != nil {
		return err
	}
	merged, err := w.telemetry(to.Path(rundir.TelemetryFile))
	if err != nil {
		return err
	}
	err = to.WriteJSON(rundir.PhasesFile, rundir.Phases{Schema: rundir.PhasesSchema, Phases: w.phases()})
	if err != nil {
		return err
	}
	manifest := w.manifest(run, merged.From)
	manifest.Judging = w.judging(w.warnings(merged, torn))
	return to.WriteJSON(rundir.ManifestFile, manifest)
}

// Name returns the name of the run that the ranks are parts of.
func (w *SharedRun) Name() string { return w.Parts[0].Manifest.Rank.Of }

// phases returns the phases of the whole. One with load lasts from its first start on any rank to its last end. Before
// it no rank has sent a request: ready ends with the first rank's, and stop begins when the last rank reaches it.
func (w *SharedRun) phases() []rundir.Span {
	names := []string{rundir.PhaseReady}
	for _, p := range w.plan() {
		names = append(names, p.Name)
	}
	var spans []rundir.Span
	for _, name := range append(names, rundir.PhaseStop) {
		if s, ok := w.span(name); ok {
			spans = append(spans, s)
		}
	}
	return spans
}

func (w *SharedRun) span(name string) (span rundir.Span, ok bool) {
	for _, p := range w.Parts {
		for _, s := range p.Phases {
			if s.Name != name {
				continue
			}
			s.StartNS, s.EndNS = s.StartNS+p.ShiftNS, s.EndNS+p.ShiftNS
			switch {
			case !ok:
				span, ok = s, true
			case name == rundir.PhaseReady:
				span.StartNS, span.EndNS = min(span.StartNS, s.StartNS), min(span.EndNS, s.EndNS)
			case name == rundir.PhaseStop:
				span.StartNS, span.EndNS = max(span.StartNS, s.StartNS), max(span.EndNS, s.EndNS)
			default:
				span.StartNS, span.EndNS = min(span.StartNS, s.StartNS), max(span.EndNS, s.EndNS)
			}
		}
	}
	return span, ok
}

// telemetry writes one file of the telemetry of the ranks, if they have any.
func (w *SharedRun) telemetry(path string) (telemetry.Merged, error) {
	var parts []telemetry.Part
	var of []int // the index of the rank of each
	for i, p := range w.Parts {
		own := p.Path(rundir.TelemetryFile)
		if _, err := os.Stat(own); errors.Is(err, os.ErrNotExist) {
			continue
		}
		parts = append(parts, telemetry.Part{Path: own, ShiftNS: p.ShiftNS})
		of = append(of, i)
	}
	if len(parts) == 0 {
		return telemetry.Merged{}, nil
	}
	var phases []telemetry.Phase
	for _, s := range w.phases() {
		phases = append(phases, telemetry.Phase{Name: s.Name, AtNS: s.StartNS})
	}
	merged, err := telemetry.Merge(path, parts, phases)
	for name, part := range merged.From {
		merged.From[name] = of[part]
	}
	for i, part := range merged.Torn {
		merged.Torn[i] = of[part]
	}
	return merged, err
}

// manifest returns the manifest of the whole: the first rank's values where all agree, and the result of each rank.
// sources are the indexes of the ranks that telemetry was taken from, by its source.
func (w *SharedRun) manifest(run string, sources map[string]int) rundir.Manifest {
	m := w.Parts[0].Manifest
	m.Run, m.State, m.Labels, m.StartedAt, m.EndedAt = run, w.state(), w.labels(), w.StartedAt, w.endedAt()
	m.Ranks = &rundir.Ranks{
		World: w.World, StartAt: m.Rank.StartAt, Missing: w.Missing, AlignedWithinSeconds: w.alignedWithin(),
	}
	m.Rank, m.Machines, m.Pages, m.Telemetry, m.Captures, m.Judging = nil, nil, nil, nil, nil, nil
	m.Flags = w.commonFlags()
	m.Server.Simulated = slices.ContainsFunc(w.Parts, func(p RankRun) bool { return p.Manifest.Server.Simulated })
	m.Server.Answered = w.union(func(m rundir.Manifest) []string { return m.Server.Answered })
	m.Server.Fingerprints = w.union(func(m rundir.Manifest) []string { return m.Server.Fingerprints })
	for i, p := range w.Parts {
		m.Ranks.Parts = append(m.Ranks.Parts, p.part(m.Flags, sourcesOf(sources, i)))
		for _, machine := range p.Manifest.Machines {
			if taken(sources, machine.Source, i) {
				m.Machines = append(m.Machines, machine)
			}
		}
		for _, page := range p.Manifest.Pages {
			if taken(sources, page.Source, i) {
				m.Pages = append(m.Pages, page)
			}
		}
	}
	return m
}

// part returns the entry of a rank in the manifest of the whole.
func (p RankRun) part(common map[string]string, sources []string) rundir.Part {
	m := p.Manifest
	part := rundir.Part{
		Share: *m.Rank, Run: m.Run, State: m.State, StartedAt: m.StartedAt, EndedAt: m.EndedAt, ShiftNS: p.ShiftNS,
		Program: m.Program, Client: m.Client, Labels: m.Labels, Sources: sources, Flags: map[string]string{},
	}
	for name, value := range m.Flags {
		if _, alike := common[name]; !alike {
			part.Flags[name] = value
		}
	}
	return part
}

func taken(sources map[string]int, name string, part int) bool {
	from, known := sources[name]
	return known && from == part
}

func sourcesOf(sources map[string]int, part int) []string {
	var names []string
	for name := range sources {
		if taken(sources, name, part) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// commonFlags returns the flags that all ranks have in common.
func (w *SharedRun) commonFlags() map[string]string {
	common := map[string]string{}
	for name, value := range w.Parts[0].Manifest.Flags {
		if w.alike(func(m rundir.Manifest) string { return m.Flags[name] }) {
			common[name] = value
		}
	}
	return common
}

// union lists the entries of all ranks, each once.
func (w *SharedRun) union(of func(rundir.Manifest) []string) []string {
	var all []string
	for _, p := range w.Parts {
		for _, one := range of(p.Manifest) {
			if !slices.Contains(all, one) {
				all = append(all, one)
			}
		}
	}
	return all
}

// state returns the worst state of the ranks.
func (w *SharedRun) state() string {
	for _, state := range []string{rundir.StateRunning, rundir.StateFailed, rundir.StateStopped, rundir.StateInterrupted} {
		if slices.ContainsFunc(w.Parts, func(p RankRun) bool { return p.Manifest.State == state }) {
			return state
		}
	}
	return rundir.StateComplete
}

// endedAt returns when the last rank ended; nil if one of them did not.
func (w *SharedRun) endedAt() *time.Time {
	var last time.Time
	for _, p := range w.Parts {
		switch ended := p.Manifest.EndedAt; {
		case ended == nil:
			return nil
		case ended.After(last):
			last = *ended
		}
	}
	return &last
}
