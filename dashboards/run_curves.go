package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// inRun is a figure of the host while the chosen run lasts.
func inRun(e expr.Expr) expr.Expr { return e.DuringRuns(isRun()) }

// hottest is the temperature of the hottest GPU of the host, drawn the power of all of them, and slowest the clock of
// the slowest.
func hottest() expr.Expr { return one(metric.GPUTemperatureCelsius) }
func drawn() expr.Expr   { return each(metric.GPUPowerWatts).Sum(byHost()) }
func slowest() expr.Expr { return expr.Select(metric.GPUSMClockHertz, onHost()).Min(byHost()) }

func runPhases() panel {
	phase := holds(metric.RunPhase, metric.LabelPhase)
	return states(subject{
		title:   "Phase",
		means:   "What the run was doing. Start and load are of the engine, which only a campaign or a command of the run sees.",
		wrong:   "a phase takes far longer than in other runs of the same cell.",
		noData:  noCurves,
		queries: []query{{"{{phase}}", phase}},
	}, shaded(shade{"1", "now", colorNeutral}))
}

func runLatencyCurve() panel {
	quantile := func(q float64, h metric.Histogram) expr.Expr {
		return latency(q, h, []metric.Label{metric.LabelPhase}, isRun())
	}
	return series(subject{
		title:  "Latency while it ran",
		means:  "Quantiles of the client's own histograms within each step, by phase. A request counts when it ends, so the curves lag by one; the table above is exact.",
		wrong:  "latency climbs all the time: the server falls behind, and the longer the run, the worse its figures.",
		noData: noLiveLoad,
		queries: []query{
			{"first token p50, {{phase}}", quantile(0.5, metric.LoadTimeToFirstTokenSeconds)},
			{"first token p99, {{phase}}", quantile(0.99, metric.LoadTimeToFirstTokenSeconds)},
			{"first token p99 from intended start, {{phase}}", quantile(0.99, metric.LoadScheduledTimeToFirstTokenSeconds)},
			{"per token p50, {{phase}}", quantile(0.5, metric.LoadTimePerOutputTokenSeconds)},
		},
	}).Min(0)
}

func runTokenCurve() panel {
	rate := func(direction string) expr.Expr {
		return expr.Rate(metric.LoadTokensTotal, expr.RateInterval, isRun(), expr.Is(metric.LabelDirection, direction)).Sum(expr.By(metric.LabelRun))
	}
	return series(subject{
		title:   "Tokens while it ran",
		means:   "Tokens per second of requests that ended ok, as the server counted them; the tokens of a request count when it ends.",
		wrong:   "output falls while requests wait: heat, memory or preemptions slow the server down.",
		noData:  noLiveLoad,
		queries: []query{{"output", rate(metric.DirectionOutput)}, {"input", rate(metric.DirectionInput)}},
	}).Min(0)
}

func runLedgerCurve() panel {
	lines := ledgerFigures(func(line string) expr.Expr { return inRun(ledgerLineNow(line)) })
	return painted(areas(subject{
		title:   "Ledger of the pool while it ran",
		means:   "The pool while the run lasted, split into lines that add up to it, in the colours of the page *Unified memory*. Only an engine that starts within the run shows how it takes its memory.",
		wrong:   "*page cache* is high when *GPU-held* begins to grow, or *unattributed* grows with the run.",
		noData:  noCurves,
		queries: queriesOf(lines),
	}), lines)
}

func runTemperatureCurve() panel {
	return series(subject{
		title:   "Temperature while it ran",
		means:   "The hottest GPU of the host (" + called(metric.GPUTemperatureCelsius) + ").",
		wrong:   "it still climbs when the run ends: a longer run would have been slower.",
		noData:  noCurves,
		queries: []query{{"hottest GPU", inRun(hottest())}},
	})
}

func runPowerCurve() panel {
	return series(subject{
		title:   "Power while it ran",
		means:   "All GPUs of the host together (" + called(metric.GPUPowerWatts) + ").",
		wrong:   "it falls while the load stays the same: the clock is held down.",
		noData:  noCurves,
		queries: []query{{"GPUs", inRun(drawn())}},
	}).Min(0)
}

func runClockCurve() panel {
	return series(subject{
		title:   "Clock while it ran",
		means:   "SM clock of the slowest GPU of the host (" + called(metric.GPUSMClockHertz) + ").",
		wrong:   "it steps down under load; the page *Thermal and power* says for which reason.",
		noData:  noCurves,
		queries: []query{{"slowest GPU", inRun(slowest())}},
	}).Min(0)
}

func runKVCurve() panel {
	return series(subject{
		title:   "KV cache in use while it ran",
		means:   "Share of the engine's KV cache on the GPU that is in use, by its own metrics; of several engines the fullest.",
		wrong:   "it stays at the top: the engine preempts or makes requests wait.",
		noData:  "no engine of this host that shows it, or " + noCurves,
		queries: []query{{"in use", inRun(one(metric.EngineKVUsedRatio))}},
	}).Min(0).Max(1)
}

func runDriveCurve() panel {
	moved := func(c metric.Counter) expr.Expr {
		return inRun(eachPerSecond(c).Sum(byHost()))
	}
	return series(subject{
		title:  "NVMe drives while it ran",
		means:  "Bytes read from and written to all NVMe drives of the host, by whatever process.",
		wrong:  "a run that is to read its KV cache from the SSD reads nothing, or one that is not does.",
		noData: "no NVMe drive, or " + noCurves,
		queries: []query{
			{"read", moved(metric.NVMeReadBytesTotal)},
			{"written", moved(metric.NVMeWrittenBytesTotal)},
		},
	}).Min(0)
}
