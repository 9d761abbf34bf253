package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// memoryNow is the pool as one bar. It is on every page about memory.
func memoryNow() panel {
	return bars(board{
		title: "Memory now",
		means: "The pool at this moment, in parts that add up to it. What is *GPU-held* is charged to no container: no limit and no `docker stats` shows it. *Free* is what CUDA reports as free where the GPU takes from the pool; *page cache and reclaimable* is mostly page cache, which the kernel gives up when asked and CUDA does not report. `uma-exporter explain` shows what can be allocated, what `fit` grants, and which engines size their KV cache by *free*. " +
			"A GPU with memory of its own has a bar of its own.",
		wrong:   "*GPU-held* is not what it was before a server was started, once that has stopped; *page cache and reclaimable* is large when a server starts that sizes its KV cache by what CUDA reports as free: it will be smaller by as much; or *unattributed* is more than a few percent, or negative.",
		noData:  noExporter,
		keys:    []key{{label: metric.LabelName, title: "Memory"}},
		figures: memoriesNow(),
	}).
		Stacking(common.StackingModeNormal).
		Orientation(common.VizOrientationHorizontal).
		ShowValue(common.VisibilityModeAuto).
		Legend(legend(common.LegendPlacementRight).Calcs([]string{"lastNotNull"})) // the pool is the last bar
}

// memoriesNow are the parts of the pool, and of GPU memory outside of the pool, by name: pool, GPU 0, GPU 1.
func memoriesNow() []figure {
	inPool := ledgerLineNow(ledger.GPUProcess)
	ofGPUs := func(e expr.Expr) expr.Expr {
		own := numbered(e.Unless(inPool, expr.On(metric.LabelHost)))
		return own.Copied(metric.LabelGPU, "(.*)", metric.LabelName, "GPU $1").Max(expr.By(metric.LabelName))
	}
	used := each(metric.GPUMemoryUsedBytes)
	own := map[string]expr.Expr{
		ledger.GPUProcess: used,
		ledger.Free:       each(metric.GPUMemoryTotalBytes).Minus(used, expr.On(metric.LabelHost, metric.LabelUUID)),
	}
	var figures []figure
	for _, p := range ledger.Bands() {
		part := each(metric.MemoryLedgerBytes, expr.OneOf(metric.LabelLine, p.Lines...)).Sum(byHost()).
			Labelled(metric.LabelName, "pool").Max(expr.By(metric.LabelName))
		for _, line := range p.Lines {
			if e, there := own[line]; there {
				part = part.Or(ofGPUs(e))
			}
		}
		figures = append(figures, figure{title: p.Title, expr: part, look: colored(p.Colour)})
	}
	return figures
}
