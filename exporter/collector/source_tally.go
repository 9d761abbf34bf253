package collector

import "strings"

// Limits of label values that a source chooses: a page may hold any number of any length.
const (
	maxForeignSeries = 64 // of one family, of one source
	maxForeignWord   = 128
	otherWord        = "other"
)

// tally adds up series of other programs by a subset of their labels. Label sets beyond maxForeignSeries are added up
// in one whose labels are all other.
type tally struct {
	labels [][]string // in the order in which they came
	sums   map[string]float64
}

// tally adds up the series of a name; labels derives the kept labels from their labels.
func (p kvbmPage) tally(name string, labels func(map[string]string) []string) *tally {
	t := &tally{sums: map[string]float64{}}
	for _, one := range p.series(name) {
		t.add(one.Value, labels(one.Labels))
	}
	return t
}

func (t *tally) add(value float64, labels []string) {
	for i, label := range labels {
		labels[i] = label[:min(len(label), maxForeignWord)]
	}
	key := strings.Join(labels, "\xff")
	if _, known := t.sums[key]; !known && len(t.labels) >= maxForeignSeries {
		for i := range labels {
			labels[i] = otherWord
		}
		key = strings.Join(labels, "\xff")
	}
	if _, known := t.sums[key]; !known {
		t.labels = append(t.labels, labels)
	}
	t.sums[key] += value
}

func (t *tally) each(emit func(sum float64, labels []string)) {
	for _, labels := range t.labels {
		emit(t.sums[strings.Join(labels, "\xff")], labels)
	}
}
