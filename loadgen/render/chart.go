package render

import (
	"encoding/json"
	"slices"
	"strconv"
)

// Charts are drawn here instead of by a chart library: a page must be self-contained, work without a script, follow the
// reader's light or dark setting, and be text that a test can read.

// Drawing is one picture. Lengths are in units of its own view box, which is about as wide in
// pixels as the drawing is shown.
type Drawing struct {
	Width, Height float64
	Label         string // the text of screen readers
	Shapes        []Shape
	Plots         []Plot // where the axes are
}

// Plot is the area between two axes, from which tips compute the values of series.
type Plot struct {
	Left, Top, Right, Bottom float64
	X, Y                     Axis
}

// PlotData returns the plots for the script of a page: of each its edges, then the ends, the kind and the title of both
// axes. It is empty for a drawing without a series: the tip of any other shape is its title.
func (d *Drawing) PlotData() string {
	if !slices.ContainsFunc(d.Shapes, func(s Shape) bool { return s.Series }) {
		return ""
	}
	number := func(v float64) json.Number { return json.Number(strconv.FormatFloat(v, 'g', 6, 64)) }
	var all [][]any
	for _, p := range d.Plots {
		row := []any{Tenth(p.Left), Tenth(p.Top), Tenth(p.Right), Tenth(p.Bottom)}
		for _, a := range []Axis{p.X, p.Y} {
			scale := a.Scale
			if scale == 0 {
				scale = 1
			}
			row = append(row, number(a.Lo*scale), number(a.Hi*scale), a.Log, a.Title)
		}
		all = append(all, row)
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "" // an axis without numbers has no values
	}
	return string(text)
}

// Shape is one element. Class selects its colour in the style sheet.
type Shape struct {
	Kind   string // path, rect, dot, text
	Class  string
	D      string // of a path
	X, Y   float64
	W, H   float64
	Text   string
	Anchor string // start, middle, end
	Title  string // shown in a tip
	Series bool   // a path over the horizontal axis: its tip has the value at the pointer
}

// Figure is one chart with its words. It is drawn twice, for a desktop and for a phone, because the labels of a
// scaled-down drawing cannot be read.
type Figure struct {
	Title   string
	Caption string
	Full    bool // as wide as the page; otherwise two are side by side
	Desk    *Drawing
	Phone   *Drawing
	Legend  []LegendItem
	File    string // address of a file with this chart alone; empty for none
}

// Drawn reports whether the figure has a drawing. One without, because there was nothing to draw, is not shown.
func (f Figure) Drawn() bool { return f.Desk != nil }

// LegendItem is a colour with its meaning.
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

// TicksFor returns the number of ticks that fit on an axis of that length.
func TicksFor(width float64) int { return max(4, int(width/90)) }
