package demo

import (
	"math"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

func occupied(s Start) float64 { return s.OccupiedWithoutKVBytes }

func TestTheBooksAreOfTheRunsThatWereCompared(t *testing.T) {
	c := design{name: "equal", order: abbaOrder, drops: true, invalid: 3}.campaign(t)
	c.Starts[2].OccupiedWithoutKVBytes = 1e15 // of the run that enters no figure
	pair, _ := pairOf(c)
	b := groundTruthOf(c, pair, find(pair, figure.MemoryOccupiedWithoutKV), occupied)
	if b == nil || b.a != 4 || b.b != 3 || math.Abs(b.difference-11*gib) > gib {
		t.Fatalf("%+v", b)
	}
	m := find(pair, figure.MemoryOccupiedWithoutKV)
	if text, class := b.describe(figure.Bytes, m.CI95); class != "good" || !strings.Contains(text, "inside the interval") {
		t.Errorf("%s (%s)", text, class)
	}
}

// A run may be valid and lack a figure: its start is then in no mean either.
func TestTheBooksAreOfTheRunsThatHaveTheFigure(t *testing.T) {
	c := design{name: "equal", order: abbaOrder, drops: true}.campaign(t)
	pair, _ := pairOf(c)
	s, _ := stratum(c)
	for _, series := range s.Arms[pair.A].Metrics {
		if series.Name == figure.MemoryOccupiedWithoutKV {
			series.Values[0] = nil
		}
	}
	if b := groundTruthOf(c, pair, find(pair, figure.MemoryOccupiedWithoutKV), occupied); b.a != 3 || b.b != 4 {
		t.Errorf("%+v", b)
	}
	if b := groundTruthOf(c, pair, find(pair, figure.KVCapacity), occupied); b.a != 4 || b.b != 4 {
		t.Errorf("%+v", b)
	}
}

func TestStartsThatCannotBeMatchedWithRunsAreNoGroundTruth(t *testing.T) {
	for name, change := range map[string]func(*Campaign){
		"one more":      func(c *Campaign) { c.Starts = append(c.Starts, c.Starts[0]) },
		"another order": func(c *Campaign) { c.Starts[0], c.Starts[1] = c.Starts[1], c.Starts[0] },
	} {
		c := design{name: "equal", order: abbaOrder, drops: true}.campaign(t)
		change(&c)
		pair, _ := pairOf(c)
		b := groundTruthOf(c, pair, find(pair, figure.MemoryOccupiedWithoutKV), occupied)
		if b != nil {
			t.Errorf("%s: %+v", name, b)
		}
	}
}

func TestGroundTruthOutsideTheIntervalIsMarked(t *testing.T) {
	b := &groundTruth{difference: 3 * gib, a: 4, b: 4}
	for _, ci := range []compare.Interval{{gib, 2 * gib}, {4 * gib, 5 * gib}} {
		if text, class := b.describe(figure.Bytes, &ci); class != "bad" || !strings.Contains(text, "outside the interval") {
			t.Errorf("%v: %s (%s)", ci, text, class)
		}
	}
	var none *groundTruth
	if text, class := none.describe(figure.Bytes, nil); class != "note" || !strings.Contains(text, "none") {
		t.Errorf("%s (%s)", text, class)
	}
}

func TestAnInvalidRunIsACrossAndNoFigure(t *testing.T) {
	c := design{name: "equal", order: abbaOrder, drops: true, invalid: 3}.campaign(t)
	all := strips([]Campaign{c}, figure.MemoryOccupiedWithoutKV)
	if len(all) != 1 || len(all[0].runs) != 8 || all[0].n() != 7 || all[0].values[2] != nil {
		t.Fatalf("%+v", all)
	}
	f := runsFigure([]Campaign{c}, figure.MemoryOccupiedWithoutKV, "t", "c")
	crosses := 0
	for _, s := range f.Desk.Shapes {
		if s.Class == "cross" {
			crosses++
		}
	}
	if crosses != 1 {
		t.Errorf("%d crosses", crosses)
	}
}
