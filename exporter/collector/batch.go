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

// maxProblems is the maximum number of refused values that a batch keeps: the first few identify the fault.
const maxProblems = 5

// Batch holds what one collector read in one collection. The collector owns it until it returns, so a late or broken
// collector cannot tear a page.
//
// A value that is not valid on a page (unknown family, wrong number of labels, NaN or infinite, negative counter,
// duplicate series) is refused: the rest is served and the collector fails.
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

// Lacks records that the host did not meet the need of this name for the collector.
func (b *Batch) Lacks(need string) { b.lacking = append(b.lacking, need) }

// Note adds a line of text, which doctor prints.
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

// close returns the accepted families, each sorted by label values, and the refused values. Sorting makes duplicates of
// a series adjacent: the first one stays.
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

// refusals returns the refused values as an error, nil if there are none.
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

// plainText replaces bytes that are not valid on a page, and control characters, which a terminal would obey when it
// prints the page: process and model names are untrusted input.
func plainText(label string) string {
	if isPlain(label) {
		return label
	}
	return strings.Map(withoutControl, strings.ToValidUTF8(label, "\uFFFD"))
}

// isPlain reports that a label needs no replacement. It decides nearly all labels in a fifth of the time of plainText.
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
