package loadgen

import (
	"fmt"
	"time"

	"github.com/umascope/umascope/loadgen/schedule"
)

// bursts are the sizes of burst.
type bursts struct {
	count, requests int
	every           time.Duration
}

const phaseBurst = "burst"

// burst sends requests in bursts, all of one at the same moment, as assistants in editors do. Bursts come
// by the clock: one that finds the server still busy with the one before waits, and that is a result.
func burst() scenario {
	return scenario{
		name: scenarioBurst, help: "bursts of requests at the same moment, by the clock",
		resolve: resolveBurst, write: writeBurst,
	}
}

func resolveBurst(s *settings) error {
	if err := resolveStandard(s); err != nil {
		return err
	}
	b := bursts{count: 4, requests: 16, every: 30 * time.Second}
	knobs := []knob{
		knobOf("bursts", &b.count, countUpTo(1, mostSetRequests)),
		knobOf("requests", &b.requests, atMost(schedule.MaxSlots)),
		knobOf("every", &b.every, durationWithin(time.Millisecond, longestEvery)),
	}
	if s.arrival != schedule.Closed || len(s.stages) > 0 || s.duration != 0 || s.requestsGiven {
		return fmt.Errorf("--arrival, --stages, --duration, --requests: --scenario burst has its own; --set says it (%s)", keysOf(knobs))
	}
	if err := s.applySizes(knobs); err != nil {
		return err
	}
	if b.count*b.requests > mostSetRequests {
		return fmt.Errorf("--set: %d bursts of %d requests are more than %d", b.count, b.requests, mostSetRequests)
	}
	if !s.concurrencyGiven {
		s.concurrency = 0 // a cap would spread the burst
	}
	s.bursts, s.requests = b, b.count*b.requests
	return nil
}

func writeBurst(s *settings, f served) (script, error) {
	made, err := writeStandard(s, f)
	if err != nil {
		return script{}, err
	}
	made.phases = []phase{{name: phaseBurst, process: s.bursts.process(), limit: schedule.Limit{Requests: s.requests}}}
	made.facts.Bursts = &burstFacts{s.bursts.count, s.bursts.requests, s.bursts.every}
	return made, nil
}

// burstFacts are what the workload's hash and the manifest say of bursts.
type burstFacts struct {
	Bursts   int           `json:"bursts"`
	Requests int           `json:"requests"`
	Every    time.Duration `json:"every_ns"`
}

// process has an arrival for every request, those of a burst at the same offset.
func (b bursts) process() schedule.Process {
	trace := &schedule.Trace{Format: phaseBurst, SHA256: hexSHA256(fmt.Appendf(nil, "%d x %d every %s", b.count, b.requests, b.every))}
	for i := range b.count * b.requests {
		trace.Rows = append(trace.Rows, schedule.Row{Offset: time.Duration(i/b.requests) * b.every})
	}
	return schedule.Process{Arrival: schedule.Recorded, Trace: trace}
}
