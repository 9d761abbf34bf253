// Package observation finds out what a run proves: it reads the counters in its telemetry and what was answered,
// and hands both to loadgen/evidence, which grades them.
package observation

import (
	"fmt"
	"io/fs"
	"iter"
	"log/slog"
	"path/filepath"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/evidence/drift"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// answered is what is compared of one request.
type answered struct {
	tokensIn, tokensOut int
	cached              *int
	template            int // of tokensIn, those of the chat template
	// conversation and turn, from 1 on, are of a request that goes on with what was said before.
	conversation string
	turn         int
	first        float64 // seconds to the first token; 0 is unknown
}

// passes are the requests that ended ok, by phase and number.
type passes map[string]map[int]answered

// CachedRatio is the share of cached prompt tokens, beside those of the chat template, from which on prompts
// were not computed.
const CachedRatio = 0.1

// Run is a run that is over, and what is known of it beside its files.
type Run struct {
	Folder rundir.Folder
	// Records are the requests that the folder holds.
	Records   iter.Seq2[openai.Record, error]
	Telemetry *telemetry.Log // nil if nobody was asked
	// Verification is what the scenario compares; nil if it asks for nothing.
	Verification *evidence.Verification
	Expect       Expectation
	// Hosts are the measured machines, that of the run first. Own: that is this one, so that the run's files may
	// lie on its drive.
	Hosts []string
	Own   bool
	// Simulated: the engine says that it is, so that a simulated machine may be its own.
	Simulated bool
	// Streamed: answers came token by token, so that they have a first one.
	Streamed bool
	// Separable: the server takes the field that keeps the passes of the baseline apart.
	Separable bool
	// Drawn: answers are drawn without a seed, so that the engine differs from itself.
	Drawn bool
	// TemplateTokens is how many tokens the server adds to each prompt; 0 if nobody knows.
	TemplateTokens int
	Log            *slog.Logger
}

// Found is what a run turned out to be evidence of.
type Found struct {
	Signals  *evidence.Signals // nil if its scenario asks for nothing
	Warnings []string
}

// Verify grades what the run is evidence of.
func (r *Run) Verify() Found {
	v := r.Verification
	if v == nil {
		return Found{}
	}
	all, err := r.passes()
	if err != nil {
		// What the records say otherwise fails for the same reason, and that is the error.
		all = passes{}
	}
	w := counters{r.Telemetry, r.Simulated, r.Hosts}
	seen := observed{all, w}
	tiers := offTiers(SeeTiers(r.Telemetry, r.Simulated), r.Expect)
	tiers.DiskFilter = v.Told.DiskFilter
	replayed, whole := w.moved(v.Again), w.moved(v.All)
	replayed.BlockBytes = sizeOfBlock(v, replayed)
	if whole.BlockBytes = replayed.BlockBytes; whole.BlockBytes == 0 {
		whole.BlockBytes = sizeOfBlock(v, whole)
	}
	again := seen.reused(v, replayed)
	if again.Engine.TokenBytes = v.TokenBytes; v.TokenBytes == 0 {
		again.Engine.TokenBytes = Room(r.Telemetry, r.Hosts, r.Simulated, r.Expect).TokenBytes
	}
	written := w.disk(v.All, metric.OpWrite)
	written.Own = r.ownBytes()
	read := w.disk(v.Again, metric.OpRead)
	rehydrate := evidence.SSDRehydrate(replayed, again.Engine, read, tiers, evidence.Replay{Pressed: v.Pressed, Cached: again.FromCache()})
	reuse := evidence.Reuse(again)
	return Found{
		Signals: &evidence.Signals{
			SSDOffload:   evidence.SSDOffload(whole, written, tiers),
			SSDRehydrate: rehydrate,
			Reuse:        reuse,
			OutputMatch:  evidence.LimitMatch(r.outputMatch(seen), reuse, rehydrate),
		},
		Warnings: r.warnings(seen),
	}
}

// sizeOfBlock is the size of a block of KVBM: as told, as an exporter knows it, or worked out from the
// tokens that were found in the blocks that came back.
func sizeOfBlock(v *evidence.Verification, m evidence.Moved) float64 {
	blocks := m.FromDisk.Value + m.FromHost.Value
	switch {
	case v.BlockBytes > 0:
		return v.BlockBytes
	case m.BlockBytes > 0:
		return m.BlockBytes
	case blocks > 0 && m.MatchedTokens.Known:
		return m.MatchedTokens.Value / blocks * v.TokenBytes
	}
	return 0
}

// passes reads the records back.
func (r *Run) passes() (passes, error) {
	all := passes{}
	for record, err := range r.Records {
		if err != nil {
			return nil, err
		}
		if record.Status != openai.StatusOK {
			continue
		}
		if all[record.Phase] == nil {
			all[record.Phase] = map[int]answered{}
		}
		all[record.Phase][record.Index] = answeredBy(record, r.Streamed, r.TemplateTokens)
	}
	return all, nil
}

func answeredBy(record openai.Record, streamed bool, template int) answered {
	a := answered{cached: record.TokensCached, template: template, conversation: record.Session + "/" + record.Conversation, turn: record.Turn}
	if record.TokensIn != nil {
		a.tokensIn = *record.TokensIn
	}
	if record.TokensOut != nil {
		a.tokensOut = *record.TokensOut
	}
	if first, known := record.TTFT(openai.FromSend); known && streamed {
		a.first = first.Seconds()
	}
	return a
}

// cached is how many prompt tokens of a phase came from a cache by the answers, which all must say so.
func (p passes) cached(phase string) (cached evidence.Count, tokens float64) {
	cached.Known = len(p[phase]) > 0
	for _, a := range p[phase] {
		tokens += float64(a.tokensIn)
		if a.cached == nil {
			cached.Known = false
			continue
		}
		cached.Value += float64(*a.cached)
	}
	return cached, tokens
}

// fresh says whether a phase was computed and not taken from a cache, but for the chat template, as far as
// it is known.
func (p passes) fresh(phase string) (fresh, known bool) {
	cached, tokens := p.cached(phase)
	template := 0
	for _, a := range p[phase] {
		template += a.template
	}
	return cached.Value <= CachedRatio*tokens+float64(template), cached.Known
}

// observed is what the answers and the counters of a run show.
type observed struct {
	passes
	counters
}

// fresh is that of the answers, or by the engine's counters where the answers do not report cached tokens.
func (o observed) fresh(phase string) (fresh, known bool) {
	if fresh, known = o.passes.fresh(phase); known || len(o.passes[phase]) == 0 {
		return fresh, known
	}
	_, tokens := o.cached(phase)
	template := 0
	for _, a := range o.passes[phase] {
		template += a.template
	}
	if computed, counted := o.hits([]string{phase}, tokens).Fresh(tokens, CachedRatio*tokens+float64(template)); counted {
		return computed, true
	}
	return fresh, false
}

// median time to the first token of a phase; 0 if none is known.
func (p passes) median(phases ...string) float64 {
	var times []float64
	for _, phase := range phases {
		for _, a := range p[phase] {
			if a.first > 0 {
				times = append(times, a.first)
			}
		}
	}
	return middle(times)
}

func (o observed) reused(v *evidence.Verification, m evidence.Moved) evidence.Reused {
	if v.Turns {
		return o.turns(v, m)
	}
	r := evidence.Reused{Found: m.MatchedTokens, Cached: evidence.Count{Known: true}, AgainSeconds: o.median(v.Again...)}
	for _, phase := range v.Again {
		cached, tokens := o.cached(phase)
		r.Requests += len(o.passes[phase])
		r.PromptTokens += tokens
		r.Cached = r.Cached.Add(cached)
	}
	r.Engine = o.hits(v.Again, r.PromptTokens)
	// A first pass that was cached itself is no measure of one that was not.
	if fresh, known := o.fresh(v.First); fresh || !known {
		r.FirstSeconds = o.median(v.First)
	}
	return r
}

// outputMatch compares the answers of each replay with those that were computed, by the drift of the
// baseline. There is no baseline for answers that were in a batch with others, nor where it, or the
// first pass, may itself have come from a cache.
func (r *Run) outputMatch(all observed) evidence.Signal {
	v := r.Verification
	fresh, known := all.fresh(v.First)
	if v.Turns || !v.Alone || !fresh || !r.uncached(all) {
		return evidence.Unseen(evidence.NoBaseline)
	}
	outputs, err := rundir.OpenOutputs(r.Folder.Path(rundir.OutputsFile))
	if err != nil {
		r.Log.Warn("the answers cannot be compared", "why", printable(err))
		return evidence.Unseen(evidence.NoBaseline)
	}
	defer outputs.Close()
	var replayed []drift.Pair
	for _, phase := range v.Again {
		replayed = append(replayed, all.pairs(outputs, v.First, phase)...)
	}
	baseline := all.pairs(outputs, v.Baseline[0], v.Baseline[1])
	match := drift.Match(drift.Compare(baseline), drift.Compare(replayed), known)
	if match.Grade != evidence.Contradicted && all.computed(v.Again) {
		return evidence.Unseen(evidence.NoMatchedTokens) // no answer came from a cache
	}
	return match
}

// computed says whether all phases are known to have been computed.
func (o observed) computed(phases []string) bool {
	return !slices.ContainsFunc(phases, func(phase string) bool {
		fresh, known := o.fresh(phase)
		return !fresh || !known
	})
}

// uncached says whether the second pass of the baseline was computed again: by the answers' own word, or
// because the server takes the field that keeps the passes apart.
func (r *Run) uncached(all observed) bool {
	fresh, known := all.fresh(r.Verification.Baseline[1])
	if known {
		return fresh
	}
	return r.Separable
}

// pairs are the prompts that were answered in both phases.
func (p passes) pairs(outputs *rundir.Outputs, first, second string) []drift.Pair {
	var pairs []drift.Pair
	for index, a := range p[first] {
		if _, both := p[second][index]; !both {
			continue
		}
		one, err := outputs.Find(first, index)
		two, other := outputs.Find(second, index)
		if err == nil && other == nil && one != nil && two != nil {
			pairs = append(pairs, drift.Pair{First: *one, Second: *two, Tokens: a.tokensOut})
		}
	}
	return pairs
}

// ownBytes is what this program wrote into the run folder, if that is on the measured machine: it may be
// the measured drive.
func (r *Run) ownBytes() float64 {
	if !r.Own {
		return 0
	}
	var bytes int64
	err := filepath.WalkDir(string(r.Folder), func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			bytes += info.Size()
		}
		return err
	})
	if err != nil {
		r.Log.Debug("the size of the run folder is not known", "why", printable(err))
	}
	return float64(bytes)
}

// warnings says why answers could not be compared, in words that no reason has.
func (r *Run) warnings(all observed) []string {
	v := r.Verification
	if v.Turns {
		return nil // answers are not compared
	}
	var warnings []string
	if fresh, _ := all.fresh(v.First); !fresh {
		warnings = append(warnings, fmt.Sprintf("outputs were not compared: the server answered %s from its cache already", v.First))
	}
	switch {
	case len(all.passes[v.Baseline[0]]) == 0:
		warnings = append(warnings, "outputs were not compared: there is no baseline of the engine's own drift (--set baseline.requests=8)")
	case !v.Alone:
		warnings = append(warnings, fmt.Sprintf("outputs were not compared: with several requests in flight in %s an engine differs from itself, and the baseline has one", v.First))
	case !r.uncached(all):
		warnings = append(warnings, "outputs were not compared: the server does not let the second pass of the baseline be computed again, or does not say so")
	}
	if r.Drawn {
		warnings = append(warnings, "at this --temperature answers are drawn: the baseline differs from itself, and outputs can hardly be compared")
	}
	return warnings
}

func printable(err error) string { return openai.Printable(err.Error(), openai.LongestForeign) }
