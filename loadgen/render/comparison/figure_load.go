package comparison

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// loadFigures draws metrics over a number in which strata differ, such as the concurrency of a sweep.
func loadFigures(c compare.Comparison) []render.Figure {
	var figures []render.Figure
	for _, label := range c.Within {
		loads, ok := numbersOf(c, label)
		if !ok {
			continue
		}
		for _, group := range alongside(c, label) {
			figures = append(figures, overLoad(c, label, loads, group)...)
		}
	}
	return figures[:min(len(figures), 2*mostFigures)]
}

// course holds the strata that differ in one number only, in its order.
type course struct {
	name   string // their common labels
	strata []compare.Stratum
}

// alongside groups strata by everything except one label.
func alongside(c compare.Comparison, label string) []course {
	var courses []course
	for _, s := range c.Strata {
		var rest []string
		for _, name := range c.Within {
			if name != label {
				rest = append(rest, name+" "+s.Within[name])
			}
		}
		name := strings.Join(rest, ", ")
		i := slices.IndexFunc(courses, func(o course) bool { return o.name == name })
		if i < 0 {
			i = len(courses)
			courses = append(courses, course{name: name})
		}
		courses[i].strata = append(courses[i].strata, s)
	}
	slices.SortStableFunc(courses, func(a, b course) int { return cmp.Compare(a.name, b.name) })
	return courses
}

// numbersOf reads the values of a label as loads; not ok unless all are numbers above 0, and two differ.
func numbersOf(c compare.Comparison, label string) (map[string]float64, bool) {
	loads := map[string]float64{}
	for _, s := range c.Strata {
		text := s.Within[label]
		v, err := strconv.ParseFloat(text, 64)
		if err != nil || !(v > 0) || v > 1e12 {
			return nil, false
		}
		loads[text] = v
	}
	return loads, len(loads) >= 2
}

// overLoad draws the headline metrics of a course, a line for each arm.
func overLoad(c compare.Comparison, label string, loads map[string]float64, along course) []render.Figure {
	var figures []render.Figure
	for _, name := range []string{figure.OutputTokensPerSecond, figure.ToolOutputTokensPerSecond, "requests_per_second", figure.TimeToFirstToken, figure.TimePerOutputToken, figure.RequestDuration} {
		curves := map[string][]loaded{}
		extent := noSpan()
		for _, arm := range c.Arms {
			for _, s := range along.strata {
				if all := points(s, arm, key{name: name}); len(all) > 0 {
					curves[arm] = append(curves[arm], loaded{loads[s.Within[label]], all})
					extent.take(values(all)...)
				}
			}
			slices.SortFunc(curves[arm], func(a, b loaded) int { return cmp.Compare(a.load, b.load) })
		}
		if slices.ContainsFunc(c.Arms, func(arm string) bool { return len(curves[arm]) >= 2 }) {
			figures = append(figures, drawLoad(c, label, key{name: name}, along.name, curves, extent))
		}
	}
	return figures
}

// loaded holds the runs of an arm at one load.
type loaded struct {
	load float64
	runs []point
}

func drawLoad(c compare.Comparison, label string, k key, common string, curves map[string][]loaded, extent span) render.Figure {
	unit := k.unit()
	f := render.Figure{Title: k.title() + " over " + label, Legend: legend(c, func(arm string) bool { return curves[arm] != nil })}
	if common != "" {
		f.Title += ", " + common
	}
	f.Caption = counts(c, func(arm string) (n int) {
		for _, l := range curves[arm] {
			n += len(l.runs)
		}
		return n
	}) + ", a mark each; the line goes through their means, with 95 % intervals."
	return f.Draw(func(width, height float64) *render.Drawing {
		frame := render.NewFrame(width, height, render.LoadAxis(label, loadsOf(curves)), overLoadAxis(unit, extent), f.Title+": "+f.Caption)
		for _, arm := range c.Arms {
			class, form := armClass(c, arm)
			var line []render.Place
			for _, l := range curves[arm] {
				m := meanOf(values(l.runs))
				line = append(line, render.Place{X: l.load, Y: m.value})
				if m.ci != nil {
					frame.Whisker("whisker", frame.PX(l.load), max(0, m.ci.Low), m.ci.High, 4, arm+": "+m.text(unit, len(l.runs)))
				}
				for _, p := range l.runs {
					frame.Mark(form, class+" run", frame.PX(l.load), frame.PY(p.value), p.text(unit))
				}
			}
			frame.Series(class, arm, [][]render.Place{line})
		}
		return frame.Drawing
	})
}

func loadsOf(curves map[string][]loaded) []float64 {
	var loads []float64
	for _, curve := range curves {
		for _, l := range curve {
			loads = append(loads, l.load)
		}
	}
	return loads
}

// overLoadAxis begins at 0, except for durations that differ by more than a decade.
func overLoadAxis(unit figure.Unit, extent span) render.Axis {
	if unit == figure.Seconds {
		return render.DurationAxis(extent.lo, extent.hi)
	}
	return wholeAxis(unit, extent.hi, 4)
}
