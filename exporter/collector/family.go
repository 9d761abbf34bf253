package collector

import (
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"

	"github.com/umascope/umascope/exporter/metric"
)

// families are all that a collector may emit. They are made once per collector, not once per scrape.
type families struct {
	all    []*family // each at its index
	byName map[string]*family
}

// family is the shared part of all series of one name.
//
// This package builds series itself instead of using the constant metrics and the registry of the client library: those
// create, sort, hash and check every series again for every page, half of the cost of a page. Their checks hold here by
// construction, or the batch refuses the value; the tests run the pages through them.
type family struct {
	name, help string
	kind       dto.MetricType
	labels     []familyLabel // in the order of their names, as on a page
	index      int
}

// familyLabel is a label with its place in the order of the definition.
type familyLabel struct {
	name  string
	place int
}

func newFamilies(definers []metric.Definer) families {
	known := families{byName: make(map[string]*family, len(definers))}
	for i, definer := range definers {
		f := newFamily(definer.Def(), i)
		known.all = append(known.all, f)
		known.byName[f.name] = f
	}
	return known
}

func newFamily(def metric.Def, index int) *family {
	f := &family{name: def.Name, help: def.HelpText(), kind: dto.MetricType_GAUGE, index: index}
	if def.Kind == metric.KindCounter {
		f.kind = dto.MetricType_COUNTER
	}
	for place, name := range def.LabelNames() {
		f.labels = append(f.labels, familyLabel{name, place})
	}
	slices.SortFunc(f.labels, func(a, b familyLabel) int { return strings.Compare(a.name, b.name) })
	return f
}

func newBatch(known families) *Batch {
	return &Batch{families: known, series: make([][]*dto.Metric, len(known.all))}
}

// of is the family with its series.
func (f *family) of(series []*dto.Metric) *dto.MetricFamily {
	return &dto.MetricFamily{Name: &f.name, Help: &f.help, Type: &f.kind, Metric: series}
}

// with returns one series. Its parts are allocated together: hundreds of cgroups make tens of thousands of series.
func (f *family) with(value float64, labels []string) *dto.Metric {
	if f.kind == dto.MetricType_COUNTER {
		made := &struct {
			metric  dto.Metric
			counter dto.Counter
			value   float64
		}{value: value}
		made.counter.Value, made.metric.Counter = &made.value, &made.counter
		made.metric.Label = f.pairs(labels)
		return &made.metric
	}
	made := &struct {
		metric dto.Metric
		gauge  dto.Gauge
		value  float64
	}{value: value}
	made.gauge.Value, made.metric.Gauge = &made.value, &made.gauge
	made.metric.Label = f.pairs(labels)
	return &made.metric
}

func (f *family) pairs(labels []string) []*dto.LabelPair {
	if len(labels) == 0 {
		return nil
	}
	made := make([]struct {
		pair  dto.LabelPair
		value string
	}, len(labels))
	pairs := make([]*dto.LabelPair, len(labels))
	for i := range f.labels {
		made[i].value = plainText(labels[f.labels[i].place])
		made[i].pair.Name, made[i].pair.Value = &f.labels[i].name, &made[i].value
		pairs[i] = &made[i].pair
	}
	return pairs
}
