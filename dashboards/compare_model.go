package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// notLive marks the model of runs with a simulated engine, or on a machine that was not live.
const notLive = " (not live)"

// infoOf is the model of each run of an arm.
func infoOf(arm string) expr.Expr {
	return ofArm(expr.Select(metric.RunInfo, onHost()).Max(expr.By(metric.LabelRun, metric.LabelModel)), arm)
}

// modelsOf gives the runs of an arm the label of their model; the name of a model marks runs that are not live.
func modelsOf(arm string) expr.Expr {
	info := infoOf(arm)
	elsewhere := expr.Select(metric.RunTelemetryMode, chosenRuns(), expr.IsNot(metric.LabelMode, metric.ModeLive)).
		Equals(expr.Number(1)).Max(expr.By(metric.LabelRun))
	unreal := ofHistory(metric.RunSimulated).Equals(expr.Number(1)).Or(elsewhere)
	return info.Unless(unreal, expr.On(metric.LabelRun)).
		Or(info.And(unreal, expr.On(metric.LabelRun)).Copied(metric.LabelModel, "(.*)", metric.LabelModel, "$1"+notLive))
}

// ofBothArms adds the arm to the names of the bars of models.
func ofBothArms(of func(arm string) expr.Expr) expr.Expr {
	called := func(arm, name string) expr.Expr {
		return of(arm).Copied(metric.LabelModel, "(.*)", metric.LabelModel, "$1, "+name)
	}
	return called("$baseline", "baseline arm").Or(called("$candidate", "candidate arm"))
}

// meanByModel is the mean over the valid runs of an arm, by model: unlike medians, means of lines add up.
func meanByModel(e expr.Expr, arm string) expr.Expr {
	valid := ofHistory(metric.RunValid).Equals(expr.Number(1))
	return e.And(valid, expr.On(metric.LabelRun)).
		Times(modelsOf(arm), expr.On(metric.LabelRun).GroupLeft(metric.LabelModel)).
		Avg(expr.By(metric.LabelModel))
}

// poolWhenReady are the lines that add up to the pool when the engine of a run answers. A run with a missing line has
// none.
func poolWhenReady(of func(expr.Expr) expr.Expr) []figure {
	same := expr.On(metric.LabelRun)
	without, cache := ofHistory(metric.RunMemoryOccupiedWithoutKVBytes), ofHistory(metric.RunKVCapacityBytes)
	free := ofHistory(metric.RunMemoryPoolBytes).Minus(without, same).Minus(cache, same)
	return []figure{
		colouredFigure("occupied without KV cache", of(without.And(free, same)), colorWithoutKV),
		colouredFigure("KV cache", of(cache.And(free, same)), colorOfKV),
		colouredFigure("free", of(free), ledger.Named(ledger.Free).Colour),
	}
}

// Colours of occupied memory when an engine is ready.
const (
	colorWithoutKV = "dark-blue"
	colorOfKV      = "dark-green"
)

func colouredFigure(title string, e expr.Expr, color string) figure {
	return figure{title: title, expr: e, look: colored(color)}
}

func whenReadyByModel() []figure {
	return poolWhenReady(func(e expr.Expr) expr.Expr {
		return ofBothArms(func(arm string) expr.Expr { return meanByModel(e, arm) })
	})
}

func memoryByModel() panel {
	return servedBars(board{
		title:   "Memory and KV cache by model, measured",
		means:   "The pool when the engine was ready, by model and arm: memory occupied without KV cache, the KV cache and free memory, means over the valid runs of this host of which all three are known. Models whose runs were not of a live machine and a real engine say so.",
		wrong:   "the arms differ, and nothing above says what the memory went to. What one line takes the other lacks: the pool is one.",
		noData:  "no valid run of this host is of an arm of the comparison, or no telemetry was kept",
		keys:    []key{{label: metric.LabelModel, title: "Model and arm"}},
		figures: whenReadyByModel(),
	}).Stacking(common.StackingModeNormal).Orientation(common.VizOrientationHorizontal)
}

// wordOfEngines is the mean of what engines reported in the runs of an arm, by model.
func wordOfEngines(metrics, arm string) expr.Expr {
	return ofPair(metric.ComparisonMean, expr.Matches(metric.LabelMetric, metrics), expr.Is(metric.LabelArm, arm)).Max(expr.By(metric.LabelModel)).In(metric.Bytes)
}

// byWordOfEngines are the bytes that engines report to hold, and the rest of the pool where a run of the arm has one.
func byWordOfEngines() []figure {
	const before, cache = "engine_reported_(memory_occupied_without_kv|peak)_bytes", "engine_reported_kv(_capacity)?_bytes"
	model := expr.On(metric.LabelModel)
	rest := func(arm string) expr.Expr {
		pools := ofHistory(metric.RunMemoryPoolBytes).Times(infoOf(arm), expr.On(metric.LabelRun).GroupLeft(metric.LabelModel)).Max(expr.By(metric.LabelModel))
		a, b := wordOfEngines(before, arm), wordOfEngines(cache, arm)
		return pools.Minus(a.Plus(b, model).Or(a, model).Or(b, model), model)
	}
	return []figure{
		colouredFigure("before the KV cache", ofBothArms(func(arm string) expr.Expr { return wordOfEngines(before, arm) }), colorWithoutKV),
		colouredFigure("KV cache", ofBothArms(func(arm string) expr.Expr { return wordOfEngines(cache, arm) }), colorOfKV),
		colouredFigure("rest of the pool", ofBothArms(rest), colorUnknown),
	}
}

func wordByModel() panel {
	return servedBars(board{
		title:   "Memory and KV cache by model, as engines report it",
		means:   "The same by the engines' own word, not measured: what they report that they held before their KV cache, the cache, and the rest of the pool. Means over the runs of the comparison; of a model in several scenarios the largest. Without telemetry the pool is not known and the rest is missing.",
		wrong:   "it is taken for memory occupied when ready: once the KV cache is there both arms occupy about the same.",
		noData:  "the engines said nothing, or " + noComparison,
		keys:    []key{{label: metric.LabelModel, title: "Model and arm"}},
		figures: byWordOfEngines(),
	}).Stacking(common.StackingModeNormal).Orientation(common.VizOrientationHorizontal)
}
