package summary

import (
	"fmt"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Sources of ClientFigures.Arrivals.
const (
	arrivalsByKernel   = "kernel"
	arrivalsByInferred = "inferred"
)

// ClientFigures are the effects of the client itself on the times of a run.
type ClientFigures struct {
	// Arrivals is the source of the time that bytes waited in the socket while the client was stalled: kernel, by its
	// stamps of packets, or inferred, an upper limit by the stalls that a timer detected.
	Arrivals string `json:"arrivals"`
	// DelayedRequests counts the requests with an arrival that was delayed by more than the limit of client_stall.
	DelayedRequests int `json:"delayed_requests"`
	// LongestDelaySeconds is the longest delay of an arrival; waits below a millisecond are not recorded.
	LongestDelaySeconds float64 `json:"longest_delay_seconds"`
}

// inferredAfter is the time after a stall in which a read may still be delayed by the stall, where there is no stamp:
// the streams of a busy client are read one after another, and the timer that detects stalls wakes every 5 ms.
const inferredAfter = 5 * time.Millisecond

// delay returns the longest time that the client let an arrival of a request wait in the socket, in nanoseconds.
//
// The kernel's stamps give it for the last byte of each read. The other events of the same read came earlier, at
// unrecorded times: they are taken as evenly spread since the arrival before, but none waited for longer than the
// client was stalled. Without stamps, what arrives right after a stall is taken to have come in at its beginning, or
// right after the arrival before.
func (s *settings) delay(r openai.Record) int64 {
	if s.stamped {
		return s.stampedDelay(r)
	}
	return s.inferredDelay(r)
}

func (s *settings) stampedDelay(r openai.Record) int64 {
	var longest int64
	for i, waited := range r.WaitedNS {
		longest = max(longest, waited)
		if i >= len(r.WaitedReadIDs) {
			continue
		}
		at, before, events := payloadsOf(r, r.WaitedReadIDs[i])
		if events < 2 {
			continue
		}
		newest := at - waited
		first := before + (newest-before)/int64(events)
		for _, stall := range s.stallsOf(r.Rank) {
			if stall.FromNS < at && stall.ToNS > newest {
				longest = max(longest, at-max(first, stall.FromNS))
			}
		}
	}
	return longest
}

// payloadsOf returns when the payloads of a read arrived, how many they are, and when the one before them did, or the
// request was sent.
func payloadsOf(r openai.Record, read int) (at, before int64, events int) {
	before = *r.DispatchNS
	for i, step := range r.ArrivalsNS {
		previous := at
		at += step
		if i >= len(r.ReadIDs) || r.ReadIDs[i] != read {
			continue
		}
		if i > 0 {
			before = previous
		}
		for _, id := range r.ReadIDs[i:] {
			if id != read {
				break
			}
			events++
		}
		return at, before, events
	}
	return 0, before, 0
}

func (s *settings) inferredDelay(r openai.Record) int64 {
	var longest int64
	for _, stall := range s.stallsOf(r.Rank) {
		if stall.ToNS <= *r.DispatchNS {
			continue
		}
		latest := stall.ToNS + inferredAfter.Nanoseconds()
		at, before := int64(0), *r.DispatchNS
		for _, step := range r.ArrivalsNS {
			if at += step; at > latest {
				break
			}
			if at > stall.FromNS {
				longest = max(longest, min(at, stall.ToNS)-max(before, stall.FromNS))
			}
			before = at
		}
	}
	return longest
}

// stallsOf returns the stalls of the process that sent a request.
func (s *settings) stallsOf(rank *int) []rundir.Stall {
	if rank == nil {
		return s.stalls
	}
	return slices.DeleteFunc(slices.Clone(s.stalls), func(stall rundir.Stall) bool { return stall.Rank != *rank })
}

// client returns the figures of the client; nil if stalls were not recorded.
func (in inputs) client(total *aggregate) *ClientFigures {
	if !in.Client.Watched || in.Tool != nil {
		return nil
	}
	figures := ClientFigures{Arrivals: arrivalsByInferred, DelayedRequests: total.delayed, LongestDelaySeconds: seconds(total.longestDelay)}
	if in.Client.PacketStamps {
		figures.Arrivals = arrivalsByKernel
	}
	return &figures
}

const (
	delayedRatio = 0.01
	clientBusy   = 0.85
)

// relief says how a client gets a processor.
const relief = "; end other programs on this machine, lower --concurrency, or run uma-load on another machine"

func judgeClientStall(e grounds, limit float64) verdict {
	if !e.in.Client.Watched || e.total.total() == 0 {
		return verdict{}
	}
	if delayed, total := e.total.delayed, e.total.total(); float64(delayed) > delayedRatio*float64(total) {
		how := "up to"
		if !e.in.Client.PacketStamps {
			how = "by the length of its stalls, up to"
		}
		return verdict{true, fmt.Sprintf("the client stood still, and arrivals of %d of %d requests (%s) waited for more than %s, %s %s%s",
			delayed, total, render.FormatRatio(float64(delayed)/float64(total)), render.FormatSeconds(limit), how, render.FormatSeconds(seconds(e.total.longestDelay)), relief)}
	}
	if e.in.Client.CPURatio > clientBusy {
		return verdict{true, fmt.Sprintf("the client used %s of its cores%s", render.FormatRatio(e.in.Client.CPURatio), relief)}
	}
	return verdict{known: true}
}
