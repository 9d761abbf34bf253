package traffic

import (
	"errors"
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
	// Poisson starts requests at exponentially distributed distances, the first one included: the process has no
	// memory, so its start is not special.
	Poisson Arrival = "poisson"
	// Gamma starts requests at gamma distributed distances: burstier than Poisson below a
	// burstiness of 1, smoother above it.
	Gamma Arrival = "gamma"
	// Recorded starts requests at the recorded times of a trace.
	Recorded Arrival = "trace"
)

// Arrivals returns the processes, by the names that the flag takes.
func Arrivals() []Arrival { return []Arrival{Closed, Constant, Poisson, Gamma, Recorded} }

// MaxRatePerSecond bounds the rate: offsets are whole nanoseconds, and no client paces more finely.
const MaxRatePerSecond = 1e6

// Bounds of the burstiness. Beyond them nearly all gaps are 0, or all are equal.
const (
	MinBurstiness = 0.01
	MaxBurstiness = 1000
)

// ArrivalProcess is an arrival process with its parameters.
type ArrivalProcess struct {
	Arrival Arrival `json:"arrival" pack:"word"`
	// RatePerSecond is the mean number of arrivals a second; 0 with Stages, Closed and Recorded.
	RatePerSecond float64 `json:"rate_per_second,omitempty"`
	// Burstiness is the shape of Gamma, as the flag of that name of vllm bench: the coefficient of
	// variation of the gaps is 1/sqrt(Burstiness), and 1 is Poisson.
	Burstiness float64 `json:"burstiness,omitempty"`
	// Stages change the level over time: the rate, or the slots of a closed loop.
	Stages []Stage `json:"stages,omitempty"`
	// Ramp is the time over which Closed starts its slots, evenly; 0 starts all of them at once.
	Ramp time.Duration `json:"ramp_ns,omitempty"`
	// Trace is what Recorded replays.
	Trace *Trace `json:"trace,omitempty"`
}

// Open reports whether arrivals follow the clock, independent of the server.
func (p ArrivalProcess) Open() bool { return p.Arrival != Closed }

// Limit ends a phase when the first of its parts is reached. A zero part does not limit.
type Limit struct {
	Requests int           `json:"requests,omitempty"`
	Duration time.Duration `json:"duration_ns,omitempty"`
}

// Within reports whether the arrival with this index and offset belongs to the phase.
func (l Limit) Within(index int, offset time.Duration) bool {
	return (l.Requests == 0 || index < l.Requests) && (l.Duration == 0 || offset < l.Duration)
}

// Check returns an error if the parameters do not define a sequence.
func (p ArrivalProcess) Check() error {
	if (p.Arrival == Gamma) != (p.Burstiness != 0) {
		return fmt.Errorf("burstiness belongs to %s, and only to it", Gamma)
	}
	if (p.Arrival == Recorded) != (p.Trace != nil) {
		return fmt.Errorf("a trace belongs to %s, and only to it", Recorded)
	}
	switch p.Arrival {
	case Closed:
		if p.RatePerSecond != 0 {
			return errors.New("a closed loop has no rate")
		}
		return checkStages(p.Stages, wholeLevel)
	case Recorded:
		if p.RatePerSecond != 0 || len(p.Stages) > 0 {
			return errors.New("a trace has the rate that it was recorded with")
		}
		return p.Trace.check()
	case Constant, Poisson:
		return p.checkRate()
	case Gamma:
		if !(p.Burstiness >= MinBurstiness && p.Burstiness <= MaxBurstiness) {
			return fmt.Errorf("%v is not a burstiness from %v to %v", p.Burstiness, MinBurstiness, MaxBurstiness)
		}
		return p.checkRate()
	default:
		return fmt.Errorf("%q is none of %s", p.Arrival, names())
	}
}

// checkRate returns an error unless the process has a rate or stages of rates.
func (p ArrivalProcess) checkRate() error {
	if len(p.Stages) > 0 {
		if p.RatePerSecond != 0 {
			return errors.New("the stages have the rate")
		}
		return checkStages(p.Stages, rateLevel)
	}
	// The negation catches NaN.
	if !(p.RatePerSecond > 0 && p.RatePerSecond <= MaxRatePerSecond) {
		return fmt.Errorf("%v a second is not a rate above 0 and up to %.0f", p.RatePerSecond, MaxRatePerSecond)
	}
	return nil
}

// Offsets yields the planned offset of each arrival of an open process from the start of its phase, ascending, until
// the limit or the end of the stages or the trace. Equal arguments yield equal sequences. A closed loop has no planned
// offsets and yields none.
func (p ArrivalProcess) Offsets(limit Limit, seed, stream uint64) iter.Seq[time.Duration] {
	return func(yield func(time.Duration) bool) {
		if !p.Open() {
			return
		}
		next := p.sequence(rand.New(rand.NewPCG(seed, stream)))
		for index := 0; ; index++ {
			at, ok := next(index)
			if !ok || !limit.Within(index, at) || !yield(at) {
				return
			}
		}
	}
}

// sequence returns the function from an arrival's index to its offset, if it has one; it must be
// called with 0, 1, 2 and so on.
//
// Arrivals are drawn on a scale on which their mean distance is 1, and the rate stretches that
// scale to time: under a rate that changes, Poisson stays a Poisson process.
func (p ArrivalProcess) sequence(random *rand.Rand) func(index int) (time.Duration, bool) {
	if p.Arrival == Recorded {
		return p.Trace.offset
	}
	at := flat(p.RatePerSecond)
	if len(p.Stages) > 0 {
		at = staged(p.Stages)
	}
	if p.Arrival == Constant {
		// From the index, not from the predecessor: rounding errors must not add up.
		return func(index int) (time.Duration, bool) { return at(float64(index)) }
	}
	gap := random.ExpFloat64
	if p.Arrival == Gamma && p.Burstiness != 1 {
		gap = func() float64 { return gamma(random, p.Burstiness) / p.Burstiness }
	}
	var position float64
	return func(int) (time.Duration, bool) {
		position += gap()
		return at(position)
	}
}

// flat returns the function from a position to its time under one rate.
func flat(ratePerSecond float64) func(position float64) (time.Duration, bool) {
	return func(position float64) (time.Duration, bool) { return duration(position / ratePerSecond), true }
}

// duration converts seconds, rounds to nanoseconds and saturates at the largest duration, some 292 years.
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
