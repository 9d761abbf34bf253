package expr

import "github.com/umascope/umascope/exporter/metric"

// Clamp keeps values within two bounds.
func (e Expr) Clamp(low, high float64) Expr { return e.call("clamp", low, high) }

// ClampMin raises values to at least the bound.
func (e Expr) ClampMin(low float64) Expr { return e.call("clamp_min", low) }

// ClampMax lowers values to at most the bound.
func (e Expr) ClampMax(high float64) Expr { return e.call("clamp_max", high) }

// call applies a function of a vector and numbers.
func (e Expr) call(function string, arguments ...float64) Expr {
	if e.scalar {
		e = e.failed(errScalar(function))
	}
	after := ")"
	for i := len(arguments) - 1; i >= 0; i-- {
		after = ", " + number(arguments[i]) + after
	}
	return e.wrapped(function+"(", after)
}

// HistogramQuantile is the q-quantile of a histogram in its native form within the window: one
// for every combination of the labels in by. Series of our own are stored in that form.
func HistogramQuantile(q float64, h metric.Histogram, window Window, by []metric.Label, matchers ...Matcher) Expr {
	return quantileOf(over("rate", selector{def: h.Def(), window: window, matchers: matchers}), q, By(by...))
}

// BucketQuantile is the same of a histogram in its classic form, which is the only one that most
// engines serve. It is interpolated within a bucket: no better than the bounds are.
func BucketQuantile(q float64, h metric.Histogram, window Window, by []metric.Label, matchers ...Matcher) Expr {
	buckets := selector{def: h.Def(), suffix: "_bucket", window: window, matchers: matchers}
	return quantileOf(over("rate", buckets, metric.LabelLE), q, By(append([]metric.Label{metric.LabelLE}, by...)...))
}

// quantileOf is the quantile of summed rates of histograms.
func quantileOf(rates Expr, q float64, g Grouping) Expr {
	unit, family := rates.unit, rates.families()
	e := rates.Sum(g).wrapped("histogram_quantile("+number(q)+", ", ")")
	e.labels = without(e.labels, metric.LabelLE)
	e.unit, e.percentile = unit, true
	e.addends = []addend{{family: family, rule: metric.SumNever()}}
	if q < 0 || q > 1 {
		e = e.refused("", "quantile %v is not within 0 and 1", q)
	}
	return e
}

// DuringRuns keeps host series while a run lasts on that host and lends them its run and arm.
// Host series never carry these labels themselves: each run would be a full new set of series.
func (e Expr) DuringRuns(matchers ...Matcher) Expr {
	active := Select(metric.RunActive, matchers...).Equals(Number(1))
	runs := active.Max(By(metric.LabelHost, metric.LabelRun, metric.LabelArm))
	return e.Times(runs, On(metric.LabelHost).GroupLeft(metric.LabelRun, metric.LabelArm))
}
