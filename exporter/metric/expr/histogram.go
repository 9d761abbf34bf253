package expr

import "github.com/umascope/umascope/exporter/metric"

// HistogramQuantile is the q-quantile of a histogram in its native form within the window: one
// for every combination of the labels in by. Series of our own are stored in that form.
func HistogramQuantile(q float64, h metric.Histogram, window Window, by []metric.Label, matchers ...Matcher) Expr {
	return quantileOf(over("rate", selector{def: h.Def(), window: window, matchers: matchers}), q, By(by...))
}

// BucketQuantile is the same for a histogram in its classic form, the only form that most engines serve. It is
// interpolated within a bucket, so its precision is that of the bounds.
func BucketQuantile(q float64, h metric.Histogram, window Window, by []metric.Label, matchers ...Matcher) Expr {
	buckets := selector{def: h.Def(), suffix: "_bucket", window: window, matchers: matchers}
	return quantileOf(over("rate", buckets, metric.LabelLE), q, By(append([]metric.Label{metric.LabelLE}, by...)...))
}

// EitherQuantile is the q-quantile of a histogram of which Prometheus may keep the native form, the classic
// one, or both: the native one is taken where there is one.
func EitherQuantile(q float64, h metric.Histogram, window Window, by []metric.Label, matchers ...Matcher) Expr {
	return HistogramQuantile(q, h, window, by, matchers...).Or(BucketQuantile(q, h, window, by, matchers...), On(by...))
}

// Distribution is a histogram within the window, for a heat map: its native form, else its buckets by upper
// bound. All series are added up.
func Distribution(h metric.Histogram, window Window, matchers ...Matcher) Expr {
	native := over("rate", selector{def: h.Def(), window: window, matchers: matchers}).Sum(By())
	return native.Or(Buckets(h, window, matchers...), On())
}

// Buckets is the classic form of a histogram within the window, by upper bound, for a heat map.
func Buckets(h metric.Histogram, window Window, matchers ...Matcher) Expr {
	return over("rate", selector{def: h.Def(), suffix: "_bucket", window: window, matchers: matchers}, metric.LabelLE).Sum(By(metric.LabelLE))
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
