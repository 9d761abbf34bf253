package summary

import (
	"cmp"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Sources of ClientFigures.Arrivals.
const (
	arrivalsByKernel   = "kernel"
	arrivalsByInferred = "inferred"
)

// ClientFigures are the effects of the client itself on the times of a run.
type ClientFigures struct {
	// Arrivals is the source of arrivals: kernel, by its stamps of packets, or inferred, the moment at which a read
	// returned, which is late after the stalls of the client that a timer detected.
	Arrivals string `json:"arrivals" pack:"word"`
	// DelayedRequests counts the requests with an arrival that may be earlier by more than the limit of client_stall.
	DelayedRequests int `json:"delayed_requests"`
	// LongestDelaySeconds is the most that an arrival may be earlier.
	LongestDelaySeconds float64 `json:"longest_delay_seconds"`
}

// inferredAfter is the time after a stall in which a read may still be delayed by the stall, where there is no stamp:
// the streams of a busy client are read one after another, and the timer that detects stalls wakes every 5 ms.
const inferredAfter = 5 * time.Millisecond

// randomWait is how much longer an event may have waited than the last byte of its late read. A delay of the client that
// no timer noticed began at a moment of its own, so that the last byte falls anywhere into it.
const randomWait = 5

// early returns how much earlier than recorded each payload chunk of a request may have arrived, in nanoseconds; nil if
// all arrivals are exact.
//
// With the kernel's stamps, the record names the chunks: they came after the read before. And none waited for longer
// than the client was late then: by its stalls, and by what may have gone unnoticed. Without stamps, what arrives right
// after a stall is taken to have come in at its beginning, or right after the arrival before.
func (s *settings) early(r openai.Record) []int64 {
	if s.stamped {
		return s.stampedEarly(r)
	}
	var early []int64
	for _, stall := range s.stallsOf(r.Rank) {
		if stall.ToNS <= *r.DispatchNS {
			continue
		}
		latest := stall.ToNS + inferredAfter.Nanoseconds()
		at, before := int64(0), *r.DispatchNS
		for i, step := range r.ArrivalsNS {
			if at += step; at > latest {
				break
			}
			if wait := min(at, stall.ToNS) - max(before, stall.FromNS); at > stall.FromNS && wait > 0 {
				if early == nil {
					early = make([]int64, len(r.ArrivalsNS))
				}
				early[i] = max(early[i], wait)
			}
			if !(i+1 < len(r.ArrivalsNS) && r.ArrivalsNS[i+1] == 0) {
				before = at // chunks of one arrival waited alike
			}
		}
	}
	return early
}

func (s *settings) stampedEarly(r openai.Record) []int64 {
	if len(r.UnsureChunks) == 0 {
		return nil
	}
	early, stalls := make([]int64, len(r.ArrivalsNS)), s.stallsOf(r.Rank)
	at, chunk := int64(0), 0
	for i, unsure := range r.UnsureChunks {
		if unsure < chunk || unsure >= len(early) || i >= len(r.UnsureNS) {
			break
		}
		for ; chunk <= unsure; chunk++ {
			at += r.ArrivalsNS[chunk]
		}
		width, waited := r.UnsureNS[i], int64(0)
		if i < len(r.UnsureWaitNS) {
			waited = r.UnsureWaitNS[i]
		}
		late := max(s.unnoticedNS+stalled(stalls, at-width, at+waited), randomWait*waited)
		early[unsure] = max(0, min(width, late))
	}
	return early
}

// stalled returns how long the stalls were that overlap with a time.
func stalled(stalls []rundir.Stall, from, to int64) int64 {
	first, _ := slices.BinarySearchFunc(stalls, from, func(s rundir.Stall, from int64) int { return cmp.Compare(s.ToNS, from) })
	var total int64
	for _, s := range stalls[first:] {
		if s.FromNS >= to {
			break
		}
		total += s.ToNS - s.FromNS
	}
	return total
}

// stallsOf returns the stalls of the process that sent a request.
func (s *settings) stallsOf(rank *int) []rundir.Stall {
	if rank == nil {
		return s.stalls
	}
	if s.byRank == nil {
		s.byRank = map[int][]rundir.Stall{}
		for _, stall := range s.stalls {
			s.byRank[stall.Rank] = append(s.byRank[stall.Rank], stall)
		}
	}
	return s.byRank[*rank]
}

// client returns the figures of the client; nil if stalls were not recorded.
func (in inputs) client(total *aggregate) *ClientFigures {
	if !in.Client.Watched || in.Tool != nil {
		return nil
	}
	figures := ClientFigures{Arrivals: arrivalsByInferred, DelayedRequests: total.delayed, LongestDelaySeconds: seconds(total.longestDelay)}
	if in.Client.StampedArrivals {
		figures.Arrivals = arrivalsByKernel
	}
	return &figures
}

// clientBusy is the share of its cores from which on the client is said to be busy.
const clientBusy = 0.85

// relief says how a client gets a processor.
const relief = "; end other programs on this machine, lower --concurrency, or run uma-load on another machine"

func judgeClientStall(e grounds, limit float64) verdict {
	if !e.in.Client.Watched || e.total.total() == 0 {
		return verdict{}
	}
	if most := worst(e.doubts, limit, lateReads); most != nil && most.of(limit) > 1 {
		return verdict{true, most.String() + ": the client read late" + relief}
	}
	return verdict{known: true}
}

func judgeClientLag(e grounds, limit float64) verdict {
	if len(e.total.sent.values(clientLag)) == 0 {
		return verdict{}
	}
	most := worst(e.doubts, limit, lateSends)
	if most == nil || most.of(limit) <= 1 {
		return verdict{known: true}
	}
	return verdict{true, most.String() + ": the client sent late" + relief}
}
