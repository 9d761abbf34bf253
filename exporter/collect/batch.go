package collect

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"unicode"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/umascope/umascope/exporter/metric"
)

// maxProblems bounds what a batch keeps of refused values: the first few say what is wrong.
const maxProblems = 5

// Batch holds what one collector read in one collection. It belongs to that collector alone
// until the collector returns, so that a late or broken one can never tear a page.
//
// A value that cannot stand on a page (unknown family, wrong number of labels, NaN or infinite,
// negative counter, series given twice) is refused: the rest is served and the collector fails.
type Batch struct {
	families families
	metrics  []prometheus.Metric
	seen     map[string]struct{}
	problems []error
	refused  int
}

// families are the descriptions of all series that a collector may emit, by name. They are made
// once per collector, not once per scrape.
type families map[string]*prometheus.Desc

func newFamilies(definers []metric.Definer) families {
	known := make(families, len(definers))
	for _, definer := range definers {
		def := definer.Def()
		known[def.Name] = prometheus.NewDesc(def.Name, def.HelpText(), def.LabelNames(), nil)
	}
	return known
}

func newBatch(known families) *Batch {
	return &Batch{families: known, seen: make(map[string]struct{})}
}

// Gauge adds one value; labels are the label values in the order of the definition.
func (b *Batch) Gauge(m metric.Gauge, value float64, labels ...string) {
	b.add(m.Def(), prometheus.GaugeValue, value, labels)
}

// Counter adds the present reading of a count that only its source may reset.
func (b *Batch) Counter(m metric.Counter, value float64, labels ...string) {
	if value < 0 {
		b.refuse(m.Def(), labels, fmt.Sprintf("a counter cannot be %v", value))
		return
	}
	b.add(m.Def(), prometheus.CounterValue, value, labels)
}

// Metrics returns what was accepted.
func (b *Batch) Metrics() []prometheus.Metric { return b.metrics }

// Err says what was refused, nil when nothing was.
func (b *Batch) Err() error {
	if more := b.refused - len(b.problems); more > 0 {
		return errors.Join(append(b.problems[:len(b.problems):len(b.problems)], fmt.Errorf("and %d more", more))...)
	}
	return errors.Join(b.problems...)
}

func (b *Batch) add(def metric.Def, kind prometheus.ValueType, value float64, labels []string) {
	desc, declared := b.families[def.Name]
	if !declared {
		b.refuse(def, labels, "the collector does not declare it")
		return
	}
	if len(labels) != len(def.Labels) {
		b.refuse(def, labels, fmt.Sprintf("%d label values for %d labels", len(labels), len(def.Labels)))
		return
	}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		b.refuse(def, labels, fmt.Sprintf("%v is no reading", value))
		return
	}
	labels = plainText(labels)
	key := seriesKey(def.Name, labels)
	if _, twice := b.seen[key]; twice {
		b.refuse(def, labels, "the series is there already")
		return
	}
	made, err := prometheus.NewConstMetric(desc, kind, value, labels...)
	if err != nil {
		b.refuse(def, labels, err.Error())
		return
	}
	b.seen[key] = struct{}{}
	b.metrics = append(b.metrics, made)
}

func (b *Batch) refuse(def metric.Def, labels []string, why string) {
	b.refused++
	if len(b.problems) < maxProblems {
		b.problems = append(b.problems, fmt.Errorf("%s%q: %s", def.Name, labels, why))
	}
}

// plainText replaces what cannot be written on a page, and control characters, which a terminal obeys
// that a page is printed on: process and model names are bytes that somebody else chose. The slice
// given is not changed.
func plainText(labels []string) []string {
	plain := make([]string, len(labels))
	for i, label := range labels {
		plain[i] = strings.Map(withoutControl, strings.ToValidUTF8(label, "\uFFFD"))
	}
	return plain
}

func withoutControl(r rune) rune {
	if unicode.IsControl(r) {
		return unicode.ReplacementChar
	}
	return r
}

// seriesKey tells series apart; 0xff stands in no valid UTF-8 text, so values cannot run together.
func seriesKey(name string, labels []string) string {
	if len(labels) == 0 {
		return name
	}
	return name + "\xff" + strings.Join(labels, "\xff")
}
