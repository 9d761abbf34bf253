package merge

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Judging is what a manifest keeps of the input of a summary, so that it can be made again of the folder.
// Validity are the texts that its limits were read from, warnings those that no figure shows.
func Judging(in summary.Input, validity, warnings []string) *folder.Judging {
	j := &folder.Judging{
		Streaming: in.Streaming, Unmeasured: in.Warmup, TelemetryRequested: in.TelemetryRequested,
		SLO: in.SLO.String(), Validity: validity, Stopped: in.Stopped, Warnings: warnings,
		Client: folder.ClientHealth{Watched: in.Client.Watched, CPURatio: in.Client.CPURatio, PacketStamps: in.Client.PacketStamps},
		KVMode: folder.KVFindings(in.KVMode), Checks: folder.CheckFindings(in.Checks),
		Model: folder.ModelFindings{
			Fingerprint: in.Model.Fingerprint, Checked: in.Model.Checked, Compared: in.Model.Compared, Guarded: in.Model.Guarded,
			Mismatch: in.Model.Mismatch, Changed: in.Model.Changed, Dropped: in.Model.Dropped, PromptLimit: in.Model.PromptLimit,
		},
	}
	for _, s := range in.Client.Stalls {
		j.Client.Stalls = append(j.Client.Stalls, folder.Stall{FromNS: s.FromNS, ToNS: s.ToNS})
	}
	return j
}

// Input is what the summary of the whole is made of beside its records. What is wrong with one rank is
// wrong with the whole; what one rank did not look at was not looked at.
func (w *Whole) Input(run string, log *telemetry.Log) (summary.Input, error) {
	first := w.Parts[0].Manifest
	j := first.Judging
	in := summary.Input{
		Run: run, Scenario: first.Scenario, Labels: w.labels(), WorkloadSHA256: first.Workload.SHA256, BootID: w.bootID(),
		Warmup: j.Unmeasured, Streaming: j.Streaming, Telemetry: log,
		Model: w.model(), KVMode: w.kvMode(), Checks: w.checks(), Client: w.client(), Stopped: w.stopped(),
		TelemetryRequested: slices.ContainsFunc(w.Parts, func(p Part) bool { return p.Manifest.Judging.TelemetryRequested }),
	}
	for _, p := range w.plan() {
		if p.Process.Open() {
			in.Open = append(in.Open, p.Name)
		}
	}
	for _, s := range w.Phases() {
		in.Phases = append(in.Phases, summary.Phase(s))
	}
	var err error
	if in.Validity, err = summary.ParseLimits(j.Validity); err != nil {
		return in, fmt.Errorf("%s: --validity: %w", w.Parts[0].Folder, err)
	}
	if j.SLO != "" {
		if in.SLO, err = summary.ParseSLO(j.SLO); err != nil {
			return in, fmt.Errorf("%s: --slo: %w", w.Parts[0].Folder, err)
		}
	}
	return in, nil
}

// labels are those that all ranks have alike. The measured host is that of the first rank if they differ:
// unless it is said, each takes itself for it.
func (w *Whole) labels() map[string]string {
	labels := map[string]string{}
	for name, value := range w.Parts[0].Manifest.Labels {
		if name == labelHost || w.alike(func(m folder.Manifest) string { return m.Labels[name] }) {
			labels[name] = value
		}
	}
	return labels
}

const labelHost = "host"

// alike says whether something of the manifest is the same on all ranks.
func (w *Whole) alike(of func(folder.Manifest) string) bool {
	first := of(w.Parts[0].Manifest)
	return !slices.ContainsFunc(w.Parts, func(p Part) bool { return of(p.Manifest) != first })
}

// bootID is that of the one machine that all ranks ran on; empty of several.
func (w *Whole) bootID() string {
	bootID := func(m folder.Manifest) string { return m.Client.BootID }
	if w.alike(bootID) {
		return bootID(w.Parts[0].Manifest)
	}
	return ""
}

// client is how the load generators fared: the busiest one's share of its cores, and the stalls of all,
// each for the requests of its own rank.
func (w *Whole) client() summary.ClientHealth {
	health := summary.ClientHealth{Watched: true, PacketStamps: true}
	for _, p := range w.Parts {
		own := p.Manifest.Judging.Client
		health.Watched = health.Watched && own.Watched
		health.PacketStamps = health.PacketStamps && own.PacketStamps
		health.CPURatio = max(health.CPURatio, own.CPURatio)
		for _, s := range own.Stalls {
			health.Stalls = append(health.Stalls, summary.Stall{FromNS: s.FromNS + p.ShiftNS, ToNS: s.ToNS + p.ShiftNS, Rank: p.rank()})
		}
	}
	return health
}

func (w *Whole) model() summary.Model {
	server := w.Parts[0].Manifest.Server
	m := summary.Model{ID: server.Model, Checked: true, Compared: true, Guarded: true}
	for _, p := range w.Parts {
		found := p.Manifest.Judging.Model
		m.Fingerprint = cmp.Or(m.Fingerprint, found.Fingerprint)
		m.Simulated = m.Simulated || p.Manifest.Server.Simulated
		m.Checked = m.Checked && found.Checked
		m.Compared = m.Compared && found.Compared
		m.Guarded = m.Guarded && found.Guarded
	}
	m.Mismatch = joined(w.each(func(m folder.Manifest) string { return m.Judging.Model.Mismatch }), w.differentModels())
	m.Changed = w.each(func(m folder.Manifest) string { return m.Judging.Model.Changed })
	m.Dropped = w.each(func(m folder.Manifest) string { return m.Judging.Model.Dropped })
	m.PromptLimit = w.each(func(m folder.Manifest) string { return m.Judging.Model.PromptLimit })
	return m
}

// differentModels says which ranks met another model than the first: under one name, another one splits
// fixed texts into other tokens. What a server did not tell differs from nothing.
func (w *Whole) differentModels() string {
	var first *Part
	for i := range w.Parts {
		p := &w.Parts[i]
		print := p.Manifest.Server.FingerprintStart
		switch {
		case print == nil || print.ProbeTokens == nil:
		case first == nil:
			first = p
		case print.Endpoint == first.Manifest.Server.FingerprintStart.Endpoint && !slices.Equal(print.ProbeTokens, first.Manifest.Server.FingerprintStart.ProbeTokens):
			return fmt.Sprintf("rank %d met another model than rank %d: fixed prompts have %v tokens and %v", p.rank(), first.rank(), print.ProbeTokens, first.Manifest.Server.FingerprintStart.ProbeTokens)
		}
	}
	return ""
}

func (w *Whole) kvMode() summary.KVMode {
	return summary.KVMode{
		Checked:  !slices.ContainsFunc(w.Parts, func(p Part) bool { return !p.Manifest.Judging.KVMode.Checked }),
		Mismatch: w.each(func(m folder.Manifest) string { return m.Judging.KVMode.Mismatch }),
	}
}

// checks are made around every rank, or not at all.
func (w *Whole) checks() summary.Checks {
	return summary.Checks{
		Made:   slices.ContainsFunc(w.Parts, func(p Part) bool { return p.Manifest.Judging.Checks.Made }),
		Failed: w.each(func(m folder.Manifest) string { return m.Judging.Checks.Failed }),
	}
}

// stopped says which ranks do not have their whole share of the load.
func (w *Whole) stopped() string {
	var missing string
	if len(w.Missing) > 0 {
		missing = fmt.Sprintf("of %d ranks %s missing", w.World, numbered(w.Missing))
	}
	return joined(missing, w.each(func(m folder.Manifest) string {
		if m.Judging.Stopped == "" && m.State == folder.StateRunning {
			return "it has not ended, or was killed"
		}
		return m.Judging.Stopped
	}))
}

// each is what the ranks say, each under its number, or once what all of them say; empty if none does.
func (w *Whole) each(of func(folder.Manifest) string) string {
	if w.alike(of) {
		return of(w.Parts[0].Manifest)
	}
	var all []string
	for _, p := range w.Parts {
		if text := of(p.Manifest); text != "" {
			all = append(all, fmt.Sprintf("rank %d: %s", p.rank(), text))
		}
	}
	return joined(all...)
}

// joined puts the texts that are there in a row.
func joined(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}
