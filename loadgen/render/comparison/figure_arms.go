package comparison

import (
	"slices"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/stats"
)

// metricFigures returns two charts for each metric that is drawn: over the arms, and over time.
func metricFigures(c compare.Comparison, s compare.Stratum) []render.Figure {
	var figures []render.Figure
	for _, k := range shown(s, mostFigures) {
		figures = append(figures, boxes(c, s, k), overTime(c, s, k))
	}
	return figures
}

// boxRuns is the number of runs from which on a box plot is drawn.
const boxRuns = 5

// boxes draws every run of a metric by arm, with a box plot and the mean next to it.
func boxes(c compare.Comparison, s compare.Stratum, k key) render.Figure {
	unit := k.unit()
	extent := noSpan()
	groups := map[string][]point{}
	var present []string
	for _, arm := range c.Arms {
		all := points(s, arm, k)
		if len(all) == 0 {
			continue
		}
		present = append(present, arm)
		groups[arm] = all
		extent.take(values(all)...)
		if m := meanOf(values(all)); m.ci != nil {
			extent.take(m.ci.Low, m.ci.High)
		}
	}
	f := render.Figure{Title: k.title() + ", by arm", Legend: legend(c, func(arm string) bool { return groups[arm] != nil })}
	f.Caption = counts(c, func(arm string) int { return len(groups[arm]) }) + "."
	band := marginBand(c, k, s, groups[c.Baseline])
	if band != nil {
		f.Caption += " Margin " + band.text + "."
		extent.take(band.lo, band.hi)
	}
	flagged := outliers(s, k)
	return f.Draw(func(width, height float64) *render.Drawing {
		y := closeAxis(unit, extent.lo, extent.hi, 6)
		frame := render.NewFrame(width, height, render.CategoryAxis(c.By, present), y, f.Title+": "+f.Caption)
		band.draw(frame)
		for i, arm := range present {
			class, form := armClass(c, arm)
			drawBox(frame, class, float64(i), values(groups[arm]))
			drawMean(frame, class, float64(i)+.3, groups[arm], unit)
			drawRuns(frame, class, form, float64(i), groups[arm], flagged, unit)
		}
		return frame.Drawing
	})
}

// area is a range of values with its meaning.
type area struct {
	lo, hi, mean float64
	text         string
}

// marginBand returns the range around the baseline's mean that the margin allows; nil where it cannot be computed.
func marginBand(c compare.Comparison, k key, s compare.Stratum, baseline []point) *area {
	if len(baseline) == 0 {
		return nil
	}
	for _, pair := range s.Pairs {
		m := find(pair, k)
		if m == nil || pair.A != c.Baseline || m.Margin.Value == 0 {
			continue
		}
		middle := meanOf(values(baseline)).value
		width := m.Margin.Value
		if m.Margin.Relative {
			width *= middle
		}
		return &area{middle - width, middle + width, middle, "±" + m.Margin.Text(figure.Unit(m.Unit))}
	}
	return nil
}

func (a *area) draw(f *render.Frame) {
	if a == nil {
		return
	}
	top, bottom := f.PY(a.hi), f.PY(a.lo)
	f.Add(render.Shape{Kind: "rect", Class: "margin", X: f.Left, Y: top, W: render.Tenth(f.Right - f.Left), H: render.Tenth(bottom - top), Title: "margin " + a.text})
	f.Line("mark", f.Left, f.PY(a.mean), f.Right, f.PY(a.mean))
}

// slot returns the width of a category on the drawing.
func slot(f *render.Frame) float64 { return (f.Right - f.Left) / (f.X.Hi - f.X.Lo) }

func drawBox(f *render.Frame, class string, at float64, x []float64) {
	if len(x) < boxRuns {
		return
	}
	slices.Sort(x)
	half := min(26, 0.2*slot(f))
	middle := f.PX(at)
	low, median, high := stats.Quantile(x, .25), stats.Quantile(x, .5), stats.Quantile(x, .75)
	f.Whisker("whisker", middle, x[0], low, 0, "")
	f.Whisker("whisker", middle, high, x[len(x)-1], 0, "")
	f.Add(render.Shape{Kind: "rect", Class: "box " + class, X: render.Tenth(middle - half), Y: f.PY(high), W: render.Tenth(2 * half), H: render.Tenth(f.PY(low) - f.PY(high))})
	f.Line("median", middle-half, f.PY(median), middle+half, f.PY(median))
}

func drawMean(f *render.Frame, class string, at float64, all []point, unit figure.Unit) {
	m := meanOf(values(all))
	x, y := f.PX(at), f.PY(m.value)
	title := all[0].arm + ": " + m.text(unit, len(all))
	if m.ci != nil {
		f.Whisker("whisker strong", x, m.ci.Low, m.ci.High, 5, title)
	}
	f.Mark(3, class+" mean", x, y, title)
}

// drawRuns spreads the runs of an arm to the right in their order, so that none hides another.
func drawRuns(f *render.Frame, class string, form int, at float64, all []point, flagged map[string]bool, unit figure.Unit) {
	half := min(20, 0.16*slot(f))
	for i, p := range all {
		x := f.PX(at)
		if len(all) > 1 {
			x += half * (2*float64(i)/float64(len(all)-1) - 1)
		}
		drawRun(f, class, form, x, p, flagged, unit)
	}
}

// drawRun marks a run at a position of the drawing, with a ring around an outlier.
func drawRun(f *render.Frame, class string, form int, x float64, p point, flagged map[string]bool, unit figure.Unit) {
	y := f.PY(p.value)
	if flagged[p.run.Run] {
		f.Add(render.Shape{Kind: "dot", Class: "ring", X: render.Tenth(x), Y: y, W: 6.5})
	}
	f.Mark(form, class+" run", x, y, p.text(unit))
}
