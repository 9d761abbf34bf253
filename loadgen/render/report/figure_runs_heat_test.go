package report

import (
	"bytes"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/render"

	"github.com/umascope/umascope/loadgen/summary"
)

// Runs over time are one map: a row each in the order of their start, a legend with the unit, marks of phases, a text for
// those who do not see it, and its numbers as a table.
func TestRunsAreAHeatMapOfTemperatureOverTime(t *testing.T) {
	g := courses(t, 3)
	for i := range g.Members {
		s := *g.Members[i].Summary
		s.Made = &summary.Made{StartedAt: new(time.Unix(int64(1000-i), 0))} // the last began first
		g.Members[i].Summary, g.Members[i].Name = &s, fmt.Sprint("run ", i)
	}
	text := written(t, func(b *bytes.Buffer) error { return g.WriteHTML(b) })
	drawings(t, text)
	for _, figure := range []string{"GPU temperature", "GPU utilisation"} {
		if !strings.Contains(text, figure+" over runs and time: 3 runs in the order of their start") { // the text of the drawing
			t.Errorf("no map of %s", figure)
		}
		if !strings.Contains(text, figure+" over runs and time, as a table") {
			t.Errorf("no table of %s", figure)
		}
	}
	if strings.Contains(text, "GPU power over runs") {
		t.Error("power is a map")
	}
	if !regexp.MustCompile(`heat5"?[^>]*>(</i>)?[0-9.]+ to [0-9.]+ °C`).MatchString(text) {
		t.Error("the legend has no unit")
	}
	drawn := regexp.MustCompile(`(?s)<svg[^>]*GPU temperature over runs.*?</svg>`).FindString(text)
	var order []string
	for _, tick := range regexp.MustCompile(`text-anchor="end">(run \d)<`).FindAllStringSubmatch(drawn, -1) {
		order = append(order, tick[1])
	}
	if fmt.Sprint(order) != "[run 0 run 1 run 2]" { // from the bottom up
		t.Errorf("rows %q", order)
	}
	if n := strings.Count(drawn, "phase-line"); n != 3*len(g.Members[0].Course.phases) {
		t.Errorf("%d marks of phases", n)
	}
	if one := (Group{Members: g.Members[:1]}).courses(); strings.Contains(fmt.Sprint(one), "over runs and time") {
		t.Error("a map of one run")
	}
}

func TestCellsOfAHeatMapAreTheHighestAndGapsStayOpen(t *testing.T) {
	cells := highestByColumn([][]render.Place{{{X: 0, Y: 40}, {X: 10, Y: 60}, {X: 20, Y: 50}}, {{X: 60, Y: 70}}}, runColumns)
	for column, want := range map[int]float64{0: 42, 4: 50, 9: 60, 10: 60, 15: 55, 20: 50, 60: 70} {
		if cells[column] == nil || *cells[column] != want {
			t.Errorf("column %d: %v, want %v", column, cells[column], want)
		}
	}
	for column := range runColumns {
		if open := column > 20 && column != 60; (cells[column] == nil) != open {
			t.Errorf("column %d: %v", column, cells[column])
		}
	}
	scale := newHeatScale(40, 90)
	for v, want := range map[float64]int{40: 1, 49: 1, 51: 2, 75: 4, 90: 5} {
		if got := scale.level(v); got != want {
			t.Errorf("%v has the level %d, want %d", v, got, want)
		}
	}
	if one := newHeatScale(40, 40); one.level(40) != 1 {
		t.Error("a value that never changes has no level")
	}
}

func TestTheTableOfAHeatMapHasEachPhase(t *testing.T) {
	m := Member{Name: "a", Course: &Course{samples: 3, phases: []render.PhaseSpan{{Name: "warmup", End: 5}, {Name: "measure", Start: 5, End: 9}}, lines: [][][]render.Place{{{{X: 1, Y: 41}, {X: 4, Y: 44}, {X: 8, Y: 66}}}}}}
	other := Member{Name: "b", Course: &Course{samples: 1, phases: []render.PhaseSpan{{Name: "measure", End: 9}}, lines: [][][]render.Place{{{{X: 8, Y: 50}}}}}}
	var text strings.Builder
	if err := render.TextTable(&text, heatTable([]Member{m, other}, 0, courseFigures()[0])); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`highest, °C +highest in warmup +highest in measure`, `a +3 +41 +66 +44 +66`, `b +1 +50 +50 +– +50`} {
		if !regexp.MustCompile(want).MatchString(text.String()) {
			t.Errorf("no %q in\n%s", want, text.String())
		}
	}
}
