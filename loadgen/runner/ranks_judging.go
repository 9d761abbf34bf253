package runner

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/rundir"
)

// judging joins the findings of the ranks. A fault of one rank is a fault of the whole; a check that one rank did not
// make counts as not made. There is no evidence: scenarios with evidence cannot be shared between ranks.
func (w *SharedRun) judging(warnings []string) *rundir.Judging {
	first := w.Parts[0].Manifest.Judging
	return &rundir.Judging{
		Streaming: first.Streaming, Unmeasured: first.Unmeasured, SLO: first.SLO, Validity: first.Validity,
		TelemetryRequested: slices.ContainsFunc(w.Parts, func(p RankRun) bool { return p.Manifest.Judging.TelemetryRequested }),
		Client:             w.client(), Model: w.model(), KVMode: w.kvMode(), Checks: w.checks(), Stopped: w.stopped(),
		PrefixReuse: w.prefixReuse(), Warnings: warnings, Complete: true,
	}
}

// labels returns the labels that all ranks have in common. If the measured hosts differ it is that of the first rank:
// without the label, each rank takes its own machine for it.
func (w *SharedRun) labels() map[string]string {
	labels := map[string]string{}
	for name, value := range w.Parts[0].Manifest.Labels {
		if name == labelHost || w.alike(func(m rundir.Manifest) string { return m.Labels[name] }) {
			labels[name] = value
		}
	}
	return labels
}

const labelHost = "host"

// alike reports whether a value of the manifest is the same on all ranks.
func (w *SharedRun) alike(of func(rundir.Manifest) string) bool {
	first := of(w.Parts[0].Manifest)
	return !slices.ContainsFunc(w.Parts, func(p RankRun) bool { return of(p.Manifest) != first })
}

// client returns the health of the load generators: the share of its cores that the busiest one used, and the stalls of
// all, each for the requests of its own rank.
func (w *SharedRun) client() rundir.ClientHealth {
	health := rundir.ClientHealth{Watched: true, StampedArrivals: true}
	for _, p := range w.Parts {
		own := p.Manifest.Judging.Client
		health.Watched = health.Watched && own.Watched
		health.StampedArrivals = health.StampedArrivals && own.StampedArrivals
		health.CPURatio = max(health.CPURatio, own.CPURatio)
		health.UnnoticedNS = max(health.UnnoticedNS, own.UnnoticedNS)
		for _, s := range own.Stalls {
			health.Stalls = append(health.Stalls, rundir.Stall{FromNS: s.FromNS + p.ShiftNS, ToNS: s.ToNS + p.ShiftNS, Rank: p.rank()})
		}
	}
	return health
}

func (w *SharedRun) model() rundir.ModelFindings {
	m := rundir.ModelFindings{Checked: true, Compared: true, Guarded: true}
	for _, p := range w.Parts {
		found := p.Manifest.Judging.Model
		m.Fingerprint = cmp.Or(m.Fingerprint, found.Fingerprint)
		m.Checked = m.Checked && found.Checked
		m.Compared = m.Compared && found.Compared
		m.Guarded = m.Guarded && found.Guarded
	}
	m.Mismatch = joinedTexts(w.each(func(m rundir.Manifest) string { return m.Judging.Model.Mismatch }), w.differentModels())
	m.Changed = w.each(func(m rundir.Manifest) string { return m.Judging.Model.Changed })
	m.Dropped = w.each(func(m rundir.Manifest) string { return m.Judging.Model.Dropped })
	m.PromptLimit = w.each(func(m rundir.Manifest) string { return m.Judging.Model.PromptLimit })
	return m
}

// differentModels names the ranks that met another model than the first: another model splits fixed texts into other
// tokens, even under the same name. A rank without token counts is skipped.
func (w *SharedRun) differentModels() string {
	var first *RankRun
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

func (w *SharedRun) kvMode() rundir.KVFindings {
	return rundir.KVFindings{
		Checked:  !slices.ContainsFunc(w.Parts, func(p RankRun) bool { return !p.Manifest.Judging.KVMode.Checked }),
		Mismatch: w.each(func(m rundir.Manifest) string { return m.Judging.KVMode.Mismatch }),
	}
}

// prefixReuse returns the inputs of the rule about prompt tokens from a cache; absent if a rank has none. The engine's
// counts are left out, since an engine counts the requests of all ranks together.
func (w *SharedRun) prefixReuse() *rundir.PrefixReuse {
	whole := &rundir.PrefixReuse{CommonTokens: new(int)}
	for _, p := range w.Parts {
		own := p.Manifest.Judging.PrefixReuse
		if own == nil {
			return nil
		}
		whole.Repeats = cmp.Or(whole.Repeats, own.Repeats)
		if own.CommonTokens == nil || whole.CommonTokens == nil {
			whole.CommonTokens = nil
			continue
		}
		*whole.CommonTokens = max(*whole.CommonTokens, *own.CommonTokens)
	}
	return whole
}

// checks joins the checks, which are made around the load of every rank, or of none.
func (w *SharedRun) checks() rundir.CheckFindings {
	return rundir.CheckFindings{
		Made:   slices.ContainsFunc(w.Parts, func(p RankRun) bool { return p.Manifest.Judging.Checks.Made }),
		Failed: w.each(func(m rundir.Manifest) string { return m.Judging.Checks.Failed }),
	}
}

// stopped names the ranks that do not have their whole share of the load.
func (w *SharedRun) stopped() string {
	var missing string
	if len(w.Missing) > 0 {
		missing = fmt.Sprintf("of %d ranks %s missing", w.World, numbered(w.Missing))
	}
	return joinedTexts(missing, w.each(func(m rundir.Manifest) string {
		if m.Judging.Stopped == "" && m.State == rundir.StateRunning {
			return "it has not ended, or was killed"
		}
		return m.Judging.Stopped
	}))
}

// each joins a text of the ranks, each with the number of its rank, or once if all ranks have the same; empty if none
// has it.
func (w *SharedRun) each(of func(rundir.Manifest) string) string {
	if w.alike(of) {
		return of(w.Parts[0].Manifest)
	}
	var all []string
	for _, p := range w.Parts {
		if text := of(p.Manifest); text != "" {
			all = append(all, fmt.Sprintf("rank %d: %s", p.rank(), text))
		}
	}
	return joinedTexts(all...)
}

// joinedTexts joins the texts that are not empty.
func joinedTexts(texts ...string) string {
	return strings.Join(slices.DeleteFunc(texts, func(text string) bool { return text == "" }), "; ")
}
