package demo

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// rectangle is where a frame draws.
type rectangle struct{ left, top, right, bottom float64 }

func TestFramesOfADrawingDoNotOverlap(t *testing.T) {
	for name, share := range map[string]func(width, height float64, n int) []side{"runs": sides} {
		for _, width := range []float64{1040, 366} {
			for n := 1; n <= 4; n++ {
				height := 60 + 200*float64(n)
				var taken []rectangle
				for i, s := range share(width, height, n) {
					r := rectangle{s.margins.Left, s.margins.Top, width - s.margins.Right, height - s.margins.Bottom}
					if r.left < 0 || r.top < 0 || r.right > width || r.bottom > height || r.right-r.left < 100 || r.bottom-r.top < 80 {
						t.Errorf("%s, %g wide: frame %d of %d is %+v of %g x %g", name, width, i+1, n, r, width, height)
					}
					for _, other := range taken {
						if r.left < other.right && other.left < r.right && r.top < other.bottom && other.top < r.bottom {
							t.Errorf("%s, %g wide: frames %+v and %+v of %d overlap", name, width, r, other, n)
						}
					}
					taken = append(taken, r)
				}
			}
		}
	}
}

// written are the texts of a class that a drawing has.
func written(d *render.Drawing, class string) (texts []render.Shape) {
	for _, s := range d.Shapes {
		if s.Kind == "text" && s.Class == class {
			texts = append(texts, s)
		}
	}
	return texts
}

func TestLabelsOfNeighboursDoNotRunIntoEachOther(t *testing.T) {
	many := strings.Repeat(abbaOrder, 3)
	c := design{name: "abba", order: many}.campaign(t)
	for name, f := range map[string]render.Figure{
		"runs":  runsFigure([]Campaign{c}, figure.MemoryOccupiedWithoutKV, "t", "c"),
		"cache": cacheFigure([]Campaign{c, c, c}),
	} {
		for _, d := range []*render.Drawing{f.Desk, f.Phone} {
			labels := written(d, "mark-text")
			if len(labels) < 4 {
				t.Errorf("%s: %d labels", name, len(labels))
			}
			for i := 1; i < len(labels); i++ {
				apart := labels[i].X - labels[i-1].X
				if room := render.LetterWidth * float64(len(labels[i].Text)+len(labels[i-1].Text)) / 2; apart > 0 && apart < room {
					t.Errorf("%s: %q and %q are %g apart and need %g", name, labels[i-1].Text, labels[i].Text, apart, room)
				}
			}
		}
	}
}

func TestALineJoinsOnlyRunsThatFollowEachOtherInAnArm(t *testing.T) {
	for order, want := range map[string]int{blockOrder: 6, abbaOrder: 3, "ncncncnc": 0} {
		c := design{name: "x", order: order}.campaign(t)
		f, threads := runsFigure([]Campaign{c}, figure.MemoryOccupiedWithoutKV, "t", "c"), 0
		for _, s := range f.Desk.Shapes {
			if strings.HasPrefix(s.Class, "thread") {
				threads++
			}
		}
		if threads != want {
			t.Errorf("%s: %d lines, want %d", order, threads, want)
		}
	}
}

// Both arms of a line stand at the height of their figures, and the axis holds them all.
func TestMarksStandAtTheirFigures(t *testing.T) {
	c := design{name: "blocks", order: blockOrder}.campaign(t)
	f := runsFigure([]Campaign{c}, figure.MemoryOccupiedWithoutKV, "t", "c")
	marks := map[string]bool{}
	for _, s := range f.Phone.Shapes {
		if strings.HasSuffix(s.Class, " run") {
			marks[s.Title[strings.LastIndex(s.Title, ": ")+2:]] = true
		}
	}
	for _, s := range c.Starts {
		near := false
		for text := range marks {
			var v float64
			_, err := fmt.Sscanf(text, "%g GiB", &v)
			near = near || err == nil && math.Abs(v*gib-s.OccupiedWithoutKVBytes) < .1*gib
		}
		if !near {
			t.Errorf("no mark at %.2f GiB among %v", s.OccupiedWithoutKVBytes/gib, marks)
		}
	}
}

func TestAnAlertThatFiresStillReachesTheEnd(t *testing.T) {
	h := exampleHeat("")
	f := heatFigure(h)
	ends := map[string]float64{}
	for _, s := range f.Desk.Shapes {
		if s.Kind == "rect" {
			ends[s.Title] = s.X + s.W
		}
	}
	if ends["GPUHot firing"] >= f.Desk.Width-panelRight || ends["GPUHot pending"] <= panelLeft {
		t.Errorf("%v", ends)
	}
	if _, drawn := ends["GPUClockLow firing"]; drawn {
		t.Error("an alert for information is drawn")
	}
	h.Firings[0].Until = time.Time{}
	for _, s := range heatFigure(h).Desk.Shapes {
		if s.Title == "GPUHot firing" && math.Abs(s.X+s.W-(f.Desk.Width-panelRight)) > .2 {
			t.Errorf("it ends at %g of %g", s.X+s.W, f.Desk.Width)
		}
	}
}

func TestGradesAndDifferencesAreWritten(t *testing.T) {
	for want, got := range map[string]string{
		"contradicted (outputs_differ)": gradeWords(evidence.Signal{Grade: "contradicted", Reason: "outputs_differ"}), "not known": gradeWords(evidence.Signal{}),
		"+1.5": shortSigned(1.5 * gib), "-1.5": shortSigned(-1.5 * gib), "0.0": shortSigned(-1e6), "-2.00 GiB": signed(figure.Bytes, -2*gib),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestJudgementsOfOutputs(t *testing.T) {
	for _, c := range []struct {
		wrong       bool
		grade       evidence.Grade
		found, with string
	}{
		{true, "contradicted", "Caught", "bad"}, {true, "proven", "Not caught", "bad"}, {true, "not_observable", "Not caught", "bad"},
		{false, "proven", "Not accused", "good"}, {false, "contradicted", "Accused, and nothing is wrong", "bad"},
	} {
		v := newJudged(Judged{Run: "r", Wrong: c.wrong, Match: evidence.Signal{Grade: c.grade}})
		if v.Found != c.found || string(v.Tone) != c.with {
			t.Errorf("%+v: %s (%s)", c, v.Found, v.Tone)
		}
	}
	if v := newJudged(Judged{Run: "r", Exit: 3, Wanted: 0}); !strings.Contains(v.Text, "exit code 3, and should have with 0") {
		t.Error(v.Text)
	}
}

// The bar of a start is its files on top of each other: no part hides another, and the whole is as high as the sum.
func TestPartsOfABarStandOnEachOther(t *testing.T) {
	c := design{name: "equal", order: abbaOrder, drops: true}.campaign(t)
	parts := map[float64][]render.Shape{}
	f := cacheFigure([]Campaign{c})
	for _, s := range f.Desk.Shapes {
		if strings.HasSuffix(s.Class, " part") {
			parts[s.X] = append(parts[s.X], s)
		}
	}
	if len(parts) != len(c.Starts) {
		t.Fatalf("%d bars of %d starts", len(parts), len(c.Starts))
	}
	for x, bar := range parts {
		for i := 1; i < len(bar); i++ {
			if math.Abs(bar[i].Y+bar[i].H-bar[i-1].Y) > .2 {
				t.Errorf("at %g, %q ends at %g and %q begins at %g", x, bar[i].Title, bar[i].Y+bar[i].H, bar[i-1].Title, bar[i-1].Y)
			}
		}
	}
}
