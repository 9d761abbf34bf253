package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
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
	for _, c := range curves {
		s.queries = append(s.queries, query{"A: " + c.name, c.of(isRunA()).OffsetBy("shift")}, query{"B: " + c.name, c.of(isRunB())})
	}
	built := series(s).FillOpacity(0)
	for _, c := range curves {
		built = built.
			OverrideByName("A: "+c.name, append(dashed(), colored(c.color))).
			OverrideByName("B: "+c.name, []dashboard.DynamicConfigValue{colored(c.color)})
	}
	return built
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

// colorOfLine is the colour that a line of the ledger has on every page.
func colorOfLine(line string) string {
	for _, l := range ledgerLines() {
		if l.line == line {
			return l.color
		}
	}
	return colorUnknown
}

// memoryOfTwo is the pool while one of the two runs lasted. Both panels have one height, as both runs are of the chosen host.
func memoryOfTwo(title string, of []figure) panel {
	s := subject{
		title:  title,
		means:  "The pool while the run lasted, in parts that add up to it, with the same time and the same scale for both runs. Run B is as it was stored; run A is moved to begin with it. Two runs are no verdict.",
		wrong:  "*cache* is higher in one run when *held for the GPU* begins to grow: that run had less free memory to size its KV cache from.",
		noData: "the run is not chosen, or " + noCurves,
	}
	for _, f := range of {
		s.queries = append(s.queries, query{f.title, f.expr})
	}
	built := areas(s)
	for _, f := range of {
		built = built.OverrideByName(f.title, f.look)
	}
	return built
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
	var parts []figure
	for _, p := range poolParts() {
		bytes := each(metric.MemoryLedgerBytes, expr.OneOf(metric.LabelLine, p.lines...)).Sum(byHost())
		parts = append(parts, figure{title: p.title, expr: bytes.DuringRuns(run), look: []dashboard.DynamicConfigValue{colored(p.color)}})
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
