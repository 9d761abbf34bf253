package report

import (
	"fmt"
	"math"
	"strings"
)

// The figures of the HTML page are drawn here instead of by a chart library: the page must hold
// everything it needs, work without a script, follow the reader's light or dark setting, and be
// text that a test can read. Shapes are plain data; only html/template turns them into SVG, so
// that every label is escaped by what writes it.

// chart is one drawing. Lengths are in units of its own view box, which is about as wide in
// pixels as the drawing is shown.
type chart struct {
	Width, Height float64
	Label         string // what a reader who cannot see it is told
	Shapes        []shape
}

// shape is one element. Class decides about colour, in the style sheet.
type shape struct {
	Kind   string // path, rect, dot, text
	Class  string
	D      string // of a path
	X, Y   float64
	W, H   float64
	Text   string
	Anchor string // start, middle, end
	Title  string // shown when pointed at
}

// axis maps values to a stretch of the drawing.
type axis struct {
	title  string
	lo, hi float64
	log    bool
	ticks  []tick
}

type tick struct {
	at   float64
	text string
}

// share is where a value lies between the ends of the axis, 0 to 1.
func (a axis) share(v float64) float64 {
	lo, hi := a.lo, a.hi
	if a.log {
		v, lo, hi = math.Log(max(v, lo)), math.Log(lo), math.Log(hi)
	}
	if hi <= lo {
		return 0
	}
	return min(1, max(0, (v-lo)/(hi-lo)))
}

// frame is the drawing area between two axes.
type frame struct {
	chart                    *chart
	x, y                     axis
	left, top, right, bottom float64
}

// Margins around the drawing area, for the numbers and titles of the axes.
const (
	marginLeft, marginRight = 52, 12
	marginTop, marginBottom = 32, 42
)

// newFrame draws the axes. The marks come on top of their grid.
func newFrame(width, height float64, x, y axis, label string) *frame {
	f := &frame{
		chart: &chart{Width: width, Height: height, Label: label}, x: x, y: y,
		left: marginLeft, top: marginTop, right: width - marginRight, bottom: height - marginBottom,
	}
	for _, t := range y.ticks {
		at := f.py(t.at)
		f.line("grid", f.left, at, f.right, at)
		f.text("tick", f.left-6, at+4, "end", t.text)
	}
	for _, t := range f.fitting(x.ticks) {
		at := f.px(t.at)
		f.line("grid", at, f.bottom, at, f.bottom+4)
		f.text("tick", at, f.bottom+17, "middle", t.text)
	}
	f.text("axis", (f.left+f.right)/2, height-6, "middle", x.title)
	f.text("axis", 4, 12, "start", y.title)
	f.line("base", f.left, f.bottom, f.right, f.bottom)
	return f
}

// tickSpace is how many units a tick's text takes at most.
const tickSpace = 34

// fitting leaves out ticks that would run into their neighbour.
func (f *frame) fitting(ticks []tick) []tick {
	var fit []tick
	for _, t := range ticks {
		if len(fit) == 0 || f.px(t.at)-f.px(fit[len(fit)-1].at) >= tickSpace {
			fit = append(fit, t)
		}
	}
	return fit
}

func (f *frame) px(v float64) float64 { return tenth(f.left + (f.right-f.left)*f.x.share(v)) }
func (f *frame) py(v float64) float64 { return tenth(f.bottom - (f.bottom-f.top)*f.y.share(v)) }

// tenth rounds to a tenth of a unit: finer is not seen and only makes the page larger.
func tenth(v float64) float64 { return math.Round(10*v) / 10 }

func (f *frame) add(s shape) { f.chart.Shapes = append(f.chart.Shapes, s) }

func (f *frame) text(class string, x, y float64, anchor, text string) {
	f.add(shape{Kind: "text", Class: class, X: tenth(x), Y: tenth(y), Anchor: anchor, Text: text})
}

func (f *frame) line(class string, x1, y1, x2, y2 float64) {
	f.add(shape{Kind: "path", Class: class, D: fmt.Sprintf("M%g %gL%g %g", tenth(x1), tenth(y1), tenth(x2), tenth(y2))})
}

// place is a point in the units of the axes.
type place struct{ x, y float64 }

// polyline draws lines through each run of points; between runs there is nothing.
func (f *frame) polyline(class, title string, runs [][]place) {
	var d strings.Builder
	for _, run := range runs {
		f.trace(&d, "M", run)
		if len(run) == 1 {
			d.WriteString("h.1") // one sample between two gaps is a dot, not nothing
		}
	}
	if d.Len() > 0 {
		f.add(shape{Kind: "path", Class: class, D: d.String(), Title: title})
	}
}

// area fills between a lower and an upper edge, which have the same x.
func (f *frame) area(class, title string, lower, upper []place) {
	if len(upper) == 0 {
		return
	}
	var d strings.Builder
	f.trace(&d, "M", upper)
	reversed := make([]place, len(lower))
	for i, p := range lower {
		reversed[len(lower)-1-i] = p
	}
	f.trace(&d, "L", reversed)
	d.WriteString("Z")
	f.add(shape{Kind: "path", Class: class, D: d.String(), Title: title})
}

func (f *frame) trace(d *strings.Builder, first string, points []place) {
	command := first
	for _, p := range points {
		fmt.Fprintf(d, "%s%g %g", command, f.px(p.x), f.py(p.y))
		command = "L"
	}
}

// letterWidth is how wide a letter of a label is, about.
const letterWidth = 6.5

// phases marks where each phase begins; its name stands there if there is room.
func (f *frame) phases(phases []phaseSpan) {
	for _, p := range phases {
		from, to := f.px(p.start), f.px(p.end)
		f.line("phase-line", from, f.top, from, f.bottom)
		if to-from > letterWidth*float64(len(p.name))+4 {
			f.text("phase", from, f.top-5, "start", p.name)
		}
	}
}

// phaseSpan is a phase in seconds since the run's start.
type phaseSpan struct {
	name       string
	start, end float64
}
