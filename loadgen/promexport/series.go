package promexport

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

// series is one value of a family.
type series struct {
	family *metric.Gauge
	labels []string // in the order of the definition
	value  float64
}

// collection gathers series: each once, since Prometheus rejects a page with duplicates, and at most up to a limit.
type collection struct {
	all   []series
	taken map[string]bool
	most  int
	left  int // series dropped (limit)
}

func newCollection(most int) *collection { return &collection{taken: map[string]bool{}, most: most} }

// add adds a value. Of two with the same labels the first stays.
func (c *collection) add(family *metric.Gauge, value float64, labels ...string) {
	key := fmt.Sprintf("%s%q", family.Def().Name, labels)
	switch {
	case c.taken[key]:
	case len(c.all) == c.most:
		c.left++
	default:
		c.taken[key] = true
		c.all = append(c.all, series{family, labels, value})
	}
}

// known adds a value unless it is nil.
func (c *collection) known(family *metric.Gauge, value *float64, labels ...string) {
	if value != nil {
		c.add(family, *value, labels...)
	}
}

// state adds a boolean.
func (c *collection) state(family *metric.Gauge, holds bool, labels ...string) {
	c.add(family, number(holds), labels...)
}

// moment adds a time, unless it is unknown.
func (c *collection) moment(family *metric.Gauge, at time.Time, labels ...string) {
	if !at.IsZero() {
		c.add(family, float64(at.UnixMilli())/1e3, labels...)
	}
}

// number converts a boolean to the value of a gauge.
func number(holds bool) float64 {
	if holds {
		return 1
	}
	return 0
}

// firstKeys returns the keys of a map in their order, up to a limit.
func firstKeys[K ~string, V any](of map[K]V, most int) []K {
	keys := slices.Sorted(maps.Keys(of))
	return keys[:min(len(keys), most)]
}
