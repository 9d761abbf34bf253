package executor

import (
	"iter"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/schedule"
)

// Phase is a stretch of a run with one arrival process; Limit says when it ends.
type Phase struct {
	Name    string
	Process schedule.Process
	Limit   schedule.Limit
	// Slots, if any, are those of this phase instead of the loop's.
	Slots int
	// StartNS is the moment of the clock at which the phase begins and from which its arrivals count,
	// however late the process wakes; 0 is at once.
	StartNS int64
}

// Job is one request, ready to be sent.
type Job struct {
	Index int
	// Planned is the offset from the start of the phase; open loop only.
	Planned time.Duration
	Request openai.Request
	// Speak makes the request when its turn has come, of what was said before; nil if it is made
	// already.
	Speak func(*Job) error
	// Heard is told the answer before the next request of the same lane is due; may be nil.
	Heard func(openai.Result)

	// What the plan says of the request; it goes into its record.
	Conversation, Session                    string
	Turn                                     int
	PromptSHA256, ParamsSHA256, PrefixSHA256 string
	InputTokensTarget, RepeatedTokensTarget  int
	MaxTokens                                int
}

// Span is when a phase was, in nanoseconds since the run's start.
type Span struct {
	Name    string
	StartNS int64
	EndNS   int64
}

// Observer is told what happens to requests. Its functions are called from many goroutines.
type Observer struct {
	Started func() // a request goes out
	Payload func() // a piece of its answer came
	Ended   func(Job, openai.Result)
	// Failed, if there is one, comes before Ended, of a request that did not end ok, and before its slot is
	// free: what it decides holds for the next request.
	Failed func(Job, openai.Result)
}

// steps are the stages of slots of a closed loop.
func (p Phase) steps() []schedule.Stage {
	if p.Process.Open() {
		return nil
	}
	return p.Process.Stages
}

// Endless says whether the number of requests shows only while they run: a closed loop that
// ends by time.
func (p Phase) Endless() bool { return !p.Process.Open() && p.Limit.Requests == 0 }

// Planned yields number and planned offset of each request of the phase from the given number on;
// without end if it is endless. The offset is nil in a closed loop. Arrivals are functions of seed
// and stream, which keeps those of several phases apart.
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
