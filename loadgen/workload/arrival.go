package workload

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// resolveArrival completes the arrival process and the end of the phases.
func (s *Settings) resolveArrival() error {
	for _, check := range []func() error{s.checkBurstiness, s.checkStages, s.readTrace, s.checkRate} {
		if err := check(); err != nil {
			return err
		}
	}
	s.concurrencyGiven = s.Concurrency != 0
	if s.Arrival == traffic.Closed && s.Concurrency == 0 {
		if s.Concurrency = defaultConcurrency; len(s.stages) == 0 {
			s.Concurrency = max(s.Concurrency, s.Place.World)
		}
	}
	if s.requests == 0 && s.duration == 0 && len(s.stages) == 0 && s.trace == nil {
		s.requests = max(defaultRequests, s.Place.World)
	}
	if err := s.process().Check(); err != nil {
		return fmt.Errorf("%s: %w", s.levelFlag(), err)
	}
	return nil
}

// levelFlag returns the flag that sets the load level.
func (s *Settings) levelFlag() string {
	switch {
	case s.trace != nil:
		return "--trace"
	case len(s.stages) > 0:
		return "--stages"
	}
	return "--rate"
}

func (s *Settings) checkBurstiness() error {
	if s.burstiness != 0 && s.Arrival != traffic.Gamma {
		return errors.New("--burstiness: add --arrival gamma")
	}
	if s.Arrival == traffic.Gamma && s.burstiness == 0 {
		s.burstiness = 1
	}
	return nil
}

func (s *Settings) checkStages() error {
	switch {
	case len(s.stages) == 0:
		return nil
	case s.Arrival == traffic.Recorded:
		return errors.New("--stages: a trace has the rate that it was recorded with")
	case s.rate != 0:
		return errors.New("--rate: the stages have the rate")
	case s.duration != 0:
		return errors.New("--duration: the stages have the duration")
	case s.Arrival == traffic.Closed && s.Concurrency != 0:
		return errors.New("--concurrency: the stages of a closed loop have the number of requests in flight")
	}
	return nil
}

// A closed loop of more slots than rampedAbove starts them one after another: a client on two cores that starts more at
// one moment sends the last of them late, and the server answers all of them at one moment again and again. With 32 slots
// at once the last requests left 4 to 6 ms late on two cores, which is more than 2 % of a TTFT of 100 ms.
const (
	rampedAbove = 16
	rampStep    = 10 * time.Millisecond // for each slot
	// rampShare is the most of a phase's duration that the ramp takes if nobody gave it.
	rampShare = 10
)

// defaultRamp returns the ramp of a load without --ramp.
func (s *Settings) defaultRamp() time.Duration {
	slots := s.MostInFlight()
	if s.Arrival != traffic.Closed || len(s.stages) > 0 || s.hasPhases() || slots <= rampedAbove {
		return 0
	}
	ramp := time.Duration(slots) * rampStep
	if s.duration > 0 {
		ramp = min(ramp, s.duration/rampShare)
	}
	return ramp
}

// resolveRamp sets the ramp, and refuses one if no slots start together. It needs the scenario.
func (s *Settings) resolveRamp() error {
	if s.rampGiven == nil {
		s.ramp = s.defaultRamp()
		return nil
	}
	s.ramp = *s.rampGiven
	switch {
	case s.ramp == 0:
		return nil
	case s.Arrival != traffic.Closed:
		return fmt.Errorf("--ramp: --arrival %s starts requests by the clock; a ramp is of a closed loop", s.Arrival)
	case len(s.stages) > 0:
		return errors.New("--ramp: the stages of a closed loop have the number of slots; begin them with fewer")
	case s.hasPhases():
		return fmt.Errorf("--ramp: the phases of --scenario %s have their own number of requests in flight", s.Scenario.Name)
	case s.duration > 0 && s.ramp >= s.duration:
		return fmt.Errorf("--ramp: %s is not shorter than --duration %s", s.ramp, s.duration)
	}
	return nil
}

func (s *Settings) checkRate() error {
	switch {
	case s.Arrival == traffic.Closed && s.rate != 0:
		return errors.New("--rate: a closed loop has no rate; add --arrival constant, poisson or gamma")
	case s.Arrival == traffic.Recorded && s.rate != 0:
		return errors.New("--rate: a trace has the rate that it was recorded with")
	case s.Arrival != traffic.Closed && s.Arrival != traffic.Recorded && s.rate == 0 && len(s.stages) == 0:
		return fmt.Errorf("--rate: --arrival %s needs one, such as --rate 2, or --stages", s.Arrival)
	}
	return nil
}

// readTrace reads the trace and refuses the flags that would set the lengths a second time.
func (s *Settings) readTrace() error {
	if s.Arrival != traffic.Recorded {
		switch {
		case s.TracePath != "":
			return errors.New("--trace: add --arrival trace")
		case s.traceUnits.Time != "":
			return errors.New("--trace-unit: add --arrival trace --trace FILE")
		case s.traceUnits.BlockTokens != 0:
			return errors.New("--trace-block-tokens: add --arrival trace --trace FILE")
		}
		return nil
	}
	for _, other := range []struct {
		flag  string
		given bool
	}{{"--prompts", s.promptsGiven}, {"--input-tokens", s.inputTokens != nil}, {"--output-tokens", s.outputGiven}, {"--shared-prefix-tokens", s.sharedTokens != 0}} {
		if other.given {
			return fmt.Errorf("%s: a trace has it", other.flag)
		}
	}
	if s.TracePath == "" {
		return errors.New("--trace: --arrival trace needs a file")
	}
	file, err := os.Open(s.TracePath)
	if err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	defer file.Close()
	s.trace, err = traffic.ReadTrace(file, s.traceUnits)
	flag := "--trace"
	switch {
	case err == nil:
		return nil
	case errors.Is(err, traffic.ErrTimeUnit):
		flag = "--trace-unit"
	case errors.Is(err, traffic.ErrBlockTokens):
		flag = "--trace-block-tokens"
	}
	return fmt.Errorf("%s: %s: %w", flag, s.TracePath, err)
}

func (s *Settings) process() traffic.ArrivalProcess {
	return traffic.ArrivalProcess{Arrival: s.Arrival, RatePerSecond: s.rate, Burstiness: s.burstiness, Stages: s.stages, Ramp: s.ramp, Trace: s.trace}
}

// phases returns the phases of the run in order: the warm-up, then the scenario's own phases or, without any, one
// measured phase.
func (s *Settings) phases(own []Phase) []Phase {
	if len(own) > 0 {
		if s.warmup == (traffic.Limit{}) {
			return own
		}
		process := traffic.ArrivalProcess{Arrival: traffic.Closed}
		return append([]Phase{{Name: rundir.PhaseWarmup, Process: process, Limit: s.warmup, Slots: max(own[0].Slots, 1)}}, own...)
	}
	measure := Phase{Name: rundir.PhaseMeasure, Process: s.process(), Limit: traffic.Limit{Requests: s.requests, Duration: s.duration}}
	if len(s.stages) > 0 {
		measure.Limit.Duration = traffic.TotalTime(s.stages)
	}
	if s.warmup == (traffic.Limit{}) {
		return []Phase{measure}
	}
	warmup := s.warmupProcess()
	warmup.Name, warmup.Limit = rundir.PhaseWarmup, s.warmup
	return []Phase{warmup, measure}
}

// warmupProcess returns the measured process at its first level. A trace has no such process: its warm-up runs slot by
// slot.
func (s *Settings) warmupProcess() Phase {
	p := Phase{Process: s.process()}
	if s.trace != nil {
		return Phase{Process: traffic.ArrivalProcess{Arrival: traffic.Closed}, Slots: max(s.Concurrency, 1)}
	}
	for _, stage := range s.stages {
		if stage.Level == 0 {
			continue
		}
		p.Process.Stages = nil
		if s.Arrival == traffic.Closed {
			p.Slots = int(stage.Level)
		} else {
			p.Process.RatePerSecond = stage.Level
		}
		break
	}
	return p
}
