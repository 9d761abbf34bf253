package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// poolFigures are the bands of the ledger in their colours.
func poolFigures() []figure {
	var figures []figure
	for _, band := range ledger.Bands() {
		bytes := each(metric.MemoryLedgerBytes, expr.OneOf(metric.LabelLine, band.Lines...)).Sum(byHost())
		figures = append(figures, figure{title: band.Title, expr: bytes, look: colored(band.Colour)})
	}
	return figures
}

func poolSplit() panel {
	t := metric.AlertThresholds()
	floor := func(f metric.Floor) expr.Expr { return expr.AtFloor(f, onHost()).InPool(onHost()) }
	parts := poolFigures()
	for i := range parts {
		parts[i].look = looks(parts[i].look, toPage(memoryPageName, "Unified memory"))
	}
	pool := areas(subject{
		title:  "Where the memory is",
		means:  "The pool in bands that add up to it, and as lines what is *available* to programs and, where the GPU takes from the pool, what a driver *can allocate* if page cache is given up (without CMA; not tried on a GB10), with the floors at which alerts fire (" + t.AvailableWarning.String() + "; " + t.AvailableCritical.String() + "). The page *Unified memory* has every line of the ledger.",
		wrong:  "*can be allocated* nears a floor, *page cache and reclaimable* is large when a server starts that sizes its KV cache by what CUDA reports as free, or *unattributed* grows while nothing starts.",
		noData: noExporter,
		queries: append(queriesOf(parts),
			query{"available", one(metric.MemoryAvailableBytes)},
			query{"can be allocated", one(metric.MemoryAllocatableBytes)},
			query{"warning floor", floor(t.AvailableWarning)},
			query{"critical floor", floor(t.AvailableCritical)}),
	}).
		Legend(legend(common.LegendPlacementRight)).
		OverrideByName("available", limit("text")).
		OverrideByName("can be allocated", limit("blue")).
		OverrideByName("warning floor", limit("orange")).
		OverrideByName("critical floor", limit("red"))
	return painted(pool, parts)
}

func shares() panel {
	return series(subject{
		title:  "Busy, clock and KV cache",
		means:  "Of each GPU the share of time in which a kernel ran and its clock over its highest, and dashed the share of the KV cache that requests hold, of each engine.",
		wrong:  "a GPU is busy at a low clock, or idle while the KV cache is full.",
		noData: noGPU,
		queries: []query{
			{"busy, GPU {{gpu}}", numbered(each(metric.GPUUtilizationRatio))},
			{"clock, GPU {{gpu}}", numbered(clockShare())},
			{"KV cache, {{source}}", expr.Select(metric.EngineKVUsedRatio, onHost()).Max(expr.By(metric.LabelSource))},
		},
	}).Min(0).Max(1).OverrideByRegexp("/^KV cache/", dashed())
}

func phases() panel {
	phase := expr.Select(metric.RunPhase, onHost()).Equals(expr.Number(1)).Max(by(metric.LabelPhase))
	return states(subject{
		title:   "Phases of runs",
		means:   "Which phase a run on this host was in at each moment: *start* of the engine, *load* of its model, *ready*, *warmup*, then what is measured.",
		wrong:   "a phase takes much longer than in other runs, or phases of two runs overlap.",
		noData:  "no run lasted on this host in this time",
		queries: []query{{"{{phase}}", phase}},
	}, shaded(shade{"1", "on", colorInfo}))
}
