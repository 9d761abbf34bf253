package summary

import (
	"cmp"
	"fmt"
	"iter"
	"log/slog"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// answered is the part of a request that is compared.
type answered struct {
	tokensIn, tokensOut int
	cached              *int
	template            int // the tokens of the chat template among tokensIn
	// conversation and turn, from 1 on, are set for a request that continues a conversation.
	conversation string
	turn         int
	first        float64 // seconds to the first token; 0 is unknown
}

// passes are the requests that ended ok, by phase and number.
type passes map[string]map[int]answered

// CachedRatio is the share of cached prompt tokens, without those of the chat template, from which on prompts count as
// not computed.
const CachedRatio = 0.1

// EvidenceInput is a finished run, with its conditions that are not in its files.
type EvidenceInput struct {
	Folder rundir.Folder
	// Records are the requests in the folder.
	Records   iter.Seq2[openai.Record, error]
	Telemetry *telemetry.Log // nil without telemetry
	// Verification selects what the scenario compares; nil for a scenario without.
	Verification *evidence.Verification
	Expect       KVExpectation
	// Hosts are the measured machines, that of the run first. Own is true if that is this machine, so that the run's files
	// may be on its drive. Storage is what the folders of this machine lie on.
	Hosts   []string
	Own     bool
	Storage []rundir.Storage
	// Simulated is true if the engine reports itself as simulated, so that a simulated machine may be its own.
	Simulated bool
	// Streamed is true if answers came token by token, so that they have a first one.
	Streamed bool
	// Separable is true if the server accepts the field that keeps the passes of the baseline apart.
	Separable bool
	// Engine is the engine's report of its memory; nil if it has none.
	Engine *rundir.EngineReport
	// Drawn is true if answers are sampled without a seed, so that the engine differs from itself.
	Drawn bool
	// TemplateTokens is the number of tokens that the server adds to each prompt; 0 if unknown.
	TemplateTokens int
	// Several is true if several servers shared the load: the answers are the only evidence of all of them.
	Several bool
	Log     *slog.Logger
}

// EvidenceFound is the evidence found in a run.
type EvidenceFound struct {
	Signals  *evidence.Signals // nil if the scenario has no verification
	Warnings []string
}

// Verify grades the evidence of the run.
func (r *EvidenceInput) Verify() EvidenceFound {
	v := r.Verification
	if v == nil {
		return EvidenceFound{}
	}
	if r.Several {
		return r.verifyAnswers()
	}
	all, err := r.passes()
	if err != nil {
		// The computation of the summary reads the same records and returns the same error.
		all = passes{}
	}
	w := counters{r.Telemetry, r.Simulated, r.Hosts}
	seen := observed{all, w}
	tiers := offTiers(SeeKVTiers(r.Telemetry, r.Simulated), r.Expect)
	room := ReadKVRoom(r.Telemetry, r.Hosts, r.Simulated, r.Expect)
	sizes := *v
	sizes.TokenBytes = cmp.Or(v.TokenBytes, room.TokenBytes, tokenBytesOf(r.Engine))
	replayed, whole := w.moved(v.Again), w.moved(v.All)
	replayed.BlockBytes = sizeOfBlock(&sizes, replayed)
	if whole.BlockBytes = replayed.BlockBytes; whole.BlockBytes == 0 {
		whole.BlockBytes = sizeOfBlock(&sizes, whole)
	}
	tiers.DiskFilter = cmp.Or(v.Given.DiskFilter, room.Off.DiskFilter, whole.Filter(room.DiskBytes > 0))
	again := seen.reused(v, replayed)
	again.Engine.TokenBytes = sizes.TokenBytes
	place := r.place()
	read, written := w.diskAt(v.Again, metric.OpRead, place), w.diskAt(v.All, metric.OpWrite, place)
	rehydrate := evidence.SSDRehydrate(replayed, again.Engine, read, tiers, replayOf(v, again))
	reuse := evidence.Reuse(again)
	return EvidenceFound{
		Signals: &evidence.Signals{
			SSDOffload:   evidence.SSDOffload(whole, written, tiers, again.PromptTokens*sizes.TokenBytes),
			SSDRehydrate: rehydrate,
			Reuse:        reuse,
			OutputMatch:  evidence.LimitMatch(r.outputMatch(seen), reuse, rehydrate),
			Worth:        seen.worth(v, again, replayed, whole),
		},
		Warnings: r.warnings(seen),
	}
}

// verifyAnswers grades the evidence of a run on several servers, by its answers alone.
func (r *EvidenceInput) verifyAnswers() EvidenceFound {
	all, err := r.passes()
	if err != nil {
		all = passes{} // the computation of the summary returns the same error
	}
	unseen := evidence.Unseen(evidence.SeveralServers)
	reuse := evidence.Reuse(observed{all, counters{simulated: r.Simulated, hosts: r.Hosts}}.reused(r.Verification, evidence.Moved{}))
	if reuse.Grade == evidence.NotObservable {
		reuse.Reason = evidence.SeveralServers
	}
	return EvidenceFound{Signals: &evidence.Signals{SSDOffload: unseen, SSDRehydrate: unseen, Reuse: reuse, OutputMatch: unseen}}
}

// sizeOfBlock returns the size of a block of KVBM: as configured, as an exporter reports it, or computed from the
// tokens in the blocks that came back.
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

// passes reads the records.
func (r *EvidenceInput) passes() (passes, error) {
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

// cached returns the prompt tokens of a phase that came from a cache by the answers, all of which must report it.
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

// fresh reports whether a phase was computed rather than taken from a cache, apart from the chat template; known is
// false where that is not observable.
func (p passes) fresh(phase string) (fresh, known bool) {
	cached, tokens := p.cached(phase)
	template := 0
	for _, a := range p[phase] {
		template += a.template
	}
	return cached.Value <= CachedRatio*tokens+float64(template), cached.Known
}

// observed has the answers and the counters of a run.
type observed struct {
	passes
	counters
}

// fresh uses the answers, or the engine's counters where the answers do not report cached tokens.
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

// median returns the median time to the first token of phases; 0 if none is known.
func (p passes) median(phases ...string) float64 {
	var times []float64
	for _, phase := range phases {
		for _, a := range p[phase] {
			if a.first > 0 {
				times = append(times, a.first)
			}
		}
	}
	return medianOrZero(times)
}

func (o observed) reused(v *evidence.Verification, m evidence.Moved) evidence.Reused {
	if v.Turns {
		return o.turns(v, m)
	}
	r := evidence.Reused{Found: m.MatchedTokens, Cached: evidence.Count{Known: true}}
	for _, phase := range v.Again {
		cached, tokens := o.cached(phase)
		r.Requests += len(o.passes[phase])
		r.PromptTokens += tokens
		r.Cached = r.Cached.Add(cached)
	}
	r.Engine = o.hits(v.Again, r.PromptTokens)
	return r
}

// outputMatch compares the answers of each replay with those that were computed, by the drift of the baseline. Answers
// of requests that were batched with others have no baseline; the same is true where the baseline, or the first pass,
// may have come from a cache.
func (r *EvidenceInput) outputMatch(all observed) evidence.Signal {
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
	var replayed []OutputPair
	for _, phase := range v.Again {
		replayed = append(replayed, all.pairs(outputs, v.First, phase)...)
	}
	baseline := all.pairs(outputs, v.Baseline[0], v.Baseline[1])
	match := MatchOutputs(CompareOutputs(baseline), CompareOutputs(replayed), known)
	if match.Grade != evidence.Contradicted && all.computed(v.Again) {
		return evidence.Unseen(evidence.NoMatchedTokens) // no answer came from a cache
	}
	return match
}

// computed reports whether all phases are known to have been computed.
func (o observed) computed(phases []string) bool {
	return !slices.ContainsFunc(phases, func(phase string) bool {
		fresh, known := o.fresh(phase)
		return !fresh || !known
	})
}

// uncached reports whether the second pass of the baseline was computed again: by the report of the answers, or because
// the server accepts the field that keeps the passes apart.
func (r *EvidenceInput) uncached(all observed) bool {
	fresh, known := all.fresh(r.Verification.Baseline[1])
	if known {
		return fresh
	}
	return r.Separable
}

// pairs returns the prompts that were answered in both phases.
func (p passes) pairs(outputs *rundir.Outputs, first, second string) []OutputPair {
	var pairs []OutputPair
	for index, a := range p[first] {
		if _, both := p[second][index]; !both {
			continue
		}
		one, err := outputs.Find(first, index)
		two, other := outputs.Find(second, index)
		if err == nil && other == nil && one != nil && two != nil {
			pairs = append(pairs, OutputPair{First: *one, Second: *two, Tokens: a.tokensOut})
		}
	}
	return pairs
}

// warnings returns why answers could not be compared, where no reason covers it.
func (r *EvidenceInput) warnings(all observed) []string {
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
