package dashboards

import (
	"slices"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/barchart"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// columns are figures of the chosen run, for a table, with the titles of the vocabulary.
func columns[D metric.Definer](of []D, value func(D) expr.Expr) []figure {
	var all []figure
	for _, d := range of {
		title := d.Def().Title
		all = append(all, figure{title: strings.ToUpper(title[:1]) + title[1:], expr: value(d)})
	}
	return all
}

func oneLine(of []metric.Gauge) []figure {
	return columns(of, func(g metric.Gauge) expr.Expr { return thisRun(g) })
}

// freeWhenReady is MemFree when the engine of the chosen run was ready.
func freeWhenReady() expr.Expr {
	return expr.Select(metric.RunLedgerBytes, isRun(), expr.Is(metric.LabelMoment, metric.MomentReady), expr.OneOf(metric.LabelLine, ledger.FreeNames()...)).
		Max(expr.By(metric.LabelRun, metric.LabelLine)).Sum(expr.By(metric.LabelRun))
}

// quantilesOf are the quantiles of a summary of the chosen run.
func quantilesOf(d metric.Summary) expr.Expr {
	return expr.Select(d, isRun()).Max(expr.By(metric.LabelQuantile))
}

func runLatency() panel {
	return servedList(board{
		title: "Latency",
		means: "Quantiles over the measured requests that ended ok, by two clocks: from *sending* the request, and from its *intended* start, which is what a user waits when the server is busy. " +
			"A quantile that too few requests support is absent. Time per token is one value a request, from its first to its last payload.",
		wrong:   "*intended* is far above *sent*: requests waited for a free slot, and the rate asked for was more than the server gives.",
		noData:  "no measured request ended ok, the load was not ours, or " + noSuchRun,
		keys:    []key{{label: metric.LabelQuantile, title: "Quantile"}},
		figures: columns(metric.RunLatencies(), quantilesOf),
		sortBy:  "Quantile",
	})
}

func runThroughput() panel {
	return servedList(board{
		title:   "Throughput",
		means:   "What requests that ended ok got, over the time that the measured load took; goodput is the share of all measured requests that met every objective of `--slo`, and the KV cache is the room that the engine made on the GPU.",
		wrong:   "requests per second are below the rate that was asked for: the server was the limit, and its latencies are those of a queue.",
		noData:  "the load was not ours, or " + notOfRun,
		keys:    []key{{label: metric.LabelRun, title: "Run"}},
		figures: oneLine(metric.RunThroughputs()),
	}).WithTransformation(unshown("Run"))
}

func runRequests() panel {
	ended := expr.Select(metric.RunRequests, isRun()).Max(expr.By(metric.LabelStatus))
	return servedList(board{
		title:   "Requests by how they ended",
		means:   "Measured requests by status. An answer of HTTP 200 with an error in its stream is *in_band*, one that broke off *truncated*; only those that are *ok* enter latencies.",
		wrong:   "many are not *ok*: the latencies are those of the requests that the server could serve.",
		noData:  "the load was not ours, or " + noSuchRun,
		keys:    []key{{label: metric.LabelStatus, title: "Status"}},
		figures: []figure{{title: "Requests", expr: ended}},
		sortBy:  "Requests", desc: true,
	})
}

func runHeat() panel {
	return servedList(board{
		title:   "Heat and energy",
		means:   "The hottest GPU at the start and at most, mean power and energy of all GPUs, while the run measured.",
		wrong:   "it started warmer than the runs it is held against, or came near the temperature at which the clock is held down.",
		noData:  "no telemetry of a GPU was kept with the run",
		keys:    []key{{label: metric.LabelRun, title: "Run"}},
		figures: oneLine(metric.RunHeat()),
	}).WithTransformation(unshown("Run"))
}

func runMemory() panel {
	return servedList(board{
		title: "Memory",
		means: "*Occupied without KV cache*, *KV cache* and *free* are of the moment at which the engine was ready and add up to the *pool*; *unavailable, peak* and *available, least* are of the moment of least available memory while the run measured and add up to it too. *Free at KV sizing* is what the engine sized its cache from. " +
			"*Engine's own word* is the most that it held before its KV cache, by its log; it is not measured.",
		wrong:  "*occupied without KV cache* is larger than in runs of the same model: compare the ledgers below before anything is blamed. An engine fills the share that it is given, so *unavailable, peak* hardly differs.",
		noData: "no telemetry was kept with the run, and its engine said nothing",
		keys:   []key{{label: metric.LabelRun, title: "Run"}},
		// Free memory comes from the ledger, and stands beside the lines that it makes the pool with.
		figures: slices.Insert(oneLine(metric.RunMemory()), 2, figure{title: "Free", expr: freeWhenReady()}),
	}).WithTransformation(unshown("Run"))
}

// fallingBy sorts lines by a column, in reverse alphabetical order: *start*, *ready* and *peak* are then in the order
// of time.
func fallingBy(title string) dashboard.DataTransformerConfig {
	return dashboard.DataTransformerConfig{Id: "sortBy", Options: map[string]any{"sort": []any{map[string]any{"field": title, "desc": true}}}}
}

// stacked are bars that each are the pool, split into the lines of the ledger in the colours that they have over time.
func stacked(b board, of func(line string) expr.Expr) *barchart.PanelBuilder {
	b.figures = ledgerFigures(of)
	return servedBars(b).
		Stacking(common.StackingModeNormal).
		Legend(legend(common.LegendPlacementRight))
}

// lineAtMoments is a line of the ledger of the chosen run, by moment.
func lineAtMoments(line string) expr.Expr {
	return expr.Select(metric.RunLedgerBytes, isRun(), expr.Is(metric.LabelLine, line)).Max(expr.By(metric.LabelMoment))
}

func runLedger() panel {
	return stacked(board{
		title:  "Ledger of the run",
		means:  "The pool, split into lines that add up to it, at three moments: *start*, before the engine (or the run, if the engine was there before); *ready*, when the engine answers; *peak*, the moment of least free memory while it measured.",
		wrong:  "*page cache* is large when the engine sizes its KV cache, which it does between *start* and *ready*: the cache comes out smaller for no other reason.",
		noData: "no ledger was kept with the run",
		keys:   []key{{label: metric.LabelMoment, title: "Moment"}},
	}, lineAtMoments).WithTransformation(fallingBy("Moment"))
}

func runLedgerLines() panel {
	at := func(moment string) expr.Expr {
		return expr.Select(metric.RunLedgerBytes, isRun(), expr.Is(metric.LabelMoment, moment)).Max(expr.By(metric.LabelLine))
	}
	return byLine(board{
		title:  "Ledger of the run, by line",
		means:  "The same in figures. Start less ready is what the engine took, and where from.",
		wrong:  "*unattributed* grew while the engine loaded, or *free* shrank by more than *gpu_process* grew.",
		noData: "no ledger was kept with the run",
		keys:   []key{{label: metric.LabelLine, title: "Line", look: width(lineWidth)}},
		figures: []figure{
			{title: "Start", expr: at(metric.MomentStart)},
			{title: "Ready", expr: at(metric.MomentReady)},
			{title: "Peak", expr: at(metric.MomentPeak)},
		},
	}, func(line string) expr.Expr {
		return expr.Select(metric.RunLedgerBytes, isRun(), expr.Is(metric.LabelLine, line)).Max(expr.By(metric.LabelLine))
	})
}

// gradeShades are the grades of evidence, in words and colours.
func gradeShades() []shade {
	return []shade{
		{"proven", "proven", colorGood}, {"consistent", "consistent, not proven", colorNeutral},
		{"contradicted", "contradicted", colorBad}, {"not_observable", "not observable", colorUnknown},
	}
}

func runGrades() panel {
	return servedList(board{
		title:  "Evidence",
		means:  "How well it is shown that KV blocks were written to the SSD and came back, that prompts were answered from a cache, and that such answers are those that were computed. *Proven* needs independent witnesses that agree; *consistent* fits, but a witness is missing. Of a simulated engine it proves the simulation alone.",
		wrong:  "a signal that the run is about is *contradicted* or *not observable*: its name then says what it was to show, and nothing shows that it did.",
		noData: noSuchRun,
		keys: []key{{label: metric.LabelSignal, title: "Signal"}, {label: metric.LabelGrade, title: "Grade", look: textCells(gradeShades()...)},
			{label: metric.LabelReason, title: "Why not better"}},
		figures: []figure{{title: "Said", expr: holds(metric.RunSignalGrade, metric.LabelSignal, metric.LabelGrade, metric.LabelReason)}},
		sortBy:  "Signal",
	}).WithTransformation(unshown("Said"))
}

func runScores() panel {
	return servedList(board{
		title:   "Against its cell",
		means:   "How far each metric of the run is from the median of the valid runs before it of the same host, arm, scenario, engine, model and work, in deviations of theirs. Absent with fewer than 5 such runs.",
		wrong:   "a metric is many deviations off: look what was different about this run before it is put among the others.",
		noData:  "fewer than 5 runs of its cell came before it",
		keys:    []key{{label: metric.LabelMetric, title: "Metric", look: width(metricWidth)}},
		figures: []figure{{title: "Deviations", expr: expr.Select(metric.RunZScore, isRun()).Max(expr.By(metric.LabelMetric))}},
		sortBy:  "Metric",
	})
}

func runThrottle() panel {
	return servedList(board{
		title:   "Clock held down",
		means:   "For how long each reason held the clock down while the run measured, of the GPU that it held longest. `sw_power_cap` is normal under load on GB10.",
		wrong:   "a thermal reason or a power brake is not 0: the run measured a machine that was slowed down.",
		noData:  "the driver gave no such times, or no telemetry was kept with the run",
		keys:    []key{{label: metric.LabelReason, title: "Reason", look: width(130)}},
		figures: []figure{{title: "Time", expr: expr.Select(metric.RunThrottleSeconds, isRun()).Max(expr.By(metric.LabelReason))}},
		sortBy:  "Time", desc: true,
	})
}
