package history

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Errors of folders whose figures cannot be computed again.
var (
	// ErrNotBegun is of a run that ended before it sent anything.
	ErrNotBegun = errors.New("the run never began to send: there is nothing to report")
	// ErrNoRequests is of a run whose load was not ours.
	ErrNoRequests = errors.New("its load was not ours: there are no requests to compute its figures from")
	// ErrMerged is of a run made of ranks: what each was judged by is in their folders.
	ErrMerged = errors.New("it was merged of ranks: merge them again")
)

// Page is what one page shows of a run: its summary, and what its requests and its telemetry draw. Drawn and
// Telemetry are nil where there is none.
type Page struct {
	Title     string
	Summary   summary.Summary
	Drawn     *summary.Requests
	Telemetry *telemetry.Log
}

// Page is what the page of a finished run shows: its summary as it stands, and what its requests and its
// telemetry draw, where these files are there.
func (r Run) Page() (Page, error) {
	p := Page{Title: r.Manifest.Run, Summary: r.Summary}
	var err error
	if p.Telemetry, err = r.Telemetry(); err != nil {
		return p, err
	}
	if r.Manifest.Judging == nil || !r.HasRequests() {
		return p, nil
	}
	again, err := r.digest(p.Telemetry)
	p.Drawn = again.Drawn
	return p, err
}

// Recompute makes the figures of a run anew, of its requests and its telemetry. Of a run that was killed
// it is all there is: the run ends with what it wrote last, and is invalid.
func Recompute(path string) (Run, Page, error) {
	r := Run{Folder: folder.Folder(path)}
	p, err := r.recompute()
	if err != nil {
		return Run{}, p, fmt.Errorf("%s: %w", path, err)
	}
	return r, p, nil
}

func (r *Run) recompute() (p Page, err error) {
	switch err := r.read(); {
	case errors.Is(err, ErrUnfinished):
	case err != nil:
		return p, err
	}
	m := r.Manifest
	switch {
	case m.Rank != nil && m.Rank.World > 1:
		return p, ErrShare
	case m.Ranks != nil:
		return p, ErrMerged
	case m.Command != nil || m.Imported != nil:
		return p, ErrNoRequests
	case m.Judging == nil || !r.HasRequests():
		return p, ErrNotBegun
	}
	log, err := r.Telemetry()
	if err != nil {
		return p, err
	}
	p, err = r.digest(log)
	r.Summary = p.Summary
	return p, err
}

// HasRequests says whether the folder has the requests of the run.
func (r Run) HasRequests() bool {
	info, err := os.Stat(r.Path(folder.RequestsFile))
	return err == nil && info.Mode().IsRegular()
}

// Telemetry is what exporters said during the run; nil without any. Its errors name the file.
func (r Run) Telemetry() (*telemetry.Log, error) {
	path := r.Path(folder.TelemetryFile)
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err == nil && !info.Mode().IsRegular() {
		return nil, fmt.Errorf("%s is no regular file", path)
	}
	return telemetry.Read(path)
}

// digest computes the figures of the requests.
func (r Run) digest(log *telemetry.Log) (Page, error) {
	in, err := r.input(log)
	if err != nil {
		return Page{}, err
	}
	sum, drawn, err := summary.Digest(in, summary.Records(r.Path(folder.RequestsFile)))
	if err != nil {
		return Page{}, err
	}
	m := r.Manifest
	sum.Tokens.InputLengths = m.Workload.InputLengths
	sum.Warnings = append(sum.Warnings, m.Judging.Warnings...)
	return Page{Title: m.Run, Summary: sum, Drawn: drawn, Telemetry: log}, nil
}

// input is what the figures were judged by, as the manifest keeps it. What witnesses and engines' logs
// proved is kept in the summary alone.
func (r Run) input(log *telemetry.Log) (in summary.Input, err error) {
	m, j := r.Manifest, r.Manifest.Judging
	in = summary.Input{
		Run: m.Run, Scenario: m.Scenario, Labels: m.Labels, WorkloadSHA256: m.Workload.SHA256, BootID: m.Client.BootID,
		Warmup: j.Unmeasured, Streaming: j.Streaming, Telemetry: log, TelemetryStats: m.Telemetry, TelemetryRequested: j.TelemetryRequested,
		KVMode: summary.KVMode(j.KVMode), Checks: summary.Checks(j.Checks), Stopped: j.Stopped, Client: summary.ClientHealth{Watched: j.Client.Watched, CPURatio: j.Client.CPURatio, PacketStamps: j.Client.PacketStamps},
		Model: summary.Model{
			ID: m.Server.Model, Simulated: m.Server.Simulated, Fingerprint: j.Model.Fingerprint, Checked: j.Model.Checked, Compared: j.Model.Compared, Guarded: j.Model.Guarded,
			Mismatch: j.Model.Mismatch, Changed: j.Model.Changed, Dropped: j.Model.Dropped, PromptLimit: j.Model.PromptLimit,
		},
	}
	for _, s := range j.Client.Stalls {
		in.Client.Stalls = append(in.Client.Stalls, summary.Stall{FromNS: s.FromNS, ToNS: s.ToNS})
	}
	if r.Summary.Run != "" {
		in.Signals = &r.Summary.Signals
		if r.Summary.Memory != nil {
			in.Engine = r.Summary.Memory.EngineReported
		}
	}
	for _, p := range m.Workload.Phases {
		if p.Process.Open() {
			in.Open = append(in.Open, p.Name)
		}
	}
	if m.State == folder.StateRunning {
		in.Stopped = cmp.Or(in.Stopped, "it has not ended, or was killed")
	}
	if in.Validity, err = summary.ParseLimits(j.Validity); err != nil {
		return in, fmt.Errorf("%s: --validity: %w", folder.ManifestFile, err)
	}
	if j.SLO != "" {
		if in.SLO, err = summary.ParseSLO(j.SLO); err != nil {
			return in, fmt.Errorf("%s: --slo: %w", folder.ManifestFile, err)
		}
	}
	in.Phases, err = r.phases()
	return in, err
}

// phases are those that are over, and, of a run that was killed, the one in which it was.
func (r Run) phases() ([]summary.Phase, error) {
	var file folder.Phases
	if err := readJSON(r.Path(folder.PhasesFile), folder.PhasesSchema, &file, &file.Schema); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	var phases []summary.Phase
	for _, s := range file.Phases {
		phases = append(phases, summary.Phase(s))
	}
	if r.Manifest.State != folder.StateRunning {
		return phases, nil
	}
	return r.unfinished(phases)
}

// unfinished adds the phases of which there are requests and that never came to their end: from the first
// thing that was due in one to the last that happened.
func (r Run) unfinished(phases []summary.Phase) ([]summary.Phase, error) {
	over := map[string]bool{}
	for _, p := range phases {
		over[p.Name] = true
	}
	open := map[string]*summary.Phase{}
	var order []string
	for record, err := range summary.Records(r.Path(folder.RequestsFile)) {
		if errors.Is(err, summary.ErrTorn) {
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
			p = &summary.Phase{Name: record.Phase, StartNS: record.IntendedNS, EndNS: end}
			open[record.Phase] = p
			order = append(order, record.Phase)
		}
		p.StartNS, p.EndNS = min(p.StartNS, record.IntendedNS), max(p.EndNS, end)
	}
	for _, name := range order {
		phases = append(phases, *open[name])
	}
	slices.SortStableFunc(phases, func(a, b summary.Phase) int { return cmp.Compare(a.StartNS, b.StartNS) })
	return phases, nil
}
