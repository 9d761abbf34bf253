package comparison

import (
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render"
)

// mostBlocks is the largest number of changes of arms that are marked; beyond it the marks of the runs show them.
const mostBlocks = 14

// overTime draws every run of a metric at its position in time.
func overTime(c compare.Comparison, s compare.Stratum, k key) render.Figure {
	unit := k.unit()
	var all []point
	extent := noSpan()
	for _, arm := range c.Arms {
		all = append(all, points(s, arm, k)...)
	}
	slices.SortStableFunc(all, func(a, b point) int { return a.run.StartedAt.Compare(b.run.StartedAt) })
	extent.take(values(all)...)
	of := func(arm string) (n int) {
		for _, p := range all {
			if p.arm == arm {
				n++
			}
		}
		return n
	}
	f := render.Figure{Title: k.title() + ", in the order of time", Legend: legend(c, func(arm string) bool { return of(arm) > 0 })}
	f.Caption = counts(c, of) + ", one after the other." + driftWords(c, s, k)
	flagged := outliers(s, k)
	blocks := blocksOf(all)
	return f.Draw(func(width, height float64) *render.Drawing {
		x := render.LinearAxis("runs in the order of their start", 1, float64(max(2, len(all))), 1, render.TicksFor(width)).Between(0.5, float64(len(all))+0.5)
		x.Ticks = slices.DeleteFunc(x.Ticks, func(t render.Tick) bool { return t.At != float64(int(t.At)) })
		frame := render.NewFrame(width, height, x, closeAxis(unit, extent.lo, extent.hi, 6), f.Title+": "+f.Caption)
		if len(blocks) <= mostBlocks {
			frame.Phases(blocks)
		}
		for _, arm := range c.Arms {
			class, _ := armClass(c, arm)
			drawThread(frame, class, arm, all)
		}
		for i, p := range all {
			class, form := armClass(c, p.arm)
			drawRun(frame, class, form, frame.PX(float64(i+1)), p, flagged, unit)
		}
		return frame.Drawing
	})
}

// drawThread joins consecutive runs of an arm.
func drawThread(f *render.Frame, class, arm string, all []point) {
	var threads [][]render.Place
	for i, p := range all {
		if p.arm != arm {
			continue
		}
		if i == 0 || all[i-1].arm != arm {
			threads = append(threads, nil)
		}
		last := len(threads) - 1
		threads[last] = append(threads[last], render.Place{X: float64(i + 1), Y: p.value})
	}
	f.Polyline("thread "+class, "", slices.DeleteFunc(threads, func(t []render.Place) bool { return len(t) < 2 }))
}

// blocksOf returns the stretches of runs of one arm.
func blocksOf(all []point) []render.PhaseSpan {
	var blocks []render.PhaseSpan
	for i, p := range all {
		if i == 0 || all[i-1].arm != p.arm {
			blocks = append(blocks, render.PhaseSpan{Name: p.arm, Start: float64(i) + 0.5})
		}
		blocks[len(blocks)-1].End = float64(i) + 1.5
	}
	return blocks
}

// driftWords describes the drift of a metric over time inside the arms.
func driftWords(c compare.Comparison, s compare.Stratum, k key) string {
	var parts []string
	for _, arm := range c.Arms {
		for _, series := range s.Arms[arm].Metrics {
			d := series.Drift
			if series.Name != k.name || series.EngineReported != k.engine || d.Spearman == nil {
				continue
			}
			text := fmt.Sprintf("%s %.2f", arm, *d.Spearman)
			if d.P != nil {
				text += fmt.Sprintf(" (p %.2g)", *d.P)
			}
			if d.Significant {
				text += ", drifts"
			}
			parts = append(parts, text)
		}
	}
	if len(parts) == 0 {
		return ""
	}
	return " Spearman with time: " + strings.Join(parts, "; ") + "."
}
