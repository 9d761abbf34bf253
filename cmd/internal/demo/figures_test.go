package demo

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/render"
)

// rectangle is where a frame draws.
type rectangle struct{ left, top, right, bottom float64 }

func TestFramesOfADrawingDoNotOverlap(t *testing.T) {
	for name, share := range map[string]func(width, height float64, n int) []side{"runs": sides, "ledgers": ledgerSides} {
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
		"runs":  runsFigure([]Campaign{c}, compare.MemoryOccupiedWithoutKV, "t", "c"),
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
		f, threads := runsFigure([]Campaign{c}, compare.MemoryOccupiedWithoutKV, "t", "c"), 0
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
	f := runsFigure([]Campaign{c}, compare.MemoryOccupiedWithoutKV, "t", "c")
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

func TestACurveIsBrokenWhereSamplesAreMissing(t *testing.T) {
	from := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	var points []Point
	for _, second := range []int{0, 5, 10, 15, 60, 65, 70, 200} {
		points = append(points, Point{from.Add(time.Duration(second) * time.Second), 1})
	}
	var lengths []int
	for _, run := range broken(points, from) {
		lengths = append(lengths, len(run))
	}
	if fmt.Sprint(lengths) != "[4 3 1]" {
		t.Errorf("%v", lengths)
	}
	if got := broken(points[:1], from); len(got) != 1 || len(got[0]) != 1 {
		t.Errorf("%v", got)
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

func TestObservationsHaveTitlesAndUnits(t *testing.T) {
	for want, got := range map[string]string{
		"at least 6.30 GiB": expected(evidence.Figure{Unit: "bytes", Expected: evidence.Range{6.3 * gib, math.Inf(1)}}), "0 to 3": expected(evidence.Figure{Unit: "prompts", Expected: evidence.Range{0, 3}}),
		"any": expected(evidence.Figure{Unit: "blocks", Expected: evidence.Range{0, math.Inf(1)}}), "0": expected(evidence.Figure{Unit: "prompts"}), "at most 5": expected(evidence.Figure{Unit: "prompts", Expected: evidence.Range{math.Inf(-1), 5}}),
		"8 prompts": amount(8, "prompts"), "9.00 GiB": amount(9*gib, "bytes"), "12 ms": amount(.012, "seconds"), "p 0.002": amount(.00202, "probability"), "3": amount(3, ""),
		"something new": observationTitle("something_new"), "contradicted (outputs_differ)": gradeWords(evidence.Signal{Grade: "contradicted", Reason: "outputs_differ"}), "not known": gradeWords(evidence.Signal{}),
		"+1.5": shortSigned(1.5 * gib), "−1.5": shortSigned(-1.5 * gib), "0.0": shortSigned(-1e6), "−2.00 GiB": signed(compare.UnitBytes, -2*gib),
		"/system.slice/docker…00000051300001.scope": middleOut("/system.slice/docker-" + strings.Repeat("0", 56) + "51300001.scope"),
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

// Lines that hardly differ are one: the bars and the table add up to the difference of the pools.
func TestTheLedgerLineByLineLosesNoLine(t *testing.T) {
	c := design{name: "equal", order: abbaOrder, drops: true}.campaign(t)
	pair, _ := pairOf(c)
	pair.LedgerDifference.Ready = map[string]float64{"page_cache": 9 * gib, "gpu_process": -9.5 * gib, "percpu": .1 * gib, "free": .2 * gib, "unattributed": .2 * gib}
	c.Comparison.Strata[0].Pairs[0] = pair
	names, _, _ := ledgerLines([]Campaign{c})
	if names[len(names)-1] != otherLines {
		t.Fatalf("%q", names)
	}
	sum := 0.0
	for _, line := range names {
		bytes, _ := differenceOf(pair.LedgerDifference.Ready, line, names)
		sum += bytes
	}
	if math.Abs(sum) > 1 {
		t.Errorf("%q differ by %v in all", names, sum)
	}
	drawn := false
	for _, s := range ledgerFigure([]Campaign{c}).Desk.Shapes {
		drawn = drawn || s.Title == "equal, other lines, ready: +307.20 MiB"
	}
	if rows := ledgerTable([]Campaign{c}).Rows; !drawn || rows[len(rows)-1].Cells[0] != otherLines {
		t.Errorf("drawn: %v, rows %v", drawn, rows)
	}
}

func TestBarsOfTheLedgerAreAsLongAsTheDifference(t *testing.T) {
	c := design{name: "equal", order: abbaOrder, drops: true}.campaign(t)
	pair, _ := pairOf(c)
	pair.LedgerDifference.Ready = map[string]float64{"page_cache": 9 * gib, "gpu_process": -9 * gib, "shmem": 3 * gib}
	c.Comparison.Strata[0].Pairs[0] = pair
	long := map[string]float64{}
	for _, s := range ledgerFigure([]Campaign{c}).Desk.Shapes {
		if s.Kind == "rect" {
			long[s.Title] = s.W
		}
	}
	up, down, third := long["equal, page_cache, ready: +9.00 GiB"], long["equal, gpu_process, ready: −9.00 GiB"], long["equal, shmem, ready: +3.00 GiB"]
	if up == 0 || math.Abs(up-down) > .3 || math.Abs(up-3*third) > .5 {
		t.Errorf("%v", long)
	}
}
