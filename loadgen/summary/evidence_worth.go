package summary

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// leastTokenBytes is below the size of a token in any KV cache.
const leastTokenBytes = 1024

// replayOf returns the conditions of the replay.
func replayOf(v *evidence.Verification, again evidence.Reused) evidence.Replay {
	replay := evidence.Replay{Pressed: v.Pressed, Cached: again.FromCache()}
	if replay.CachedBytes = again.Cached.Value * leastTokenBytes; again.Engine.TokenBytes > 0 {
		replay.CachedBytes = again.Cached.Value * again.Engine.TokenBytes
		replay.SentBytes = again.PromptTokens * again.Engine.TokenBytes
	}
	return replay
}

// worth returns what reuse gained and cost. A first pass that came from a cache is no measure of an uncached one, and the
// turns of a conversation have different prompts: they have no times.
func (o observed) worth(v *evidence.Verification, again evidence.Reused, replayed, whole evidence.Moved) *evidence.Worth {
	spent := evidence.Spent{Reused: again, Replayed: replayed, Whole: whole, Lifetime: o.lifetime(whole), Seconds: o.duration(v.All), EnduranceBytes: v.EnduranceBytes}
	if fresh, known := o.fresh(v.First); !v.Turns && (fresh || !known) {
		spent.ComputedSeconds, spent.ReusedSeconds = o.median(v.First), o.median(v.Again...)
		spent.Pairs = o.timed(v)
	}
	return evidence.NewWorth(spent)
}

// timed pairs the first pass of each prompt with its replays.
func (o observed) timed(v *evidence.Verification) []evidence.Pair {
	var pairs []evidence.Pair
	for _, phase := range v.Again {
		for index, again := range o.passes[phase] {
			if first := o.passes[v.First][index]; first.first > 0 && again.first > 0 && first.tokensIn > 0 {
				pairs = append(pairs, evidence.Pair{Tokens: float64(first.tokensIn), ComputedSeconds: first.first, ReusedSeconds: again.first})
			}
		}
	}
	return pairs
}

// duration returns the length of the phases, by the first source with samples at all of their borders; 0 if unknown.
func (w counters) duration(phases []string) float64 {
	for _, source := range w.sources() {
		windows, whole := w.windows(source, phases)
		if !whole {
			continue
		}
		var ns int64
		for _, window := range windows {
			ns += window.ToNS - window.FromNS
		}
		return seconds(ns)
	}
	return 0
}

// lifetime returns the blocks that KVBM moved since the engine started, by its counters at the end of the run. Of an
// engine with several pages it returns none.
func (w counters) lifetime(whole evidence.Moved) evidence.Moved {
	if !whole.Seen || len(w.parts()) > 0 {
		return evidence.Moved{}
	}
	for _, source := range w.sources() {
		for _, words := range vocabularies() {
			last := func(match func(*telemetry.Series) bool) evidence.Count { return lastOf(source, match) }
			m := evidence.Moved{
				FromDisk: either(last(words.route(metric.OpOnboard, metric.TierDisk, metric.TierDevice)), last(words.route(metric.OpOnboard, metric.TierDisk, metric.TierHost))),
				ToDisk:   either(last(words.route(metric.OpOffload, metric.TierHost, metric.TierDisk)), last(words.route(metric.OpOffload, metric.TierDevice, metric.TierDisk))),
			}
			if m.Seen = m.FromDisk.Known && m.ToDisk.Known; m.Seen {
				return m
			}
		}
	}
	return evidence.Moved{}
}

// lastOf sums the last values of the matching series.
func lastOf(source *telemetry.SourceLog, match func(*telemetry.Series) bool) evidence.Count {
	var count evidence.Count
	if len(source.Samples) == 0 {
		return count
	}
	for _, s := range source.Series {
		if !match(s) {
			continue
		}
		if value, on := s.At(source.Samples[len(source.Samples)-1]); on {
			count.Value, count.Known = count.Value+value, true
		}
	}
	return count
}
