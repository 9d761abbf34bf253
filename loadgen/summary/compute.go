package summary

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"slices"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Errors for folders whose summary cannot be recomputed.
var (
	// ErrNotBegun is returned for a run that ended before it sent a request.
	ErrNotBegun = errors.New("the run never began to send: there is nothing to report")
	// ErrNoRequests is returned for a run whose load uma-load did not send.
	ErrNoRequests = errors.New("its load was not ours: there are no requests to compute its figures from")
	// ErrMerged is returned for a run merged from ranks: the settings of each rank are in the folder of that rank.
	ErrMerged = errors.New("it was merged of ranks: merge them again")
)

// Compute computes the summary of a run from the other files of its folder. A run that was killed ends with its last
// written record or sample, and is invalid; the share of a rank is refused. Engines are those whose own pages are
// understood. Its errors begin with the folder.
func Compute(path string, engines spec.Engines) (Run, error) {
	r := Run{Folder: rundir.Folder(path)}
	err := r.compute(engines)
	if err == nil && r.isShare() {
		err = ErrShare
	}
	if err != nil {
		return Run{}, fmt.Errorf("%s: %w", path, err)
	}
	return r, nil
}

func (r *Run) compute(engines spec.Engines) error {
	var err error
	if r.Manifest, err = r.ReadManifest(); err != nil {
		return err
	}
	if err := r.refuse(); err != nil {
		return err
	}
	log, err := r.Telemetry()
	if err != nil {
		return err
	}
	if log != nil {
		log.Engines = engines
	}
	if err := r.digest(log, engines); err != nil {
		return err
	}
	r.log, r.computed = log, true
	return nil
}

// refuse refuses folders that lack the input of a summary.
func (r *Run) refuse() error {
	m, j := r.Manifest, r.Manifest.Judging
	switch {
	case j != nil && j.Complete && (j.Tool != nil || r.HasRequests()):
		return nil
	case m.Ranks != nil:
		return ErrMerged
	case m.Command != nil || m.Imported != nil:
		return ErrNoRequests
	case j == nil || !r.HasRequests():
		return ErrNotBegun
	}
	return nil
}

// digest computes the summary, and the data of the charts of requests.
func (r *Run) digest(log *telemetry.Log, engines spec.Engines) error {
	in, err := r.inputs(log)
	if err != nil {
		return err
	}
	in.CacheBlock = r.Manifest.Server.CacheBlock(engines)
	records := Records(r.Path(rundir.RequestsFile))
	if in.Tool != nil {
		records = noRecords
	}
	if r.Summary, r.requests, err = digest(in, records); err != nil {
		return err
	}
	if in.Tool != nil {
		r.requests = nil
	}
	m := r.Manifest
	r.Summary.Made = madeOf(m)
	r.Summary.Tokens.InputLengths = m.Workload.InputLengths
	if m.Imported != nil {
		r.Summary.addImported(*m.Imported, in)
	}
	r.Summary.Warnings = append(append(r.Summary.Warnings, in.PartWarnings...), in.Judging.Warnings...)
	return nil
}

// noRecords is the empty sequence, for a load that uma-load did not send.
var noRecords iter.Seq2[openai.Record, error] = func(func(openai.Record, error) bool) {}

// inputs reads the inputs of a summary from the manifest and other files, apart from the requests.
func (r *Run) inputs(log *telemetry.Log) (in inputs, err error) {
	m := r.Manifest
	in = inputs{
		Run: m.Run, Scenario: m.Scenario, Labels: m.Labels, WorkloadSHA256: m.Workload.SHA256, BootID: bootID(m), Judging: *m.Judging, Servers: m.ServerURLs(),
		Model:     Model{ID: m.Server.Model, Simulated: m.Simulated(), Fingerprint: m.Judging.Model.Fingerprint},
		Telemetry: log, TelemetryStats: m.Telemetry,
	}
	if print := m.Server.FingerprintStart; print != nil {
		in.Shape = print.Shape
		if print.Weights != nil {
			in.Step = print.Weights.Step
		}
	}
	if !in.Complete {
		if err := r.fromWritten(&in); err != nil {
			return in, err
		}
	}
	for _, p := range m.Workload.Phases {
		if p.Process.Open() {
			in.Open = append(in.Open, p.Name)
		}
		if equalLoad(p) {
			in.EqualLoad, in.RampNS = true, p.Process.Ramp.Nanoseconds()
		}
	}
	if r.killed() {
		in.Stopped = cmp.Or(in.Stopped, "it has not ended, or was killed")
	}
	if in.Limits, err = ParseLimits(in.Validity); err != nil {
		return in, fmt.Errorf("%s: --validity: %w", rundir.ManifestFile, err)
	}
	if in.SLO != "" {
		if in.Objectives, err = ParseSLO(in.SLO); err != nil {
			return in, fmt.Errorf("%s: --slo: %w", rundir.ManifestFile, err)
		}
	}
	in.Phases, err = r.phases()
	return in, err
}

// killed reports whether the run has no recorded end. A merged run has one, whatever happened to its ranks.
func (r *Run) killed() bool {
	return r.Manifest.State == rundir.StateRunning && r.Manifest.Ranks == nil
}

// fromWritten copies from summary.json the fields that older folders have in that file only.
func (r *Run) fromWritten(in *inputs) error {
	s, err := r.written()
	if errors.Is(err, ErrUnfinished) {
		return nil
	}
	if err == nil {
		in.Evidence = &s.Signals
		if s.Memory != nil {
			in.Engine = s.Memory.EngineReported
		}
	}
	return err
}

// bootID returns the boot id of the machine that sent the load; empty for ranks on several machines.
func bootID(m rundir.Manifest) string {
	if m.Ranks != nil {
		for _, p := range m.Ranks.Parts {
			if p.Client.BootID != m.Client.BootID {
				return ""
			}
		}
	}
	return m.Client.BootID
}

// phases returns the finished phases and, for a run that was killed, the one that was interrupted.
func (r *Run) phases() ([]rundir.Span, error) {
	phases, err := r.ReadPhases()
	if err != nil {
		return nil, err
	}
	if !r.killed() {
		return phases, nil
	}
	return r.unfinished(phases)
}

// unfinished adds the phases that have requests and no end: from the first intended start to the last event in each.
func (r *Run) unfinished(phases []rundir.Span) ([]rundir.Span, error) {
	over := map[string]bool{}
	for _, p := range phases {
		over[p.Name] = true
	}
	open := map[string]*rundir.Span{}
	var order []string
	for record, err := range Records(r.Path(rundir.RequestsFile)) {
		if errors.Is(err, ErrTorn) {
			break
		}
		if err != nil {
			return nil, err
		}
		if over[record.Phase] {
			continue
		}
		end := record.IntendedNS
		for _, moment := range []*int64{record.DispatchNS, record.EndNS, record.BrokenOffNS} {
			if moment != nil {
				end = max(end, *moment)
			}
		}
		p := open[record.Phase]
		if p == nil {
			p = &rundir.Span{Name: record.Phase, StartNS: record.IntendedNS, EndNS: end}
			open[record.Phase] = p
			order = append(order, record.Phase)
		}
		p.StartNS, p.EndNS = min(p.StartNS, record.IntendedNS), max(p.EndNS, end)
	}
	for _, name := range order {
		phases = append(phases, *open[name])
	}
	slices.SortStableFunc(phases, func(a, b rundir.Span) int { return cmp.Compare(a.StartNS, b.StartNS) })
	return phases, nil
}
