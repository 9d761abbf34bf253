package summary

import (
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// energy is that of all GPUs while the measured phases carried load. The machine is watched for a moment before and after the
// load of some phases: what it draws in these pauses went into no request. Nil where a part of it is not known.
func (r *reading) energy() *Energy {
	gpus := r.source.Find(metric.GPUEnergyJoulesTotal)
	e := Energy{Origin: r.Origin}
	for _, series := range gpus {
		if _, ok := r.increase(series); !ok {
			return nil
		}
		for _, load := range r.in.measured() {
			joules, ok := grownIn(series, r.source.Samples, load)
			if !ok {
				return nil
			}
			e.Joules += joules
		}
	}
	if len(gpus) == 0 || !r.whole {
		return nil
	}
	return &e
}

// grownIn is how much a counter grew in a span. Of what was counted between two samples, one within the span and one beside it,
// the span has its share by time: a run takes a sample where a load begins and ends, so that this is the work of milliseconds;
// older runs have the samples of their interval alone. Not ok: the samples do not enclose the span, or one beside its ends
// failed.
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

// shareOf is what a counter grew in a part of the time between the sample i and the next, by time.
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

// share puts the energy on the tokens that it went into. Only that of the measured host, as it
// was, did: any other energy over these tokens would be a figure of nothing.
func (e *Energy) share(outputTokens int64) {
	if e == nil || outputTokens <= 0 {
		return
	}
	perToken := e.Joules / float64(outputTokens)
	e.JoulesPerOutputToken = &perToken
}
