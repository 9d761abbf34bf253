package summary

import (
	"errors"
	"fmt"
	"slices"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/stats"
)

// Growth reports whether memory that should not grow at equal load does: the sign of a leak.
type Growth struct {
	// Quantity is unattributed, the remainder of the ledger, or gpu_held, what processes hold of all GPUs together.
	Quantity string        `json:"quantity" pack:"word"`
	Verdict  GrowthVerdict `json:"verdict" pack:"word"`
	// Reason is the reason why the growth is not observable.
	Reason  string `json:"reason,omitempty" pack:"text"`
	Samples int    `json:"samples"`
	// BytesPerSecond is the slope by least squares over the measured phase; CI95 is its 95 % interval, for the number of
	// independent samples that the autocorrelation leaves.
	BytesPerSecond *float64    `json:"bytes_per_second,omitempty"`
	CI95           *[2]float64 `json:"ci95_bytes_per_second,omitempty"`
	// Least is the slope above which memory counts as growing: 0.1 % of the pool an hour.
	Least *float64 `json:"least_bytes_per_second,omitempty"`
}

// GrowthVerdict is one of the three below.
type GrowthVerdict string

// Memory grows if the whole interval lies above the least slope, and the slope of each half of the samples does too:
// memory that an engine takes once, at any moment, is not growth.
const (
	Grows               GrowthVerdict = "grows"
	DoesNotGrow         GrowthVerdict = "does_not_grow"
	GrowthNotObservable GrowthVerdict = "not_observable"
)

const (
	// leastGrowthSamples and leastGrowthSeconds are the minimum for a slope.
	leastGrowthSamples = 120
	leastGrowthSeconds = 120
	// leastGrowthOfPool, a share of the pool per second, is the slope above which memory counts as growing: on a GB10, 2
	// MiB a minute, 3 GiB a day.
	leastGrowthOfPool = 0.001 / 3600
)

// Names of Growth.Quantity.
const (
	growthUnattributed = ledger.Unattributed
	growthGPUHeld      = "gpu_held"
)

// equalLoad reports whether the level of load stays the same in a planned phase once its slots have started.
func equalLoad(p rundir.PlannedPhase) bool {
	return p.Name == rundir.PhaseMeasure && p.Process.Trace == nil && len(p.Process.Stages) == 0
}

// growth evaluates both quantities; one without a sample is absent.
func (r *reading) growth() []Growth {
	var all []Growth
	for _, of := range []struct {
		quantity string
		at       func(ns int64) (float64, bool)
	}{
		{growthUnattributed, func(ns int64) (float64, bool) { return r.ledgerLine(ledger.Unattributed, ns) }},
		{growthGPUHeld, func(ns int64) (float64, bool) { return r.total(metric.GPUMemoryHeldBytes, ns) }},
	} {
		var moments, values []float64
		r.over(func(ns int64) {
			if v, ok := of.at(ns); ok && ns >= r.windows[0].FromNS+r.in.RampNS {
				moments, values = append(moments, seconds(ns)), append(values, v)
			}
		})
		if len(values) == 0 {
			continue
		}
		g := Growth{Quantity: of.quantity, Samples: len(values), Verdict: GrowthNotObservable}
		pool := r.pool()
		switch {
		case r.still():
			g.Reason = "the telemetry is one picture, in which no time passes"
		case !r.in.EqualLoad || len(r.windows) != 1:
			g.Reason = "the load is not the same over the measured time, or not known"
		case pool == nil:
			g.Reason = "the pool is not known"
		default:
			g.judge(moments, values, leastGrowthOfPool**pool)
		}
		all = append(all, g)
	}
	return all
}

// judge sets the verdict for values at moments, in bytes and seconds.
func (g *Growth) judge(moments, values []float64, least float64) {
	if n, span := len(moments), moments[len(moments)-1]-moments[0]; n < leastGrowthSamples || span < leastGrowthSeconds {
		g.Reason = fmt.Sprintf("%d samples in %.0f s are too few: it takes %d in %d s", n, span, leastGrowthSamples, leastGrowthSeconds)
		return
	}
	g.Least = &least
	slope, err := slopeOf(moments, values)
	if err != nil {
		g.Reason = err.Error()
		return
	}
	g.BytesPerSecond, g.CI95 = &slope.Difference, &[2]float64{slope.Low, slope.High}
	if g.Verdict = DoesNotGrow; slope.Low <= least {
		return
	}
	half := len(moments) / 2
	for _, part := range [][2]int{{0, half}, {half, len(moments)}} {
		if slope, err := slopeOf(moments[part[0]:part[1]], values[part[0]:part[1]]); err != nil || slope.Difference <= least {
			return
		}
	}
	g.Verdict = Grows
}

type slopeWithInterval struct {
	stats.TTest
	stats.Interval
}

// slopeOf returns the slope of values; 0 for values that never change.
func slopeOf(moments, values []float64) (slopeWithInterval, error) {
	trend, err := stats.TrendInTime(moments, values)
	switch {
	case errors.Is(err, stats.ErrNoSpread) && slices.Min(values) == slices.Max(values):
		return slopeWithInterval{}, nil
	case err != nil:
		return slopeWithInterval{}, err
	}
	return slopeWithInterval{trend, trend.Interval(.95)}, nil
}

// Name returns the quantity for display.
func (g Growth) Name() string {
	if g.Quantity == growthGPUHeld {
		return "GPU-held"
	}
	return g.Quantity
}

// MiBPerMinute converts a slope for display.
func MiBPerMinute(bytesPerSecond float64) float64 { return bytesPerSecond * 60 / (1 << 20) }

// warning is empty unless the memory grows.
func (g Growth) warning() string {
	if g.Verdict != Grows {
		return ""
	}
	return fmt.Sprintf("%s memory grows at equal load by %.3g MiB/min (95 %% interval %.3g to %.3g)",
		g.Name(), MiBPerMinute(*g.BytesPerSecond), MiBPerMinute(g.CI95[0]), MiBPerMinute(g.CI95[1]))
}
