package loadgen

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/report"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// answered is what is compared of one request.
type answered struct {
	tokensIn, tokensOut int
	cached              *int
	first               float64 // seconds to the first token; 0 is unknown
}

// passes are the requests that ended ok, by phase and number.
type passes map[string]map[int]answered

// evident is what a run turned out to be evidence of.
type evident struct {
	signals  *report.Signals // nil if its scenario asks for nothing
	warnings []string
}

// verify grades what the run is evidence of.
func (r *run) verify(log *telemetry.Log) evident {
	v := r.work.script.verify
	if v == nil {
		return evident{}
	}
	all, err := r.passes()
	if err != nil {
		// What the records say otherwise fails for the same reason, and that is the error.
		all = passes{}
	}
	w := witnesses{log, r.server.model.simulated(), r.settings.label("host")}
	tiers := offTiers(r.seeKV(log), r.settings.expect)
	tiers.DiskFilter = v.told.DiskFilter
	replayed, whole := w.moved(v.again), w.moved(v.all)
	size := v.sizeOfBlock(replayed)
	replayed.BlockBytes, whole.BlockBytes = size, size
	written := w.disk(v.all, metric.OpWrite)
	written.Own = r.ownBytes()
	return evident{
		signals: &report.Signals{
			SSDOffload:   evidence.SSDOffload(whole, written, tiers),
			SSDRehydrate: evidence.SSDRehydrate(replayed, w.disk(v.again, metric.OpRead), tiers, v.pressed),
			Reuse:        evidence.Reuse(v.reused(all, replayed)),
			OutputMatch:  r.outputMatch(all),
		},
		warnings: r.verifyWarnings(all),
	}
}

// sizeOfBlock is the size of a block of KVBM: as told, as an exporter knows it, or worked out from the
// tokens that were found in the blocks that came back.
func (v *verification) sizeOfBlock(m evidence.Moved) float64 {
	blocks := m.FromDisk.Value + m.FromHost.Value
	switch {
	case v.blockByte > 0:
		return v.blockByte
	case m.BlockBytes > 0:
		return m.BlockBytes
	case blocks > 0 && m.MatchedTokens.Known:
		return m.MatchedTokens.Value / blocks * v.tokenByte
	}
	return 0
}

// passes reads the records back.
func (r *run) passes() (passes, error) {
	all := passes{}
	for record, err := range report.Records(r.folder.path(fileRequests)) {
		if err != nil {
			return nil, err
		}
		if record.Status != chat.StatusOK {
			continue
		}
		if all[record.Phase] == nil {
			all[record.Phase] = map[int]answered{}
		}
		all[record.Phase][record.Index] = answeredBy(record, !r.settings.noStream)
	}
	return all, nil
}

func answeredBy(record chat.Record, streamed bool) answered {
	a := answered{cached: record.TokensCached}
	if record.TokensIn != nil {
		a.tokensIn = *record.TokensIn
	}
	if record.TokensOut != nil {
		a.tokensOut = *record.TokensOut
	}
	if first, known := record.TTFT(chat.FromSend); known && streamed {
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

// fresh says whether a phase was computed and not taken from a cache; not if nobody says.
func (p passes) fresh(phase string) (fresh, known bool) {
	cached, tokens := p.cached(phase)
	return cached.Value <= cachedRatio*tokens, cached.Known
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
	if len(times) == 0 {
		return 0
	}
	slices.Sort(times)
	return (times[(len(times)-1)/2] + times[len(times)/2]) / 2
}

func (v *verification) reused(all passes, m evidence.Moved) evidence.Reused {
	r := evidence.Reused{Found: m.MatchedTokens, Cached: evidence.Count{Known: true}, AgainSeconds: all.median(v.again...)}
	for _, phase := range v.again {
		cached, tokens := all.cached(phase)
		r.Requests += len(all[phase])
		r.PromptTokens += tokens
		r.Cached = r.Cached.Add(cached)
	}
	// A first pass that was cached itself is no measure of one that was not.
	if fresh, known := all.fresh(v.first); fresh || !known {
		r.FirstSeconds = all.median(v.first)
	}
	return r
}

// outputMatch compares the answers of each replay with those that were computed, by the drift of the
// baseline. There is no baseline for answers that were in a batch with others, nor where it, or the
// first pass, may itself have come from a cache.
func (r *run) outputMatch(all passes) evidence.Signal {
	v := r.work.script.verify
	fresh, _ := all.fresh(v.first)
	if !v.alone || !fresh || !r.uncached(all) {
		return evidence.Unseen(evidence.NoBaseline)
	}
	outputs, err := openOutputs(r.folder.path(fileOutputs))
	if err != nil {
		r.log.Warn("the answers cannot be compared", "why", printable(err.Error()))
		return evidence.Unseen(evidence.NoBaseline)
	}
	defer outputs.close()
	var replayed []evidence.Pair
	for _, phase := range v.again {
		replayed = append(replayed, all.pairs(outputs, v.first, phase)...)
	}
	return evidence.OutputMatch(evidence.Compare(all.pairs(outputs, phaseBaseline1, phaseBaseline2)), evidence.Compare(replayed))
}

// uncached says whether the second pass of the baseline was computed again: by the answers' own word, or
// because the server takes the field that keeps the passes apart.
func (r *run) uncached(all passes) bool {
	fresh, known := all.fresh(phaseBaseline2)
	if known {
		return fresh
	}
	return r.work.takesSalt()
}

// pairs are the prompts that were answered in both phases.
func (p passes) pairs(outputs *outputFile, first, second string) []evidence.Pair {
	var pairs []evidence.Pair
	for index, a := range p[first] {
		if _, both := p[second][index]; !both {
			continue
		}
		one, err := outputs.find(first, index)
		two, other := outputs.find(second, index)
		if err == nil && other == nil && one != nil && two != nil {
			pairs = append(pairs, evidence.Pair{First: *one, Second: *two, Tokens: a.tokensOut})
		}
	}
	return pairs
}

// ownBytes is what this program wrote into the run folder, if that is on the measured machine: it may be
// the measured drive.
func (r *run) ownBytes() float64 {
	if r.settings.label("host") != r.manifest.Client.Hostname {
		return 0
	}
	var bytes int64
	err := filepath.WalkDir(string(r.folder), func(_ string, entry fs.DirEntry, err error) error {
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
		r.log.Debug("the size of the run folder is not known", "why", printable(err.Error()))
	}
	return float64(bytes)
}

// verifyWarnings says why answers could not be compared, in words that no reason has.
func (r *run) verifyWarnings(all passes) []string {
	v := r.work.script.verify
	var warnings []string
	if fresh, _ := all.fresh(v.first); !fresh {
		warnings = append(warnings, fmt.Sprintf("%s came from the server's cache already: it has seen these prompts; restart it or choose another --seed", v.first))
	}
	switch {
	case len(all[phaseBaseline1]) == 0:
		warnings = append(warnings, "outputs were not compared: there is no baseline of the engine's own drift (--set baseline.requests=8)")
	case !v.alone:
		warnings = append(warnings, fmt.Sprintf("outputs were not compared: with several requests in flight in %s an engine differs from itself, and the baseline has one", v.first))
	case !r.uncached(all):
		warnings = append(warnings, "outputs were not compared: the server does not let the second pass of the baseline be computed again, or does not say so")
	}
	if r.settings.temperature > 0 && r.settings.requestSeed == nil {
		warnings = append(warnings, "at this --temperature answers are drawn: the baseline differs from itself, and outputs can hardly be compared")
	}
	return warnings
}
