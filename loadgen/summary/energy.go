package summary

import (
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// energy returns the energy of all GPUs while the measured phases carried load. Some phases sample the machine for a
// moment before and after their load: the energy of these pauses served no request. It is nil if a part of it is
// unknown.
func (r *reading) energy() *Energy {
	for _, series := range r.source.Find(metric.GPUEnergyJoulesTotal) {
		if _, ok := r.increase(series); !ok {
			return nil
		}
	}
	joules := r.joules(r.in.measured())
	if joules == nil || !r.whole {
		return nil
	}
	return &Energy{Origin: r.Origin, Joules: *joules}
}

// joules returns the energy of all GPUs in spans of the run; nil if a part of it is unknown.
func (r *reading) joules(spans []rundir.Span) *float64 {
	gpus := r.source.Find(metric.GPUEnergyJoulesTotal)
	if len(gpus) == 0 || r.still() {
		return nil
	}
	total := 0.
	for _, series := range gpus {
		for _, span := range spans {
			grown, ok := grownIn(series, r.source.Samples, span)
			if !ok {
				return nil
			}
			total += grown
		}
	}
	return &total
}

// grownIn returns the growth of a counter in a span. Where one of two samples is within the span and the other outside,
// the span gets its share of the growth between them by time: a run takes a sample where a load begins and ends, so
// that this is the work of milliseconds; older runs only have the samples of their interval. It is not ok if the
// samples do not enclose the span, or if a sample next to one of its ends failed.
func grownIn(series *telemetry.Series, samples []int64, span rundir.Span) (grown float64, ok bool) {
	first, exact := slices.BinarySearch(samples, span.StartNS)
	if !exact {
		first-- // the last sample before the span
	}
	last, _ := slices.BinarySearch(samples, span.EndNS)
	if first < 0 || last == len(samples) {
		return 0, false
	}
	all, _, ok := series.Increase(telemetry.Window{FromNS: samples[first], ToNS: samples[last]})
	if !ok {
		return 0, false
	}
	before, known := shareOf(series, samples, first, span.StartNS-samples[first])
	after, alsoKnown := shareOf(series, samples, last-1, samples[last]-span.EndNS)
	return all - before - after, known && alsoKnown
}

// shareOf returns the growth of a counter in a part of the time between sample i and the next, by time.
func shareOf(series *telemetry.Series, samples []int64, i int, partNS int64) (grown float64, ok bool) {
	if partNS == 0 {
		return 0, true
	}
	from, to := samples[i], samples[i+1]
	if _, whole := series.At(to - 1); !whole {
		return 0, false // a sample between them failed
	}
	all, _, ok := series.Increase(telemetry.Window{FromNS: from, ToNS: to})
	return all * float64(partNS) / float64(to-from), ok
}

// share divides the energy by the output tokens, if it is the energy that produced them: that of the measured host,
// live. The energy of any other source has no relation to these tokens.
func (e *Energy) share(outputTokens int64) {
	if e == nil || outputTokens <= 0 {
		return
	}
	perToken := e.Joules / float64(outputTokens)
	e.JoulesPerOutputToken = &perToken
}
