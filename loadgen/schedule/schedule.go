// Package schedule says when requests are meant to start: arrival processes as pure,
// seeded sequences of planned offsets, the same on every machine and in every run.
//
// A planned offset is a moment that the load generator intends, never one that it reached:
// what a busy server or a slow client adds is measured against it.
package schedule

import (
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"strings"
	"time"
)

// Arrival is an arrival process.
type Arrival string

// The arrival processes.
const (
	// Closed starts a request when a slot becomes free: the server sets the pace.
	Closed Arrival = "closed"
	// Constant starts requests at equal distances, the first one at once.
	Constant Arrival = "constant"
	// Poisson starts requests at exponentially distributed distances, the first one included:
	// the process has no memory, so its start is a moment like any other.
	Poisson Arrival = "poisson"
)

// Arrivals lists the processes, as the flag that chooses one spells them.
func Arrivals() []Arrival { return []Arrival{Closed, Constant, Poisson} }

// MaxRatePerSecond bounds the rate: offsets are whole nanoseconds, and no client paces finer
// than this.
const MaxRatePerSecond = 1e6

// Process is an arrival process with its rate.
type Process struct {
	Arrival Arrival `json:"arrival"`
	// RatePerSecond is the mean number of arrivals a second; Closed has none.
	RatePerSecond float64 `json:"rate_per_second,omitempty"`
}

// Open says whether arrivals come by the clock, whatever the server does.
func (p Process) Open() bool { return p.Arrival != Closed }

// Limit ends a phase: whichever of its parts is reached first. A zero part does not limit.
type Limit struct {
	Requests int           `json:"requests,omitempty"`
	Duration time.Duration `json:"duration_ns,omitempty"`
}

// Within says whether the arrival with this index and offset belongs to the phase.
func (l Limit) Within(index int, offset time.Duration) bool {
	return (l.Requests == 0 || index < l.Requests) && (l.Duration == 0 || offset < l.Duration)
}

// Check refuses what no sequence can be made of.
func (p Process) Check() error {
	switch p.Arrival {
	case Closed:
		if p.RatePerSecond != 0 {
			return fmt.Errorf("a closed loop has no rate")
		}
		return nil
	case Constant, Poisson:
		// The negation catches NaN.
		if !(p.RatePerSecond > 0 && p.RatePerSecond <= MaxRatePerSecond) {
			return fmt.Errorf("%v a second is not a rate above 0 and up to %.0f", p.RatePerSecond, MaxRatePerSecond)
		}
		return nil
	default:
		return fmt.Errorf("%q is none of %s", p.Arrival, names())
	}
}

// Offsets yields the planned offset of each arrival of an open process from the start of its
// phase, ascending, until the limit. Equal arguments yield equal sequences. A closed loop has
// no planned offsets and yields nothing.
func (p Process) Offsets(limit Limit, seed, stream uint64) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		if !p.Open() {
			return
		}
		offset := p.sequence(rand.New(rand.NewPCG(seed, stream)))
		for index := 0; ; index++ {
			at := offset(index)
			if !limit.Within(index, at) || !yield(at) {
				return
			}
		}
	}
}

// sequence returns the function from an arrival's index to its offset; it must be called with
// 0, 1, 2 and so on.
func (p Process) sequence(random *rand.Rand) func(index int) time.Duration {
	if p.Arrival == Constant {
		// From the index, not from the predecessor: rounding errors must not add up.
		return func(index int) time.Duration { return duration(float64(index) / p.RatePerSecond) }
	}
	var seconds float64
	return func(int) time.Duration {
		seconds += random.ExpFloat64() / p.RatePerSecond
		return duration(seconds)
	}
}

// duration rounds to nanoseconds and saturates at the largest duration, some 292 years.
func duration(seconds float64) time.Duration {
	nanoseconds := math.Round(seconds * float64(time.Second))
	if nanoseconds >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(nanoseconds)
}

func names() string {
	var all []string
	for _, a := range Arrivals() {
		all = append(all, string(a))
	}
	return strings.Join(all, ", ")
}
