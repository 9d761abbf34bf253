package demo

import (
	"github.com/umascope/umascope/loadgen/render"
)

// wide is the width, in pixels, from which frames are placed next to each other, and below each other if narrower.
const wide = 700

// Room around frames that share a drawing, in pixels.
const (
	panelLeft, panelRight, panelGap = 46, 10, 26
	panelTop, panelBottom           = 44, 42
)

// side is the place of a frame in a drawing with several.
type side struct {
	margins render.Margins
	// first reports whether the frame has the title of the vertical axis, last that of the horizontal one.
	first, last bool
	sideBySide  bool // a frame to its left has the numbers of the axis
}

// sides divides a drawing among n frames: next to each other if it is wide, else one below the other.
func sides(width, height float64, n int) []side {
	var all []side
	for i := range n {
		s := side{first: i == 0, last: true}
		if width >= wide {
			each := (width - panelLeft - panelRight - panelGap*float64(n-1)) / float64(n)
			left := panelLeft + float64(i)*(each+panelGap)
			s.margins = render.Margins{Left: left, Right: width - left - each, Top: panelTop, Bottom: panelBottom}
			s.sideBySide = i > 0
		} else {
			each := (height - panelBottom + 18) / float64(n)
			top := float64(i) * each
			s.margins = render.Margins{Left: panelLeft, Right: panelRight, Top: top + panelTop, Bottom: height - top - each + 18}
			if i == n-1 {
				s.margins.Bottom = panelBottom
			}
			s.last = i == n-1
		}
		all = append(all, s)
	}
	return all
}

// frame draws the axes of a side, without the titles that another side has.
func (s side) frame(width, height float64, x, y render.Axis, label string) *render.Frame {
	if !s.first {
		y.Title = ""
	}
	if !s.last {
		x.Title = ""
	}
	if s.sideBySide {
		y.Ticks = append([]render.Tick(nil), y.Ticks...)
		for i := range y.Ticks {
			y.Ticks[i].Text = ""
		}
	}
	return render.NewFrameIn(s.margins, width, height, x, y, label)
}

// gather combines the frames of a drawing. It drops texts without a letter: they are titles that were left out.
func gather(width, height float64, label string, frames []*render.Frame) *render.Drawing {
	d := &render.Drawing{Width: width, Height: height, Label: label}
	for _, f := range frames {
		d.Plots = append(d.Plots, f.Drawing.Plots...)
		for _, shape := range f.Drawing.Shapes {
			if shape.Kind != "text" || shape.Text != "" {
				d.Shapes = append(d.Shapes, shape)
			}
		}
	}
	return d
}

// figureLabels writes figures at the marks of a frame, from left to right. It leaves out a figure that would overlap the one
// before it: the tooltip of the mark shows it.
type figureLabels struct{ end float64 }

func (l *figureLabels) text(f *render.Frame, x, y float64, text string) {
	half := render.LetterWidth * float64(len([]rune(text))) / 2
	if l.end > 0 && x-half < l.end {
		return
	}
	f.Text("mark-text", x, y, "middle", text)
	l.end = x + half
}
