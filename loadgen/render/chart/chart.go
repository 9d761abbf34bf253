// Package chart draws figures as plain shapes, and writes amounts with their units. It has axes and marks; what is drawn is
// decided elsewhere, and loadgen/render turns shapes into SVG.
//
// Drawings are made here instead of by a chart library: a page must hold everything it needs, work without a script, follow
// the reader's light or dark setting, and be text that a test can read.
package chart

// Drawing is one picture. Lengths are in units of its own view box, which is about as wide in
// pixels as the drawing is shown.
type Drawing struct {
	Width, Height float64
	Label         string // what a reader who cannot see it is told
	Shapes        []Shape
}

// Shape is one element. Class decides about colour, in the style sheet.
type Shape struct {
	Kind   string // path, rect, dot, text
	Class  string
	D      string // of a path
	X, Y   float64
	W, H   float64
	Text   string
	Anchor string // start, middle, end
	Title  string // shown when pointed at
}

// Figure is one picture with its words. It is drawn twice, for a desk and for a phone, because
// a drawing that is scaled down is one whose labels cannot be read.
type Figure struct {
	Title   string
	Caption string
	Full    bool // as wide as the page; otherwise two stand side by side
	Desk    *Drawing
	Phone   *Drawing
	Legend  []LegendItem
	File    string // address of a file that has it alone; empty is none
}

// LegendItem is a colour and what it stands for.
type LegendItem struct{ Class, Text string }

// Sizes of the drawings.
const (
	halfWidth, fullWidth, phoneWidth = 500, 1040, 366
	halfHeight, fullHeight           = 230, 340
	phoneHeight                      = 250
)

// Draw renders a figure in both sizes.
func (f Figure) Draw(drawing func(width, height float64) *Drawing) Figure {
	if f.Full {
		return f.DrawTall(fullHeight, phoneHeight, drawing)
	}
	return f.DrawTall(halfHeight, phoneHeight, drawing)
}

// DrawTall renders a figure that has heights of its own, such as one with a row for each of many.
func (f Figure) DrawTall(desk, phone float64, drawing func(width, height float64) *Drawing) Figure {
	width := float64(halfWidth)
	if f.Full {
		width = fullWidth
	}
	f.Desk, f.Phone = drawing(width, desk), drawing(phoneWidth, phone)
	return f
}

// TicksFor is how many ticks an axis of that length bears.
func TicksFor(width float64) int { return max(4, int(width/90)) }
