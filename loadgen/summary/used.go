package summary

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Used is what the machines of an engine used in a part of a run. What was not sampled is nil.
type Used struct {
	// Origin is the source of the figures.
	Origin
	Seconds float64
	// Joules are those of all GPUs, as in Summary.EnergyOfAll; PerToken is true if they are those that produced the tokens
	// of the run.
	Joules   *float64
	PerToken bool
	// MemoryLeft is the least memory in bytes that a GPU could still have had, on the host of the run: the available
	// memory where that of GPUs comes from the pool, else the free memory of the fullest device.
	MemoryLeft *float64
}

// Machines are the machines that a run measured.
type Machines struct {
	host     *reading // nil without one
	together []*reading
}

// Machines reads the machines from the telemetry of the run.
func (r *Run) Machines(log *telemetry.Log) (Machines, error) {
	if log == nil || r.Manifest.Judging == nil {
		return Machines{}, nil
	}
	in, err := r.inputs(log)
	if err != nil {
		return Machines{}, err
	}
	all := readings(in)
	return Machines{ofMeasuredHost(all), measuredMachines(in, all)}, nil
}

// Used returns what the machines used in spans of the run; nil without a machine.
func (m Machines) Used(spans []rundir.Span) *Used {
	if m.host == nil || len(spans) == 0 {
		return nil
	}
	u := &Used{Origin: m.host.Origin, MemoryLeft: m.host.memoryLeft(spans), PerToken: len(m.together) > 0}
	for _, span := range spans {
		u.Seconds += seconds(span.EndNS - span.StartNS)
	}
	if len(m.together) < 2 {
		u.Joules = m.host.joules(spans)
		return u
	}
	if len(twice(m.together)) > 0 {
		return u
	}
	total := 0.
	for _, r := range m.together {
		joules := r.joules(spans)
		if joules == nil {
			return u
		}
		total += *joules
	}
	u.Joules = &total
	return u
}

// memoryLeft returns the least memory that a GPU could still have had in the spans; nil where it is unknown.
func (r *reading) memoryLeft(spans []rundir.Span) *float64 {
	var left *float64
	for _, ns := range r.source.Samples {
		for _, span := range spans {
			if ns < span.StartNS || ns > span.EndNS {
				continue
			}
			if _, pooled := r.total(metric.MemoryCUDAFreeBytes, ns); pooled {
				if available, ok := r.total(metric.MemoryAvailableBytes, ns); ok {
					keepIf(&left, available, -1)
				}
				continue
			}
			for _, device := range r.source.Find(metric.GPUMemoryFreeBytes) {
				if free, ok := device.At(ns); ok {
					keepIf(&left, free, -1)
				}
			}
		}
	}
	return left
}
