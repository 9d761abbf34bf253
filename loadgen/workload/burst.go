package workload

import (
	"fmt"
	"time"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/traffic"
)

// bursts are the sizes of burst.
type bursts struct {
	count, requests int
	every           time.Duration
}

const phaseBurst = "burst"

// resolveBurst: requests in bursts, all of one burst at the same moment, as assistants in editors send them. Bursts
// follow the clock: a burst that finds the server busy with the previous one waits, and the wait is part of the result.
func resolveBurst(s *Settings) error {
	if err := resolveStandard(s); err != nil {
		return err
	}
	b := bursts{count: 4, requests: 16, every: 30 * time.Second}
	knobs := []knob{
		knobOf("bursts", &b.count, terminal.Between(1, mostSetRequests)),
		knobOf("requests", &b.requests, terminal.AtMost(traffic.MaxSlots)),
		knobOf("every", &b.every, terminal.DurationWithin(time.Millisecond, longestEvery)),
	}
	if s.Arrival != traffic.Closed || len(s.stages) > 0 || s.duration != 0 || s.requestsGiven {
		return fmt.Errorf("--arrival, --stages, --duration, --requests: --scenario burst has its own; --set says it (%s)", keysOf(knobs))
	}
	if err := s.applySizes(knobs); err != nil {
		return err
	}
	if b.count*b.requests > mostSetRequests {
		return fmt.Errorf("--set: %d bursts of %d requests are more than %d", b.count, b.requests, mostSetRequests)
	}
	if !s.concurrencyGiven {
		s.Concurrency = 0 // a cap would spread the burst
	}
	s.bursts, s.requests = b, b.count*b.requests
	return nil
}

func writeBurst(s *Settings, f Server) (Script, error) {
	made, err := writeStandard(s, f)
	if err != nil {
		return Script{}, err
	}
	made.phases = []Phase{{Name: phaseBurst, Process: s.bursts.process(), Limit: traffic.Limit{Requests: s.requests}}}
	made.Facts.Bursts = &rundir.Bursts{Bursts: s.bursts.count, Requests: s.bursts.requests, Every: s.bursts.every}
	return made, nil
}

// process returns a process with an arrival for every request; the arrivals of a burst have the same offset.
func (b bursts) process() traffic.ArrivalProcess {
	trace := &traffic.Trace{Format: phaseBurst, SHA256: hexSHA256(fmt.Appendf(nil, "%d x %d every %s", b.count, b.requests, b.every))}
	for i := range b.count * b.requests {
		trace.Rows = append(trace.Rows, traffic.TraceRow{Offset: time.Duration(i/b.requests) * b.every})
	}
	return traffic.ArrivalProcess{Arrival: traffic.Recorded, Trace: trace}
}
