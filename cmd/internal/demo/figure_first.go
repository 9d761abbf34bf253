package demo

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/render"
)

// firstFigure draws the time to first token of every request by where its KV cache came from; not drawn without any.
func firstFigure(passes []Pass) render.Figure {
	lo, hi := math.Inf(1), 0.0
	var with []Pass
	var counts []string
	for _, p := range passes {
		if len(p.Seconds) == 0 {
			continue
		}
		with, counts = append(with, p), append(counts, fmt.Sprintf("%d (%s)", len(p.Seconds), p.Name))
		lo, hi = min(lo, slices.Min(p.Seconds)), max(hi, slices.Max(p.Seconds))
	}
	if len(with) == 0 {
		return render.Figure{}
	}
	f := render.Figure{Title: "Time to the first token, by where the KV cache of the prompt came from (simulated)", Full: true}
	f.Caption = "n = " + strings.Join(counts, ", ") + " requests, a mark each; wall time, from the dispatch of the request. The line is the median. " +
		"Times of a simulated engine: their order can be read, their size says nothing of a Spark."
	return f.DrawTall(60+44*float64(len(with)), 60+58*float64(len(with)), func(width, height float64) *render.Drawing {
		return drawFirst(with, render.DurationAxis(lo, hi), width, height, f.Title+": "+f.Caption)
	})
}

func drawFirst(passes []Pass, x render.Axis, width, height float64, label string) *render.Drawing {
	margins := render.Margins{Left: 14, Right: 20, Top: 10, Bottom: panelBottom}
	sideBySide := width >= wide
	if sideBySide {
		margins.Left = 300
	}
	f := render.NewFrameIn(margins, width, height, x, render.Axis{Lo: 0, Hi: 1}, label)
	each := (f.Bottom - f.Top) / float64(len(passes))
	for i, p := range passes {
		y := f.Top + (float64(i)+0.5)*each
		if sideBySide {
			f.Text("row strong", f.Left-12, y+4, "end", render.Shorten(p.Name, f.Left-14))
		} else {
			f.Text("row strong", f.Left, y-14, "start", render.Shorten(p.Name, f.Right-f.Left))
			y += 8
		}
		class := armClasses[i%len(armClasses)]
		for k, v := range p.Seconds {
			// Marks with the same time would hide each other, so they are drawn in five rows.
			f.Mark(i, class+" run", f.PX(v), y+float64(k%5-2)*3, fmt.Sprintf("%s: %s", p.Name, render.FormatSeconds(v)))
		}
		middle := median(p.Seconds)
		f.Line("median", f.PX(middle), y-13, f.PX(middle), y+13)
		if text := render.FormatSeconds(middle); f.PX(middle)+6+render.LetterWidth*float64(len(text)) > width-4 {
			f.Text("mark-text", f.PX(middle)-6, y-9, "end", text)
		} else {
			f.Text("mark-text", f.PX(middle)+6, y-9, "start", text)
		}
	}
	return f.Drawing
}

// median returns the median of at least one value.
func median(x []float64) float64 {
	sorted := slices.Sorted(slices.Values(x))
	return (sorted[(len(sorted)-1)/2] + sorted[len(sorted)/2]) / 2
}
