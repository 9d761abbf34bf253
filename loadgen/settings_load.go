package loadgen

import (
	"errors"
	"fmt"
	"os"

	"github.com/umascope/umascope/loadgen/schedule"
)

// resolveArrival makes sure of an arrival process and of what ends the phases.
func (s *settings) resolveArrival() error {
	for _, check := range []func() error{s.checkBurstiness, s.checkStages, s.readTrace, s.checkRate} {
		if err := check(); err != nil {
			return err
		}
	}
	s.concurrencyGiven = s.concurrency != 0
	if s.arrival == schedule.Closed && s.concurrency == 0 {
		s.concurrency = defaultConcurrency
	}
	if s.requests == 0 && s.duration == 0 && len(s.stages) == 0 && s.trace == nil {
		s.requests = defaultRequests
	}
	if err := s.process().Check(); err != nil {
		return fmt.Errorf("%s: %w", s.levelFlag(), err)
	}
	return nil
}

// levelFlag is the flag that says how much load there is.
func (s *settings) levelFlag() string {
	switch {
	case s.trace != nil:
		return "--trace"
	case len(s.stages) > 0:
		return "--stages"
	}
	return "--rate"
}

func (s *settings) checkBurstiness() error {
	if s.burstiness != 0 && s.arrival != schedule.Gamma {
		return errors.New("--burstiness: add --arrival gamma")
	}
	if s.arrival == schedule.Gamma && s.burstiness == 0 {
		s.burstiness = 1
	}
	return nil
}

func (s *settings) checkStages() error {
	switch {
	case len(s.stages) == 0:
		return nil
	case s.arrival == schedule.Recorded:
		return errors.New("--stages: a trace has the rate that it was recorded with")
	case s.rate != 0:
		return errors.New("--rate: the stages say the rate")
	case s.duration != 0:
		return errors.New("--duration: the stages say how long it takes")
	case s.arrival == schedule.Closed && s.concurrency != 0:
		return errors.New("--concurrency: the stages of a closed loop say how many requests are in flight")
	}
	return nil
}

func (s *settings) checkRate() error {
	switch {
	case s.arrival == schedule.Closed && s.rate != 0:
		return errors.New("--rate: a closed loop has no rate; add --arrival constant, poisson or gamma")
	case s.arrival == schedule.Recorded && s.rate != 0:
		return errors.New("--rate: a trace has the rate that it was recorded with")
	case s.arrival != schedule.Closed && s.arrival != schedule.Recorded && s.rate == 0 && len(s.stages) == 0:
		return fmt.Errorf("--rate: --arrival %s needs one, or --stages", s.arrival)
	}
	return nil
}

// readTrace reads the trace; what it says of lengths cannot be said again.
func (s *settings) readTrace() error {
	if s.arrival != schedule.Recorded {
		if s.tracePath != "" {
			return errors.New("--trace: add --arrival trace")
		}
		return nil
	}
	for _, other := range []struct {
		flag  string
		given bool
	}{{"--prompts", s.promptsGiven}, {"--input-tokens", s.inputTokens != nil}, {"--output-tokens", s.outputGiven}, {"--shared-prefix-tokens", s.sharedTokens != 0}} {
		if other.given {
			return fmt.Errorf("%s: a trace says it", other.flag)
		}
	}
	if s.tracePath == "" {
		return errors.New("--trace: --arrival trace needs a file")
	}
	file, err := os.Open(s.tracePath)
	if err != nil {
		return fmt.Errorf("--trace: %w", err)
	}
	defer file.Close()
	if s.trace, err = schedule.ReadTrace(file); err != nil {
		return fmt.Errorf("--trace: %s: %w", s.tracePath, err)
	}
	return nil
}

func (s *settings) process() schedule.Process {
	return schedule.Process{Arrival: s.arrival, RatePerSecond: s.rate, Burstiness: s.burstiness, Stages: s.stages, Trace: s.trace}
}

// phases lists what the run does, in order: the warm-up, then the scenario's own phases or, without
// any, one that is measured.
func (s *settings) phases(own []phase) []phase {
	if len(own) > 0 {
		if s.warmup == (schedule.Limit{}) {
			return own
		}
		process := schedule.Process{Arrival: schedule.Closed}
		return append([]phase{{name: phaseWarmup, process: process, limit: s.warmup, slots: max(own[0].slots, 1)}}, own...)
	}
	measure := phase{name: phaseMeasure, process: s.process(), limit: schedule.Limit{Requests: s.requests, Duration: s.duration}}
	if len(s.stages) > 0 {
		measure.limit.Duration = schedule.TotalTime(s.stages)
	}
	if s.warmup == (schedule.Limit{}) {
		return []phase{measure}
	}
	warmup := s.warmupProcess()
	warmup.name, warmup.limit = phaseWarmup, s.warmup
	return []phase{warmup, measure}
}

// warmupProcess is the measured process at the level that it begins with. A trace has none: its
// warm-up goes slot by slot.
func (s *settings) warmupProcess() phase {
	p := phase{process: s.process()}
	if s.trace != nil {
		return phase{process: schedule.Process{Arrival: schedule.Closed}, slots: max(s.concurrency, 1)}
	}
	for _, stage := range s.stages {
		if stage.Level == 0 {
			continue
		}
		p.process.Stages = nil
		if s.arrival == schedule.Closed {
			p.slots = int(stage.Level)
		} else {
			p.process.RatePerSecond = stage.Level
		}
		break
	}
	return p
}
