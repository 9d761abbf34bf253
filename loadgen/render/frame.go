package render

import (
	"fmt"
	"math"
	"strings"
)

// Frame is the drawing area between two axes.
type Frame struct {
	Drawing                  *Drawing
	X, Y                     Axis
	Left, Top, Right, Bottom float64
}

// Margins around the drawing area, for the numbers and titles of the axes.
const (
	MarginLeft, MarginRight = 52, 12
	marginTop, marginBottom = 32, 42
)

// Margins are the room that a frame leaves around its drawing area.
type Margins struct{ Left, Right, Top, Bottom float64 }

// NewFrame draws the axes. The marks come on top of their grid.
func NewFrame(width, height float64, x, y Axis, label string) *Frame {
	return NewFrameIn(Margins{MarginLeft, MarginRight, marginTop, marginBottom}, width, height, x, y, label)
}

// NewFrameIn does so with margins of its own.
func NewFrameIn(m Margins, width, height float64, x, y Axis, label string) *Frame {
	f := &Frame{
		Drawing: &Drawing{Width: width, Height: height, Label: label}, X: x, Y: y,
		Left: m.Left, Top: m.Top, Right: width - m.Right, Bottom: height - m.Bottom,
	}
	f.Drawing.Plots = []Plot{{f.Left, f.Top, f.Right, f.Bottom, x, y}}
	for _, t := range y.Ticks {
		at := f.PY(t.At)
		f.Line("grid", f.Left, at, f.Right, at)
		f.Text("tick", f.Left-6, at+4, "end", t.Text)
	}
	for _, t := range f.fitting(x.Ticks) {
		at := f.PX(t.At)
		f.Line("grid", at, f.Bottom, at, f.Bottom+4)
		f.Text("tick", at, f.Bottom+17, "middle", t.Text)
	}
	f.Text("axis", (f.Left+f.Right)/2, height-6, "middle", x.Title)
	f.Text("axis", 4, 12, "start", y.Title)
	f.Line("base", f.Left, f.Bottom, f.Right, f.Bottom)
	return f
}

// tickSpace is the most room that the text of a tick takes, in units.
const tickSpace = 34

// fitting leaves out ticks that would overlap; it shortens the names of categories instead.
func (f *Frame) fitting(ticks []Tick) []Tick {
	if f.X.Names {
		return f.shortened(ticks)
	}
	var fit []Tick
	for _, t := range ticks {
		if len(fit) == 0 || f.PX(t.At)-f.PX(fit[len(fit)-1].At) >= tickSpace {
			fit = append(fit, t)
		}
	}
	return fit
}

// shortened cuts the names of categories to the room that each has.
func (f *Frame) shortened(ticks []Tick) []Tick {
	room := (f.Right - f.Left) / max(1, f.X.Hi-f.X.Lo)
	var short []Tick
	for _, t := range ticks {
		short = append(short, Tick{t.At, Shorten(t.Text, room)})
	}
	return short
}

// Shorten cuts a text to a width, with an ellipsis at the cut.
func Shorten(text string, width float64) string {
	letters, room := []rune(text), int(width/LetterWidth)
	if len(letters) <= room {
		return text
	}
	return string(letters[:max(1, room-1)]) + "…"
}

// PX returns the position of a value of the horizontal axis on the drawing.
func (f *Frame) PX(v float64) float64 { return Tenth(f.Left + (f.Right-f.Left)*f.X.Share(v)) }

// PY returns the position of a value of the vertical axis on the drawing.
func (f *Frame) PY(v float64) float64 { return Tenth(f.Bottom - (f.Bottom-f.Top)*f.Y.Share(v)) }

// Tenth rounds to a tenth of a unit: finer steps are invisible and only make the page larger.
func Tenth(v float64) float64 { return math.Round(10*v) / 10 }

// Add draws a shape on top of the others.
func (f *Frame) Add(s Shape) { f.Drawing.Shapes = append(f.Drawing.Shapes, s) }

// Text writes at a position of the drawing.
func (f *Frame) Text(class string, x, y float64, anchor, text string) {
	f.Add(Shape{Kind: "text", Class: class, X: Tenth(x), Y: Tenth(y), Anchor: anchor, Text: text})
}

// Line joins two positions of the drawing.
func (f *Frame) Line(class string, x1, y1, x2, y2 float64) {
	f.Add(Shape{Kind: "path", Class: class, D: fmt.Sprintf("M%g %gL%g %g", Tenth(x1), Tenth(y1), Tenth(x2), Tenth(y2))})
}

// Cross marks a value that must not be confused with the others.
func (f *Frame) Cross(x, y float64, title string) {
	f.Add(Shape{Kind: "path", Class: "cross", D: fmt.Sprintf("M%g %gl7 7m0-7l-7 7", Tenth(x-3.5), Tenth(y-3.5)), Title: title})
}

// Whisker draws an error bar: a vertical line between two values, with a cap at either end.
func (f *Frame) Whisker(class string, x, lo, hi, cap float64, title string) {
	low, high := f.PY(lo), f.PY(hi)
	f.Add(Shape{Kind: "path", Class: class, Title: title, D: fmt.Sprintf("M%g %gh%gm%g 0V%gm%g 0h%g",
		Tenth(x-cap), low, Tenth(2*cap), Tenth(-cap), high, Tenth(-cap), Tenth(2*cap))})
}

// Mark draws a value as a shape in one of four forms, so that colour is not the only difference.
func (f *Frame) Mark(form int, class string, x, y float64, title string) {
	s := Shape{Kind: "path", Class: class, Title: title}
	switch x, y = Tenth(x), Tenth(y); form % 4 {
	case 0:
		s.Kind, s.X, s.Y, s.W = "dot", x, y, 3.2
	case 1:
		s.D = fmt.Sprintf("M%g %gh6v6h-6z", Tenth(x-3), Tenth(y-3))
	case 2:
		s.D = fmt.Sprintf("M%g %gl4 7h-8z", x, Tenth(y-4))
	default:
		s.D = fmt.Sprintf("M%g %gl4.2 4.2l-4.2 4.2l-4.2-4.2z", x, Tenth(y-4.2))
	}
	f.Add(s)
}

// Place is a point in the units of the axes.
type Place struct{ X, Y float64 }

// Polyline draws lines through each run of points; runs are not joined.
func (f *Frame) Polyline(class, title string, runs [][]Place) {
	f.polyline(Shape{Class: class, Title: title}, runs)
}

// Series draws the values of something over the horizontal axis as lines. A tip shows them, with the name where there are
// several in a plot.
func (f *Frame) Series(class, name string, runs [][]Place) {
	f.polyline(Shape{Class: "line " + class, Title: name, Series: true}, runs)
}

func (f *Frame) polyline(s Shape, runs [][]Place) {
	var d strings.Builder
	for _, run := range runs {
		f.trace(&d, "M", run)
		if len(run) == 1 {
			d.WriteString("h.1") // one sample between two gaps is a dot
		}
	}
	if d.Len() > 0 {
		s.Kind, s.D = "path", d.String()
		f.Add(s)
	}
}

// Area fills between a lower and an upper edge, which have the same x. Its height is a series.
func (f *Frame) Area(class, title string, lower, upper []Place) {
	if len(upper) == 0 {
		return
	}
	var d strings.Builder
	f.trace(&d, "M", upper)
	reversed := make([]Place, len(lower))
	for i, p := range lower {
		reversed[len(lower)-1-i] = p
	}
	f.trace(&d, "L", reversed)
	d.WriteString("Z")
	f.Add(Shape{Kind: "path", Class: class, D: d.String(), Title: title, Series: true})
}

func (f *Frame) trace(d *strings.Builder, first string, points []Place) {
	command := first
	for _, p := range points {
		fmt.Fprintf(d, "%s%g %g", command, f.PX(p.X), f.PY(p.Y))
		command = "L"
	}
}

// LetterWidth is the approximate width of a letter of a label.
const LetterWidth = 6.5

// Phases marks where each phase begins, with its name if there is room.
func (f *Frame) Phases(phases []PhaseSpan) {
	for _, p := range phases {
		from, to := f.PX(p.Start), f.PX(p.End)
		f.Line("phase-line", from, f.Top, from, f.Bottom)
		if to-from > LetterWidth*float64(len(p.Name))+4 {
			f.Text("phase", from, f.Top-5, "start", p.Name)
		}
	}
}

// PhaseSpan is a named stretch of time, in seconds since the run's start.
type PhaseSpan struct {
	Name       string
	Start, End float64
}
