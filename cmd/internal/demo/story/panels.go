package story

import (
	"github.com/umascope/umascope/loadgen/render/chart"
)

// wide is from which width on frames stand beside each other, and no longer below.
const wide = 700

// Room around frames that share a drawing.
const (
	panelLeft, panelRight, panelGap = 46, 10, 26
	panelTop, panelBottom           = 44, 42
)

// side is where a frame of several stands.
type side struct {
	margins chart.Margins
	// first and last say whether it bears the title of the vertical axis, and of the horizontal one.
	first, last bool
	beside      bool // with another to its left, so that it needs no numbers
}

// sides shares a drawing among n frames: beside each other if it is wide, else one below the other.
func sides(width, height float64, n int) []side {
	var all []side
	for i := range n {
		s := side{first: i == 0, last: true}
		if width >= wide {
			each := (width - panelLeft - panelRight - panelGap*float64(n-1)) / float64(n)
			left := panelLeft + float64(i)*(each+panelGap)
			s.margins = chart.Margins{Left: left, Right: width - left - each, Top: panelTop, Bottom: panelBottom}
			s.beside = i > 0
		} else {
			each := (height - panelBottom + 18) / float64(n)
			top := float64(i) * each
			s.margins = chart.Margins{Left: panelLeft, Right: panelRight, Top: top + panelTop, Bottom: height - top - each + 18}
			if i == n-1 {
				s.margins.Bottom = panelBottom
			}
			s.last = i == n-1
		}
		all = append(all, s)
	}
	return all
}

// frame draws the axes of a side; a title that another side bears is left out.
func (s side) frame(width, height float64, x, y chart.Axis, label string) *chart.Frame {
	if !s.first {
		y.Title = ""
	}
	if !s.last {
		x.Title = ""
	}
	if s.beside {
		y.Ticks = append([]chart.Tick(nil), y.Ticks...)
		for i := range y.Ticks {
			y.Ticks[i].Text = ""
		}
	}
	return chart.NewFrameIn(s.margins, width, height, x, y, label)
}

// gather puts the frames of a drawing together. Texts without a letter are those of titles that were left out.
func gather(width, height float64, label string, frames []*chart.Frame) *chart.Drawing {
	d := &chart.Drawing{Width: width, Height: height, Label: label}
	for _, f := range frames {
		for _, shape := range f.Drawing.Shapes {
			if shape.Kind != "text" || shape.Text != "" {
				d.Shapes = append(d.Shapes, shape)
			}
		}
	}
	return d
}

// labels writes figures at the marks of a frame, from left to right. One that would run into the one before it is left
// out: the mark tells it when it is pointed at.
type labels struct{ end float64 }

func (l *labels) text(f *chart.Frame, x, y float64, text string) {
	half := chart.LetterWidth * float64(len([]rune(text))) / 2
	if l.end > 0 && x-half < l.end {
		return
	}
	f.Text("mark-text", x, y, "middle", text)
	l.end = x + half
}
