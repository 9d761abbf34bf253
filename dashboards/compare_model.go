package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// notLive marks the model of runs of a simulated engine, or of a machine that was not live.
const notLive = " (not live)"

// modelsOf lends the runs of an arm their model; of those that are not live its name says so.
func modelsOf(arm string) expr.Expr {
	byModel := expr.By(metric.LabelRun, metric.LabelModel)
	info := ofArm(expr.Select(metric.RunInfo, onHost()).Max(byModel), arm)
	elsewhere := expr.Select(metric.RunTelemetryMode, chosenRuns(), expr.IsNot(metric.LabelMode, metric.ModeLive)).
		Equals(expr.Number(1)).Max(expr.By(metric.LabelRun))
	unreal := ofHistory(metric.RunSimulated).Equals(expr.Number(1)).Or(elsewhere)
	return info.Unless(unreal, expr.On(metric.LabelRun)).
		Or(info.And(unreal, expr.On(metric.LabelRun)).Copied(metric.LabelModel, "(.*)", metric.LabelModel, "$1"+notLive))
}

// medianByModel is the median over the valid runs of an arm, by model.
func medianByModel(d metric.Definer, arm string) expr.Expr {
	valid := ofHistory(metric.RunValid).Equals(expr.Number(1))
	return ofHistory(d).And(valid, expr.On(metric.LabelRun)).
		Times(modelsOf(arm), expr.On(metric.LabelRun).GroupLeft(metric.LabelModel)).
		Quantile(0.5, expr.By(metric.LabelModel))
}

// wordOfEngines is the mean of what engines said of themselves in the runs of an arm, by model.
func wordOfEngines(metrics string, arm expr.Matcher) expr.Expr {
	return ofPair(metric.ComparisonMean, expr.Matches(metric.LabelMetric, metrics), arm).Max(expr.By(metric.LabelModel)).In(metric.Bytes)
}

// sideBySide are four figures for bars: memory occupied without KV cache and the KV cache, of either arm.
func sideBySide(memoryA, memoryB, cacheA, cacheB expr.Expr) []figure {
	of := func(title string, e expr.Expr, color string) figure {
		return figure{title: title, expr: e, look: []dashboard.DynamicConfigValue{colored(color)}}
	}
	return []figure{
		of("occupied without KV cache, baseline arm", memoryA, colorOfA), of("occupied without KV cache, candidate arm", memoryB, colorOfB),
		of("KV cache, baseline arm", cacheA, paleColorOfA), of("KV cache, candidate arm", cacheB, paleColorOfB),
	}
}

func memoryByModel() panel {
	memory := func(arm string) expr.Expr { return medianByModel(metric.RunMemoryOccupiedWithoutKVBytes, arm) }
	cache := func(arm string) expr.Expr { return medianByModel(metric.RunKVCapacityBytes, arm) }
	return servedBars(board{
		title:   "Memory and KV cache by model, measured",
		means:   "Medians over the valid runs of this host, by model and arm: memory occupied without KV cache when the engine was ready, and the KV cache. Models whose runs were not of a live machine and a real engine say so.",
		wrong:   "the arms differ, and nothing above says what the memory went to. The two figures of an arm add up to about the same in both: what one takes the other lacks.",
		noData:  "no valid run of this host is of an arm of the comparison, or no telemetry was kept",
		keys:    []key{{label: metric.LabelModel, title: "Model"}},
		figures: sideBySide(memory("$baseline"), memory("$candidate"), cache("$baseline"), cache("$candidate")),
	})
}

func wordByModel() panel {
	const before, cache = "engine_reported_(memory_occupied_without_kv|peak)_bytes", "engine_reported_kv(_capacity)?_bytes"
	return servedBars(board{
		title:   "Memory and KV cache by model, as engines report it",
		means:   "The same by the engines' own word, which nobody measured: what they say that they held before their KV cache, and the cache. Means over the runs of the comparison; of a model in several scenarios the largest.",
		wrong:   "it is taken for memory occupied when ready: once the KV cache is there both arms occupy about the same.",
		noData:  "the engines said nothing, or " + noComparison,
		keys:    []key{{label: metric.LabelModel, title: "Model"}},
		figures: sideBySide(wordOfEngines(before, ofBaseline()), wordOfEngines(before, ofCandidate()), wordOfEngines(cache, ofBaseline()), wordOfEngines(cache, ofCandidate())),
	})
}
