package workload

import (
	"iter"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
)

// Phase is a part of a run with one arrival process. Limit sets its end.
type Phase struct {
	Name    string
	Process traffic.ArrivalProcess
	Limit   traffic.Limit
	// Slots, if not 0, replaces the loop's Slots in this phase.
	Slots int
	// StartNS is the time on the clock, in nanoseconds, at which the phase begins. Arrivals count from it, even if the
	// process wakes late. 0 means at once.
	StartNS int64
}

// Job is one request, ready to be sent.
type Job struct {
	Index int
	// Planned is the offset from the start of the phase; open loop only.
	Planned time.Duration
	// Server is the number of the server that the request is for, from 0.
	Server  int
	Request openai.Request
	// Build makes the request when its turn comes, from the conversation so far. It is nil if the request is already
	// made.
	Build func(*Job) error
	// Answered receives the answer before the next request of the same worker is due. It may be nil.
	Answered func(openai.Result)

	// Fields of the plan that are copied into the record of the request.
	Conversation, Session                    string
	Turn                                     int
	PromptSHA256, ParamsSHA256, PrefixSHA256 string
	InputTokensTarget, RepeatedTokensTarget  int
	MaxTokens                                int
}

// Span is the time of a phase, in nanoseconds since the run's start.
type Span struct {
	Name    string
	StartNS int64
	EndNS   int64
}

// Observer receives the events of requests. Its functions are called from many goroutines.
type Observer struct {
	Started func() // a request is sent
	Payload func() // a part of its answer arrived
	Ended   func(Job, openai.Result)
	// Failed, if not nil, is called for a request that did not end ok, before Ended and before its slot is free. So
	// its decision applies to the next request.
	Failed func(Job, openai.Result)
}

// steps returns the stages of a closed loop's slots.
func (p Phase) steps() []traffic.Stage {
	if p.Process.Open() {
		return nil
	}
	return p.Process.Stages
}

// Endless reports whether the number of requests is unknown until the phase ends: a closed loop with a time limit.
func (p Phase) Endless() bool { return !p.Process.Open() && p.Limit.Requests == 0 }

// Planned yields the number and the planned offset of each request of the phase, beginning with the given number. It
// does not end if the phase is endless. The offset is nil in a closed loop. Arrivals depend only on seed and stream;
// the stream keeps the arrivals of several phases independent.
func (p Phase) Planned(first int, seed, stream uint64) iter.Seq2[int, *time.Duration] {
	return func(yield func(int, *time.Duration) bool) {
		if p.Process.Open() {
			index := 0
			for offset := range p.Process.Offsets(p.Limit, seed, stream) {
				if index >= first && !yield(index, &offset) {
					return
				}
				index++
			}
			return
		}
		for index := first; p.Endless() || index < p.Limit.Requests; index++ {
			if !yield(index, nil) {
				return
			}
		}
	}
}
