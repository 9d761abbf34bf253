package summary

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/runfile"
)

// grounds are the inputs of the validity rules.
type grounds struct {
	in    inputs
	total *aggregate
	// phases are all phases that have records, including those that are not measured.
	phases phaseAggregates
	// machines are the measured machines, by their telemetry; empty without any. A fault on one makes the whole run
	// invalid: the other machines of an engine wait for it.
	machines []*reading
	// cache has the hits of a prefix cache; nil where they were not counted.
	cache *PrefixCache
	// doubts are how far latencies may be off because of the client.
	doubts []timingDoubt
}

// each evaluates every measured machine. A rule counts as checked if it could be checked on each machine that it
// applies to.
func (e grounds) each(applies func(*reading) bool, look func(*reading) verdict) verdict {
	var bad []string
	known, asked := true, false
	for _, r := range e.machines {
		if !applies(r) {
			continue
		}
		v := look(r)
		asked, known = true, known && v.known
		if v.bad != "" && len(e.machines) > 1 {
			v.bad = r.Origin.Source + ": " + v.bad
		}
		if v.bad != "" {
			bad = append(bad, v.bad)
		}
	}
	return verdict{asked && (known || len(bad) > 0), strings.Join(bad, "; ")}
}

func always(*reading) bool { return true }

// judgeErrorRate counts every request that did not end ok, including those that were cancelled when the grace period
// after the run ended: leaving them out would leave out the slowest.
func judgeErrorRate(e grounds, limit float64) verdict {
	if e.in.Tool != nil {
		return verdict{}
	}
	ratio := FailedRatio(e.total.requests)
	if ratio == nil {
		return verdict{true, "no request was measured"}
	}
	if *ratio > limit {
		bad := fmt.Sprintf("%d of %d requests did not end ok (%s): %s", e.total.failed(), e.total.total(), format.Ratio(*ratio), e.total.errors)
		if e.in.several() {
			bad += "; by server: " + e.phases.failures(e.in)
		}
		return verdict{true, bad}
	}
	return verdict{known: true}
}

// judgePhaseFailed covers all phases: a warm-up or a baseline whose requests all failed leaves no basis for a
// comparison. Requests that were cancelled when the run was stopped are not failures of the server.
func judgePhaseFailed(e grounds, _ float64) verdict {
	if e.in.Tool != nil {
		return verdict{}
	}
	var bad []string
	for _, name := range e.phases.names {
		a := e.phases.of[name]
		if a.requests[openai.StatusOK] == 0 && a.failed() > a.requests[openai.StatusCancelled] {
			bad = append(bad, fmt.Sprintf("none of %d requests of %s ended ok: %s", a.total(), name, a.errors))
		}
	}
	return verdict{true, strings.Join(bad, "; ")}
}

// judgeNoOutput finds answers that ended ok and are empty: their only latency is that of their end, and requests per
// second would count them.
func judgeNoOutput(e grounds, limit float64) verdict {
	if e.in.Tool != nil {
		return verdict{}
	}
	ok := e.total.requests[openai.StatusOK]
	if ok == 0 || float64(e.total.empty) <= limit*float64(ok) {
		return verdict{known: true}
	}
	return verdict{true, fmt.Sprintf("%d of %d answers have no output: no text, reasoning, tool call or audio", e.total.empty, ok)}
}

func judgeTelemetryLost(e grounds, limit float64) verdict {
	if !e.in.TelemetryRequested {
		return verdict{}
	}
	sources := telemetryStats(e.in)
	if len(sources) == 0 {
		return verdict{true, "nothing was recorded"}
	}
	var bad []string
	looked := false
	for _, s := range sources {
		if s.Foreign && s.SamplesGot == 0 {
			continue // the rule of a manager that is switched off; it is warned about
		}
		looked = true
		lost := s.SamplesWanted - s.SamplesGot
		if s.SamplesWanted == 0 || float64(lost) > limit*float64(s.SamplesWanted) {
			bad = append(bad, fmt.Sprintf("%s: %d of %d samples missing", s.Name, lost, s.SamplesWanted))
		}
		if len(s.MissingBorders) > 0 {
			bad = append(bad, fmt.Sprintf("%s: no sample at the start of %s", s.Name, strings.Join(s.MissingBorders, ", ")))
		}
	}
	return verdict{looked, strings.Join(bad, "; ")}
}

// telemetryStats returns the counts of the sampler or, when only its file is left, the counts in the file.
func telemetryStats(in inputs) []runfile.SourceSamplingStats {
	if in.TelemetryStats != nil {
		return in.TelemetryStats.Sources
	}
	if in.Telemetry == nil {
		return nil
	}
	var sources []runfile.SourceSamplingStats
	for _, s := range in.Telemetry.Sources {
		stats := runfile.SourceSamplingStats{Name: s.Name, Foreign: s.Foreign, SamplesGot: len(s.Samples), SamplesWanted: len(s.Samples)}
		for _, gap := range s.Gaps {
			stats.SamplesWanted += gap.Samples
		}
		stats.MissingBorders = in.Telemetry.MissingBorders(s)
		sources = append(sources, stats)
	}
	return sources
}

func judgeThermalThrottle(e grounds, limit float64) verdict {
	return e.each(always, func(r *reading) verdict {
		if r.throttle == nil {
			return verdict{}
		}
		for _, reason := range throttleReasons() {
			spent, known := r.throttle[reason]
			if share := spent / r.windowSeconds; known && share > limit {
				return verdict{true, fmt.Sprintf("%s for %s, %s of the measured time", reason, format.Seconds(spent), format.Ratio(share))}
			}
		}
		return verdict{known: r.whole}
	})
}

// faultSamples is the number of samples that must show a power-delivery fault.
const faultSamples = 3

func judgePowerDeliveryFault(e grounds, limit float64) verdict {
	return e.each(func(r *reading) bool { return r.gb10 }, func(r *reading) verdict {
		faults, of := r.powerFaults, r.powerSamples
		if faults < faultSamples || float64(faults) <= limit*float64(of) {
			return verdict{known: of > 0}
		}
		return verdict{true, fmt.Sprintf("busy below 1.4 GHz and 20 W in %d of %d samples: unplug the power supply for a minute and run again", faults, of)}
	})
}

func judgeSwapIn(e grounds, limit float64) verdict {
	return e.each(always, func(r *reading) verdict {
		switch {
		case r.swappedIn == nil:
			return verdict{}
		case *r.swappedIn > limit:
			return verdict{true, fmt.Sprintf("%s were read back from swap", format.Bytes(*r.swappedIn))}
		}
		return verdict{known: r.whole}
	})
}

func judgeCounterReset(e grounds, _ float64) verdict {
	machines := e.each(always, func(r *reading) verdict {
		if r.countersRead == 0 {
			return verdict{}
		}
		return verdict{r.whole, strings.Join(r.countersReset, ", ")}
	})
	reset := resetSignals(e.in.signals())
	if machines.bad != "" {
		reset = slices.Insert(reset, 0, machines.bad)
	}
	return verdict{machines.known || len(reset) > 0, strings.Join(reset, ", ")}
}

func judgeStreamBuffered(e grounds, limit float64) verdict {
	if e.total.bufferable == 0 {
		return verdict{}
	}
	if ratio := float64(e.total.buffered) / float64(e.total.bufferable); ratio > limit {
		return verdict{true, fmt.Sprintf("%d of %d answers arrived in one read: something between client and engine buffers the stream", e.total.buffered, e.total.bufferable)}
	}
	return verdict{known: true}
}

// judgeForeignGPUProcess finds other processes that held GPU memory during the measured phases. Where one machine has
// several engines of the run, the processes of one cannot be told from foreign ones.
func judgeForeignGPUProcess(e grounds, limit float64) verdict {
	if e.in.several() && e.in.serverHosts() < len(e.in.Servers) {
		return verdict{}
	}
	return e.each(always, func(r *reading) verdict {
		var large []string
		for _, p := range r.foreign {
			if p.bytes > limit {
				large = append(large, p.String())
			}
		}
		return verdict{r.foreignKnown, strings.Join(large, ", ")}
	})
}
