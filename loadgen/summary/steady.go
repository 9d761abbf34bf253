package summary

import (
	"slices"

	"github.com/umascope/umascope/loadgen/openai"
)

// SteadyState has the figures of a phase without its ramp and its drain: the first requests meet an empty server and
// the last ones an emptying one, and a short run is mostly that.
//
// With c(t) requests in flight at t, the level is the median of c over the phase by time: half of the phase had at
// least that many. The window goes from the first moment at which c reaches the level to the last moment at which it
// has it. Everything in between counts, and there is no other parameter. In a closed loop of N requests the level is N
// unless the drain takes half of the phase.
type SteadyState struct {
	// Start and End are seconds since the run's start.
	Start float64 `json:"start"`
	End   float64 `json:"end"`
	// InFlight is the level.
	InFlight int `json:"in_flight"`
	// Requests were dispatched within the window and ended ok: the latencies include them, whenever they ended, so that
	// long ones are not left out.
	Requests int `json:"requests"`
	// Throughput counts the requests whose last payload came within the window, the prompts of
	// those whose first did, and of the output of each request the share of the time from its first
	// to its last payload that lies within.
	Throughput Throughput `json:"throughput"`
	// Latency has no chunk gaps and no inter-token latencies: these are pooled over whole phases.
	Latency Latency `json:"latency"`
}

// steadyState evaluates the requests of one phase; nil for a phase without duration.
func (a *aggregate) steadyState() *SteadyState {
	w := steadyWindow(a.sent)
	if w.toNS <= w.fromNS {
		return nil
	}
	duration := seconds(w.toNS - w.fromNS)
	s := SteadyState{Start: seconds(w.fromNS), End: seconds(w.toNS), InFlight: w.level}
	within := a.sent.dispatchedIn(w)
	s.Latency, s.Requests = within.latency(), len(within.values(E2E(openai.FromSend)))
	served := a.sent.servedIn(w)
	s.Throughput = Throughput{DurationSeconds: &duration, RequestsPerSecond: rate(served.requests, w.toNS-w.fromNS)}
	if served.inputKnown {
		s.Throughput.InputTokensPerSecond = rate(served.input, w.toNS-w.fromNS)
	}
	if served.outputKnown {
		s.Throughput.OutputTokensPerSecond = rate(served.output, w.toNS-w.fromNS)
	}
	return &s
}

// window is a stretch of a phase in which the level is in flight at its ends.
type window struct {
	fromNS, toNS int64
	level        int
}

func (w window) has(ns int64) bool { return ns != absent && ns >= w.fromNS && ns <= w.toNS }

// steadyWindow finds the window. Requests that failed count as load.
func steadyWindow(sent samples) window {
	begins, ends := make([]int64, 0, sent.len()), make([]int64, 0, sent.len())
	for s := range sent.all() {
		begins, ends = append(begins, s.dispatchNS), append(ends, s.endNS)
	}
	slices.Sort(begins)
	slices.Sort(ends)
	w := window{level: medianInFlight(begins, ends)}
	found := false
	sweep(begins, ends, func(inFlight int, fromNS, toNS int64) {
		if inFlight < w.level {
			return
		}
		if !found {
			found, w.fromNS = true, fromNS
		}
		w.toNS = toNS
	})
	return w
}

// sweep visits the stretches of time in which the number of requests in flight stays the same. Both lists ascend.
func sweep(begins, ends []int64, visit func(inFlight int, fromNS, toNS int64)) {
	inFlight, next := 0, 0
	var at int64
	step := func(to int64, change int) {
		if inFlight+next > 0 && to > at {
			visit(inFlight, at, to)
		}
		at, inFlight = to, inFlight+change
	}
	for _, end := range ends {
		for ; next < len(begins) && begins[next] <= end; next++ {
			step(begins[next], 1)
		}
		step(end, -1)
	}
}

// medianInFlight returns the median of the requests in flight, by time.
func medianInFlight(begins, ends []int64) int {
	spent := map[int]int64{}
	var total, sofar int64
	sweep(begins, ends, func(inFlight int, fromNS, toNS int64) {
		spent[inFlight] += toNS - fromNS
		total += toNS - fromNS
	})
	levels := make([]int, 0, len(spent))
	for level := range spent {
		levels = append(levels, level)
	}
	slices.Sort(levels)
	slices.Reverse(levels)
	for _, level := range levels {
		if sofar += spent[level]; 2*sofar >= total {
			return level
		}
	}
	return 0
}

func (l samples) dispatchedIn(w window) samples {
	var within samples
	for s := range l.all() {
		if w.has(s.dispatchNS) {
			within.add(s)
		}
	}
	return within
}

// served counts what was served in a window.
type served struct {
	requests, input, output float64
	// inputKnown and outputKnown are false when a request that ended ok has no count.
	inputKnown, outputKnown bool
}

func (l samples) servedIn(w window) served {
	sum := served{inputKnown: true, outputKnown: true}
	for s := range l.all() {
		if !s.ok {
			continue
		}
		sum.inputKnown = sum.inputKnown && s.tokensIn != absent
		sum.outputKnown = sum.outputKnown && s.tokensOut != absent
		if w.has(s.lastNS) {
			sum.requests++
		}
		if w.has(s.firstPayload()) {
			sum.input += float64(s.tokensIn)
		}
		sum.output += float64(s.tokensOut) * w.share(s.firstPayload(), s.lastNS)
	}
	return sum
}

// firstPayload returns the last payload for an answer that was not streamed.
func (s sample) firstPayload() int64 {
	if s.firstNS == absent {
		return s.lastNS
	}
	return s.firstNS
}

// share returns how much of a stretch lies within the window, 0 to 1.
func (w window) share(fromNS, toNS int64) float64 {
	if fromNS == absent || toNS == absent {
		return 0
	}
	if toNS <= fromNS {
		if w.has(toNS) {
			return 1
		}
		return 0
	}
	overlap := min(toNS, w.toNS) - max(fromNS, w.fromNS)
	return max(0, float64(overlap)/float64(toNS-fromNS))
}
