package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// moved describes how the curves of two runs are laid over each other.
const moved = " Run B is as it was stored; run A, dashed, is moved to begin with it. Two runs are no verdict."

// curve is a figure over time that both runs have.
type curve struct {
	name, color string
	of          func(run expr.Matcher) expr.Expr
}

// ofHost is a figure of the host while a run lasts on it.
func ofHost(e expr.Expr) func(expr.Matcher) expr.Expr {
	return func(run expr.Matcher) expr.Expr { return e.DuringRuns(run) }
}

// overlay draws the curves of run A over those of run B: the same figure in the same colour, A dashed. Every selector
// of A is moved, also that of the run itself, or the join would be empty.
func overlay(s subject, curves ...curve) *timeseries.PanelBuilder {
	s.means += moved
	s.noData = "one of the runs is not chosen, or " + noCurves
	var both []figure
	for _, c := range curves {
		both = append(both,
			figure{title: "A: " + c.name, expr: c.of(isRunA()).OffsetBy("shift"), look: looks(dashed(), colored(c.color))},
			figure{title: "B: " + c.name, expr: c.of(isRunB()), look: colored(c.color)})
	}
	s.queries = queriesOf(both)
	return painted(series(s).FillOpacity(0), both)
}

func overLatency() panel {
	quantile := func(q float64, h metric.Histogram) func(expr.Matcher) expr.Expr {
		return func(run expr.Matcher) expr.Expr {
			return latency(q, h, []metric.Label{metric.LabelRun}, run)
		}
	}
	return overlay(subject{
		title: "Latency of the two runs",
		means: "Quantiles of the client's own histograms within each step, all phases together; a request counts when it ends.",
		wrong: "one run is slower from some moment on: look below for what the machine did then.",
	},
		curve{"first token p50", colorNeutral, quantile(0.5, metric.LoadTimeToFirstTokenSeconds)},
		curve{"first token p99", colorOther, quantile(0.99, metric.LoadTimeToFirstTokenSeconds)},
		curve{"per token p50", colorGood, quantile(0.5, metric.LoadTimePerOutputTokenSeconds)},
	).Min(0)
}

// memoryOfTwo is the pool while one of the two runs lasted. Both panels have one height, as both runs are of the chosen host.
func memoryOfTwo(title string, of []figure) panel {
	return painted(areas(subject{
		title:   title,
		means:   "The pool while the run lasted, in parts that add up to it, with the same time and the same scale for both runs. Run B is as it was stored; run A is moved to begin with it. Two runs are no verdict.",
		wrong:   "*page cache and reclaimable* is higher in one run when *GPU-held* begins to grow: that run had less free memory to size its KV cache from.",
		noData:  "the run is not chosen, or " + noCurves,
		queries: queriesOf(of),
	}), of)
}

func memoryOfA() panel { return memoryOfTwo("Memory of run A", poolOfA()) }
func memoryOfB() panel { return memoryOfTwo("Memory of run B", poolDuring(isRunB())) }

// poolOfA are the parts of the pool during run A, moved to begin with run B.
func poolOfA() []figure {
	parts := poolDuring(isRunA())
	for i := range parts {
		parts[i].expr = parts[i].expr.OffsetBy("shift")
	}
	return parts
}

// poolDuring are the parts of the pool while a run lasts.
func poolDuring(run expr.Matcher) []figure {
	parts := poolFigures()
	for i := range parts {
		parts[i].expr = parts[i].expr.DuringRuns(run)
	}
	return parts
}

func overTemperature() panel {
	return overlay(subject{
		title: "Temperature of the two runs",
		means: "The hottest GPU of the host.",
		wrong: "one run starts warmer: it had less room before the clock is held down.",
	}, curve{"hottest GPU", colorBad, ofHost(hottest())})
}

func overPower() panel {
	return overlay(subject{
		title: "Power of the two runs",
		means: "All GPUs of the host together.",
		wrong: "one run draws less under the same load: its clock was held down, or it waited.",
	}, curve{"GPUs", colorDoubt, ofHost(drawn())}).Min(0)
}

func overClock() panel {
	return overlay(subject{
		title: "Clock of the two runs",
		means: "SM clock of the slowest GPU of the host.",
		wrong: "one run has a lower clock: what differs may be that.",
	}, curve{"slowest GPU", colorNeutral, ofHost(slowest())}).Min(0)
}
