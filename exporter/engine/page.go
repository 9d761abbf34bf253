package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// parsePage parses a page in the text format, or in that of OpenMetrics:
//
//	# TYPE kvbm_matched_tokens counter
//	kvbm_matched_tokens 117248
//
// The text has been bounded. The parser checks ctx whenever it needs more text, so
// that a page cannot keep it busy beyond the deadline.
func parsePage(ctx context.Context, text []byte, open bool) (spec.Page, error) {
	plain, err := asTextFormat(text, open)
	if err != nil {
		return spec.Page{}, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(contextReader{ctx, bytes.NewReader(plain)})
	if err != nil {
		return spec.Page{}, fmt.Errorf("no page of metrics: %.200s", err)
	}
	page := spec.Page{}
	for name, family := range families {
		seen := map[string]bool{}
		for _, one := range family.GetMetric() {
			labels := labelsOf(one)
			if key := keyOf(labels); !seen[key] && !strings.HasSuffix(name, "_created") {
				seen[key] = true
				add(page, name, labels, one)
			}
		}
	}
	return page, nil
}

// contextReader ends when its context does.
type contextReader struct {
	ctx context.Context
	io.Reader
}

func (r contextReader) Read(into []byte) (int, error) {
	if err := r.ctx.Err(); err != nil {
		return 0, err
	}
	return r.Reader.Read(into)
}

func labelsOf(one *dto.Metric) map[string]string {
	labels := make(map[string]string, len(one.GetLabel()))
	for _, pair := range one.GetLabel() {
		labels[pair.GetName()] = pair.GetValue()
	}
	return labels
}

// keyOf returns a unique key of a label set; 0xff occurs in no valid UTF-8 text.
func keyOf(labels map[string]string) string {
	var key strings.Builder
	for _, name := range slices.Sorted(maps.Keys(labels)) {
		key.WriteString(name + "\xff" + labels[name] + "\xff")
	}
	return key.String()
}

func add(p spec.Page, name string, labels map[string]string, one *dto.Metric) {
	switch {
	case one.Counter != nil:
		addValue(p, name, labels, one.Counter.GetValue())
	case one.Gauge != nil:
		addValue(p, name, labels, one.Gauge.GetValue())
	case one.Untyped != nil:
		addValue(p, name, labels, one.Untyped.GetValue())
	case one.Summary != nil:
		addValue(p, name+"_sum", labels, one.Summary.GetSampleSum())
		addValue(p, name+"_count", labels, float64(one.Summary.GetSampleCount()))
	case one.Histogram != nil:
		addValue(p, name+"_sum", labels, one.Histogram.GetSampleSum())
		addValue(p, name+"_count", labels, cmp.Or(one.Histogram.GetSampleCountFloat(), float64(one.Histogram.GetSampleCount())))
	}
}

func addValue(p spec.Page, name string, labels map[string]string, value float64) {
	if finite(value) {
		p[name] = append(p[name], spec.Series{Labels: labels, Value: value})
	}
}

func finite(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }
