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
)

// Page is a parsed page of metrics. Its zero value is an empty one.
//
// Series are found by their name on the page. A histogram or summary x has x_sum and x_count. Values that are not
// finite numbers are left out, and so are the series ending in _created that some client libraries add. A duplicate
// series counts once.
type Page struct{ series map[string][]Series }

// Series is one value.
type Series struct {
	Labels map[string]string
	Value  float64
}

// Label selects the series whose label Name has this value. A label that a series lacks is empty.
type Label struct{ Name, Value string }

// Families lists the names that owns accepts, in order; for a histogram or summary only its own name.
func (p Page) Families(owns func(name string) bool) []string {
	found := map[string]bool{}
	for name := range p.series {
		if family := p.Family(name); owns(family) {
			found[family] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// Family is the name of the family of a series: x of x_sum and x_count, if the page has both.
func (p Page) Family(name string) string {
	for _, end := range []string{"_sum", "_count"} {
		if family, has := strings.CutSuffix(name, end); has && p.series[family+"_sum"] != nil && p.series[family+"_count"] != nil {
			return family
		}
	}
	return name
}

// Series returns the series of a name that have all these labels, in the order of the page.
func (p Page) Series(name string, match ...Label) []Series {
	var found []Series
	for _, one := range p.series[name] {
		if matches(one.Labels, match) {
			found = append(found, one)
		}
	}
	return found
}

func matches(labels map[string]string, match []Label) bool {
	return !slices.ContainsFunc(match, func(l Label) bool { return labels[l.Name] != l.Value })
}

// parsePage parses a page in the text format, or in that of OpenMetrics:
//
//	# TYPE kvbm_matched_tokens counter
//	kvbm_matched_tokens 117248
//
// The text has been bounded. The parser checks ctx whenever it needs more text, so
// that a page cannot keep it busy beyond the deadline.
func parsePage(ctx context.Context, text []byte, open bool) (Page, error) {
	plain, err := asTextFormat(text, open)
	if err != nil {
		return Page{}, err
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(contextReader{ctx, bytes.NewReader(plain)})
	if err != nil {
		return Page{}, fmt.Errorf("no page of metrics: %.200s", err)
	}
	page := Page{series: map[string][]Series{}}
	for name, family := range families {
		seen := map[string]bool{}
		for _, one := range family.GetMetric() {
			labels := labelsOf(one)
			if key := keyOf(labels); !seen[key] && !strings.HasSuffix(name, "_created") {
				seen[key] = true
				page.add(name, labels, one)
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

func (p *Page) add(name string, labels map[string]string, one *dto.Metric) {
	switch {
	case one.Counter != nil:
		p.addValue(name, labels, one.Counter.GetValue())
	case one.Gauge != nil:
		p.addValue(name, labels, one.Gauge.GetValue())
	case one.Untyped != nil:
		p.addValue(name, labels, one.Untyped.GetValue())
	case one.Summary != nil:
		p.addValue(name+"_sum", labels, one.Summary.GetSampleSum())
		p.addValue(name+"_count", labels, float64(one.Summary.GetSampleCount()))
	case one.Histogram != nil:
		p.addValue(name+"_sum", labels, one.Histogram.GetSampleSum())
		p.addValue(name+"_count", labels, cmp.Or(one.Histogram.GetSampleCountFloat(), float64(one.Histogram.GetSampleCount())))
	}
}

func (p *Page) addValue(name string, labels map[string]string, value float64) {
	if finite(value) {
		p.series[name] = append(p.series[name], Series{labels, value})
	}
}

func finite(value float64) bool { return !math.IsNaN(value) && !math.IsInf(value, 0) }
