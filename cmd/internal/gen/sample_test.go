package gen

import (
	"cmp"
	"strconv"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
)

// samples hands on what Prometheus stores of a family. Its own parser of this form needs a module that nothing
// else here does. A histogram that has its native form is stored in that one only, as prometheus.yml has it. Counters are multiplied by growth, if it is not 0.
func samples(family *dto.MetricFamily, growth float64, keep func(labels.Labels, float64, *histogram.Histogram)) {
	for _, m := range family.GetMetric() {
		named := func(suffix string, more ...string) labels.Labels {
			built := labels.NewBuilder(labels.FromStrings(append(more, model.MetricNameLabel, family.GetName()+suffix)...))
			for _, pair := range m.GetLabel() {
				built.Set(pair.GetName(), pair.GetValue())
			}
			return built.Labels()
		}
		switch {
		case m.GetCounter() != nil:
			keep(named(""), m.GetCounter().GetValue()*cmp.Or(growth, 1), nil)
		case m.GetGauge() != nil:
			keep(named(""), m.GetGauge().GetValue(), nil)
		case m.GetUntyped() != nil:
			keep(named(""), m.GetUntyped().GetValue(), nil)
		case m.GetSummary() != nil:
			for _, q := range m.GetSummary().GetQuantile() {
				keep(named("", "quantile", number(q.GetQuantile())), q.GetValue(), nil)
			}
			keep(named("_sum"), m.GetSummary().GetSampleSum(), nil)
			keep(named("_count"), float64(m.GetSummary().GetSampleCount()), nil)
		case native(m.GetHistogram()):
			keep(named(""), 0, wholeHistogram(m.GetHistogram()))
		default:
			h := m.GetHistogram()
			for _, b := range h.GetBucket() {
				keep(named("_bucket", "le", number(b.GetUpperBound())), float64(b.GetCumulativeCount()), nil)
			}
			keep(named("_sum"), h.GetSampleSum(), nil)
			keep(named("_count"), float64(h.GetSampleCount()), nil)
		}
	}
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// native says whether a histogram has its native form; an empty one has a span of no length.
func native(h *dto.Histogram) bool {
	return h.GetZeroThreshold() > 0 || len(h.GetPositiveSpan()) > 0 || len(h.GetNegativeSpan()) > 0
}

func wholeHistogram(h *dto.Histogram) *histogram.Histogram {
	return &histogram.Histogram{
		Schema: h.GetSchema(), ZeroThreshold: h.GetZeroThreshold(), ZeroCount: h.GetZeroCount(),
		Count: h.GetSampleCount(), Sum: h.GetSampleSum(),
		PositiveSpans: spans(h.GetPositiveSpan()), PositiveBuckets: h.GetPositiveDelta(),
		NegativeSpans: spans(h.GetNegativeSpan()), NegativeBuckets: h.GetNegativeDelta(),
	}
}

func spans(of []*dto.BucketSpan) []histogram.Span {
	var all []histogram.Span
	for _, s := range of {
		all = append(all, histogram.Span{Offset: s.GetOffset(), Length: s.GetLength()})
	}
	return all
}
