package comparison

import (
	"fmt"
	"math"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// ratioRow is a metric of a pair as a ratio to the baseline, with its interval and its margin.
type ratioRow struct {
	name, text string
	class      string
	at, lo, hi float64 // lo and hi equal at without an interval
	marginLow  float64
	marginHigh float64
	interval   bool // true if it has one
	// inconclusive is true for that verdict.
	inconclusive bool
}

// farthest is the largest ratio, or its inverse, on the axis; values beyond are at the edge.
const farthest = 20

// newRatio returns nil for a metric without a ratio, such as a temperature.
func newRatio(m compare.Metrics) *ratioRow {
	base := m.A.Mean
	if base == nil || *base <= 0 || figure.Unit(m.Unit) == figure.Celsius || m.Ratio == nil || *m.Ratio <= 0 {
		return nil
	}
	r := &ratioRow{name: keyOf(m).title(), at: *m.Ratio, class: verdictClass(m), inconclusive: m.Verdict == compare.Inconclusive, interval: m.RatioCI95 != nil || m.CI95 != nil, text: fmt.Sprintf("%s  %s", figure.Change(*m.Ratio), VerdictText(m))}
	width := m.Margin.Value
	if !m.Margin.Relative {
		width /= *base
	}
	r.marginLow, r.marginHigh = max(1-width, 1./farthest), 1+width
	switch {
	case m.RatioCI95 != nil:
		r.lo, r.hi = m.RatioCI95[0], m.RatioCI95[1]
	case m.CI95 != nil:
		r.lo, r.hi = 1 + m.CI95[0] / *base, 1 + m.CI95[1] / *base
	default:
		r.lo, r.hi = r.at, r.at
	}
	for _, v := range []*float64{&r.at, &r.lo, &r.hi} {
		*v = min(farthest, max(1./farthest, *v))
	}
	return r
}

// forest draws the ratios of all metrics of a pair below each other; not drawn without any.
func forest(c compare.Comparison, s compare.Stratum, pair compare.Pair) render.Figure {
	var rows []ratioRow
	extent := span{1, 1}
	without := 0
	for _, m := range pair.Metrics {
		r := newRatio(m)
		if r == nil {
			without++
			continue
		}
		rows = append(rows, *r)
		extent.take(r.at, r.lo, r.hi, r.marginLow, r.marginHigh)
	}
	if len(rows) == 0 {
		return render.Figure{}
	}
	f := render.Figure{Title: pair.B + " as a multiple of " + pair.A, Full: true}
	f.Caption = pairCounts(c, s, pair) + ". A mark is the ratio of the means, its line the 95 % interval, the grey stretch the margin that does not matter: an interval inside it does not matter." + outsideOne(rows)
	if without > 0 {
		f.Caption += fmt.Sprintf(" %d more without a ratio stand in the table.", without)
	}
	f.Legend = []render.LegendItem{{Class: "c1", Text: "better"}, {Class: "c2", Text: "worse"}, {Class: "c3", Text: "different"}, {Class: "c0", Text: "equivalent or irrelevant"}, {Class: "c7", Text: "inconclusive or confounded"}}
	return f.DrawTall(74+24*float64(len(rows)), 74+40*float64(len(rows)), func(width, height float64) *render.Drawing {
		return drawForest(rows, extent, width, height, f.Title+": "+f.Caption)
	})
}

// outsideOne explains the intervals that exclude 1 and are not inside the margin, as far as there are any: the verdict
// is a difference or, after adjustment for the number of metrics, inconclusive.
func outsideOne(rows []ratioRow) string {
	findings, adjusted := 0, 0
	for _, r := range rows {
		outside := r.interval && (r.lo > 1 || r.hi < 1)
		switch {
		case !outside || r.marginLow < r.lo && r.hi < r.marginHigh:
		case r.inconclusive:
			adjusted++
		default:
			findings++
		}
	}
	text := ""
	if findings > 0 {
		text = " One that is all beside 1 is a difference; it matters if it lies wholly beyond the stretch."
	}
	switch {
	case adjusted == 1:
		text += " One is all beside 1 and still inconclusive: among so many figures chance alone makes such a one (Holm)."
	case adjusted > 1:
		text += fmt.Sprintf(" %d are all beside 1 and still inconclusive: among so many figures chance alone makes such ones (Holm).", adjusted)
	}
	return text
}

// wide is the width from which on names are next to their row instead of above it.
const wide = 700

func drawForest(rows []ratioRow, extent span, width, height float64, label string) *render.Drawing {
	margins := render.Margins{Left: 12, Right: 12, Top: 10, Bottom: 42}
	names := width >= wide
	if names {
		margins.Left, margins.Right = 350, 274
	}
	x := ratioAxis(extent, width-margins.Left-margins.Right)
	frame := render.NewFrameIn(margins, width, height, x, render.Axis{Lo: 0, Hi: 1}, label)
	each := (frame.Bottom - frame.Top) / float64(len(rows))
	one := frame.PX(1)
	if names {
		frame.Line("mark", one, frame.Top, one, frame.Bottom)
	}
	for i, r := range rows {
		y := frame.Top + (float64(i)+0.5)*each
		if names {
			frame.Text("row", frame.Left-10, y+4, "end", render.Shorten(r.name, frame.Left-14))
			frame.Text("row", frame.Right+10, y+4, "start", render.Shorten(r.text, width-frame.Right-14))
		} else {
			room := frame.Right - frame.Left - render.LetterWidth*float64(len([]rune(r.text))+2)
			frame.Text("row", frame.Left, y-6, "start", render.Shorten(r.name, room)+"  "+r.text)
			y += 7
			frame.Line("mark", one, y-10, one, y+10)
		}
		drawRatio(frame, r, y)
	}
	return frame.Drawing
}

func drawRatio(f *render.Frame, r ratioRow, y float64) {
	low, high := f.PX(r.marginLow), f.PX(r.marginHigh)
	f.Add(render.Shape{Kind: "rect", Class: "margin", X: low, Y: render.Tenth(y - 7), W: render.Tenth(max(1, high-low)), H: 14})
	f.Line("whisker strong", f.PX(r.lo), y, f.PX(r.hi), y)
	f.Mark(0, r.class+" mean", f.PX(r.at), y, fmt.Sprintf("%s: %s, 95 %% CI %s to %s", r.name, r.text, figure.Change(r.lo), figure.Change(r.hi)))
}

// ratioAxis is logarithmic around 1: half and double are equally far away.
func ratioAxis(extent span, width float64) render.Axis {
	reach := 1.02 * max(math.Log(extent.hi), -math.Log(extent.lo), math.Log(1.005))
	a := render.Axis{Title: "ratio, logarithmic", Lo: math.Exp(-reach), Hi: math.Exp(reach), Log: true}
	ticks := []float64{.05, .1, .2, .5, 1, 2, 5, 10, 20}
	for _, finer := range [][]float64{
		{.2, .3, .5, .7, 1, 1.4, 2, 3, 5}, {.5, .6, .7, .8, .9, 1, 1.1, 1.25, 1.5, 1.75, 2}, {.8, .85, .9, .95, 1, 1.05, 1.1, 1.15, 1.2},
		{.9, .92, .94, .96, .98, 1, 1.02, 1.04, 1.06, 1.08, 1.1}, {.97, .98, .99, 1, 1.01, 1.02, 1.03}, {.99, .995, 1, 1.005, 1.01},
	} {
		if finer[len(finer)-1] < a.Hi {
			break
		}
		ticks = finer
	}
	for _, t := range ticks {
		if t >= a.Lo && t <= a.Hi {
			a.Ticks = append(a.Ticks, render.Tick{At: t, Text: render.Number(t)})
		}
	}
	return a
}
