package collector

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"

	dto "github.com/prometheus/client_model/go"

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
	series   [][]*dto.Metric // by index of the family
	problems []error
	refused  int
	lacking  []string // names of needs
	notes    []string
}

// Gauge adds one value; labels are the label values in the order of the definition.
func (b *Batch) Gauge(m metric.Gauge, value float64, labels ...string) {
	b.add(m.Def(), value, labels)
}

// Counter adds the present reading of a count that only its source may reset.
func (b *Batch) Counter(m metric.Counter, value float64, labels ...string) {
	b.add(m.Def(), value, labels)
}

// Lacks says that the collector was refused what the need of this name gives.
func (b *Batch) Lacks(need string) { b.lacking = append(b.lacking, need) }

// Note adds a line for people, which doctor prints.
func (b *Batch) Note(text string) { b.notes = append(b.notes, text) }

func (b *Batch) add(def metric.Def, value float64, labels []string) {
	known, declared := b.families.byName[def.Name]
	switch {
	case !declared:
		b.refuse(def.Name, labels, "the collector does not declare it")
	case len(labels) != len(known.labels):
		b.refuse(def.Name, labels, fmt.Sprintf("%d label values for %d labels", len(labels), len(known.labels)))
	case math.IsNaN(value) || math.IsInf(value, 0):
		b.refuse(def.Name, labels, fmt.Sprintf("%v is no reading", value))
	case value < 0 && known.kind == dto.MetricType_COUNTER:
		b.refuse(def.Name, labels, fmt.Sprintf("a counter cannot be %v", value))
	default:
		b.series[known.index] = append(b.series[known.index], known.with(value, labels))
	}
}

func (b *Batch) refuse(name string, labels []string, why string) {
	b.refused++
	if len(b.problems) < maxProblems {
		b.problems = append(b.problems, fmt.Errorf("%s%q: %s", name, labels, why))
	}
}

// close returns what was accepted, every family sorted by the values of its labels, and what was
// refused. Sorting puts a series that was given twice beside itself: the first one stays.
func (b *Batch) close() ([]*dto.MetricFamily, error) {
	found := make([]*dto.MetricFamily, 0, len(b.families.all))
	for _, known := range b.families.all {
		series := b.series[known.index]
		if len(series) == 0 {
			continue
		}
		slices.SortStableFunc(series, compareLabels)
		series = slices.CompactFunc(series, func(first, again *dto.Metric) bool {
			if compareLabels(first, again) != 0 {
				return false
			}
			b.refuse(known.name, labelValues(again), "the series is there already")
			return true
		})
		found = append(found, known.of(series))
	}
	return found, b.refusals()
}

// refusals says what was refused, nil when nothing was.
func (b *Batch) refusals() error {
	if more := b.refused - len(b.problems); more > 0 {
		return errors.Join(append(b.problems[:len(b.problems):len(b.problems)], fmt.Errorf("and %d more", more))...)
	}
	return errors.Join(b.problems...)
}

// compareLabels orders series of one family: their labels have the same names in the same order.
func compareLabels(a, b *dto.Metric) int {
	for i, pair := range a.Label {
		if order := cmp.Compare(*pair.Value, *b.Label[i].Value); order != 0 {
			return order
		}
	}
	return 0
}

func labelValues(m *dto.Metric) []string {
	values := make([]string, len(m.Label))
	for i, pair := range m.Label {
		values[i] = *pair.Value
	}
	return values
}

// plainText replaces what cannot be written on a page, and control characters, which a terminal obeys
// that a page is printed on: process and model names are bytes that somebody else chose.
func plainText(label string) string {
	if isPlain(label) {
		return label
	}
	return strings.Map(withoutControl, strings.ToValidUTF8(label, "\uFFFD"))
}

// isPlain says of nearly all labels, in a fifth of the time, that nothing in them is to be replaced.
func isPlain(label string) bool {
	for i := range len(label) {
		if label[i] < ' ' || label[i] > '~' {
			return false
		}
	}
	return true
}

func withoutControl(r rune) rune {
	if unicode.IsControl(r) {
		return unicode.ReplacementChar
	}
	return r
}
