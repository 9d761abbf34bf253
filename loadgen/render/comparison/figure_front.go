package comparison

import (
	"slices"
	"strconv"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// mostFront is the number of charts above the strata, and mostBars the number of strata that they show.
const (
	mostFront = 8
	mostBars  = 12
)

// frontFigures draws the headline metrics of all strata side by side, a bar for each arm; none for a single stratum,
// whose own charts have the same data.
func frontFigures(c compare.Comparison) []render.Figure {
	if len(c.Strata) < 2 || len(c.Strata) > mostBars {
		return nil
	}
	var figures []render.Figure
	for _, name := range headline() {
		for _, k := range []key{{name, false}, {name, true}} {
			if f := bars(c, k); f.Drawn() && len(figures) < mostFront {
				figures = append(figures, f)
			}
		}
	}
	return figures
}

// group holds the runs of an arm in a stratum.
type group struct {
	stratum int
	arm     string
	runs    []point
	mean    mean
}

// bars draws the means of a metric; not drawn unless two strata have it.
func bars(c compare.Comparison, k key) render.Figure {
	var groups []group
	extent := span{}
	with := map[int]bool{}
	for i, s := range c.Strata {
		for _, arm := range c.Arms {
			if all := points(s, arm, k); len(all) > 0 {
				g := group{i, arm, all, meanOf(values(all))}
				if g.mean.ci != nil {
					extent.take(g.mean.ci.High)
				}
				extent.take(values(all)...)
				groups = append(groups, g)
				with[i] = true
			}
		}
	}
	if len(with) < 2 || extent.lo < 0 || extent.hi <= 0 {
		return render.Figure{}
	}
	var names []string
	for _, s := range c.Strata {
		names = append(names, stratumName(c, s))
	}
	f := render.Figure{Title: k.title(), Legend: legend(c, func(arm string) bool { return slices.ContainsFunc(groups, func(g group) bool { return g.arm == arm }) })}
	f.Caption = counts(c, func(arm string) (n int) {
		for _, g := range groups {
			if g.arm == arm {
				n += len(g.runs)
			}
		}
		return n
	}) + ", a mark each. A bar is their mean, its line the 95 % interval."
	return f.Draw(func(width, height float64) *render.Drawing {
		frame := render.NewFrame(width, height, render.CategoryAxis("", names), wholeAxis(k.unit(), extent.hi*1.08, 4), f.Title+": "+f.Caption)
		for _, g := range groups {
			drawBar(frame, c, k, g)
		}
		return frame.Drawing
	})
}

func drawBar(f *render.Frame, c compare.Comparison, k key, g group) {
	class, form := armClass(c, g.arm)
	each := 0.8 * slot(f) / float64(len(c.Arms))
	left := f.PX(float64(g.stratum)) - 0.4*slot(f) + each*float64(slices.Index(c.Arms, g.arm))
	top := f.PY(g.mean.value)
	title := g.arm + ": " + g.mean.text(k.unit(), len(g.runs))
	f.Add(render.Shape{Kind: "rect", Class: "bar " + class, X: render.Tenth(left + 1), Y: top, W: render.Tenth(each - 2), H: render.Tenth(f.Bottom - top), Title: title})
	highest := top
	for i, p := range g.runs {
		x := left + each*(0.2+0.6*(float64(i)+0.5)/float64(len(g.runs)))
		f.Mark(form, class+" run", x, f.PY(p.value), p.text(k.unit()))
		highest = min(highest, f.PY(p.value))
	}
	if g.mean.ci != nil {
		f.Whisker("whisker strong", left+each/2, g.mean.ci.Low, g.mean.ci.High, 5, title)
		highest = min(highest, f.PY(g.mean.ci.High))
	}
	if text := barText(k.unit(), g.mean.value); render.LetterWidth*float64(len(text)) < each+1 {
		f.Text("value", left+each/2, highest-7, "middle", text)
	}
}

// barText formats the mean above a bar, in the unit of the axis.
func barText(unit figure.Unit, v float64) string {
	return strconv.FormatFloat(v*scaleOf(unit, v).by, 'g', 4, 64)
}
