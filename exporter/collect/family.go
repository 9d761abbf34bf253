package collect

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

// family is what all series of one name have in common.
//
// Series are put together here and not by the client library's constant metrics and registry: those
// make, sort, hash and check every series anew for every page, half of what a page costs. What they
// check holds here by construction, or the batch refuses it; the tests put the pages
// through them all the same.
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

// with is one series. Its parts are allocated together: there are some hundreds on a page.
func (f *family) with(value float64, labels []string) *dto.Metric {
	made := &dto.Metric{Label: f.pairs(labels)}
	if f.kind == dto.MetricType_COUNTER {
		made.Counter = &dto.Counter{Value: &value}
	} else {
		made.Gauge = &dto.Gauge{Value: &value}
	}
	return made
}

func (f *family) pairs(labels []string) []*dto.LabelPair {
	values := make([]string, len(labels))
	pairs := make([]dto.LabelPair, len(labels))
	at := make([]*dto.LabelPair, len(labels))
	for i := range f.labels {
		values[i] = plainText(labels[f.labels[i].place])
		pairs[i].Name, pairs[i].Value = &f.labels[i].name, &values[i]
		at[i] = &pairs[i]
	}
	return at
}
