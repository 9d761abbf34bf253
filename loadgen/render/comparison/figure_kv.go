package comparison

import (
	"fmt"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
)

// kvOf returns the metric that is the x of a KV model.
func kvOf(m compare.KVModel) string {
	if m.Of == compare.KVOfFree {
		return "free_at_kv_sizing_bytes"
	}
	return figure.MemoryOccupiedWithoutKV
}

// kvWords describes the model and whether it explains the capacities.
func kvWords(m compare.KVModel) string {
	equation := fmt.Sprintf("KV cache = %.3g × memory free at sizing", m.Fraction)
	if m.Of != compare.KVOfFree {
		equation = fmt.Sprintf("KV cache = %.3g × (%s − memory occupied without KV cache)", m.Fraction, figure.Bytes.Text(m.TotalBytes))
	}
	text := fmt.Sprintf("%s, n = %d runs, largest residual %s.", equation, m.N, figure.Bytes.Text(m.ResidualBytes))
	if m.Of != compare.KVOfFree {
		text += fmt.Sprintf(" %s is fitted to the runs, not the measured pool.", figure.Bytes.Text(m.TotalBytes))
	}
	if m.Explained {
		return text + " That explains the KV cache: the two figures are one effect, and count once."
	}
	if m.Fails {
		return text + " That does not explain the KV cache."
	}
	return text + fmt.Sprintf(" That explains %.3g %% of the variance of the KV cache.", 100*m.Share)
}

// overallKV returns the model over all runs.
func overallKV(c compare.Comparison) *kvModel {
	if c.KVModel == nil {
		return nil
	}
	return newKV(c, c.Strata, *c.KVModel)
}

// newKV draws the runs of some strata with the line of the model.
func newKV(c compare.Comparison, strata []compare.Stratum, m compare.KVModel) *kvModel {
	k := &kvModel{Text: kvWords(m)}
	dots := map[string][]kvDot{}
	x, y := noSpan(), noSpan()
	for _, s := range strata {
		for _, arm := range c.Arms {
			capacities := map[string]float64{}
			for _, p := range eitherWay(s, arm, figure.KVCapacity) {
				capacities[p.run.Run] = p.value
			}
			for _, p := range eitherWay(s, arm, kvOf(m)) {
				if kv, ok := capacities[p.run.Run]; ok {
					dots[arm] = append(dots[arm], kvDot{p, kv})
					x.take(p.value)
					y.take(kv)
				}
			}
		}
	}
	if len(dots) == 0 {
		return k
	}
	title := "KV cache and memory occupied without it"
	if m.Of == compare.KVOfFree {
		title = "KV cache and memory free at sizing"
	}
	f := render.Figure{Title: title, Legend: legend(c, func(arm string) bool { return dots[arm] != nil })}
	f.Caption = counts(c, func(arm string) int { return len(dots[arm]) }) + ", a mark each. The line is the model."
	k.Figure = f.Draw(func(width, height float64) *render.Drawing {
		right, up := closeAxis(figure.Bytes, x.lo, x.hi, render.TicksFor(width)), closeAxis(figure.Bytes, y.lo, y.hi, 4)
		right.Title, up.Title = key{name: kvOf(m)}.title()+", "+right.Title, "KV cache, "+up.Title
		frame := render.NewFrame(width, height, right, up, f.Title+": "+f.Caption)
		at := func(v float64) render.Place {
			if m.Of == compare.KVOfFree {
				return render.Place{X: v, Y: m.Fraction * v}
			}
			return render.Place{X: v, Y: m.Fraction * (m.TotalBytes - v)}
		}
		frame.Polyline("mark", "", [][]render.Place{{at(x.lo), at(x.hi)}})
		for _, arm := range c.Arms {
			class, form := armClass(c, arm)
			for _, d := range dots[arm] {
				frame.Mark(form, class+" run", frame.PX(d.value), frame.PY(d.kv), fmt.Sprintf("%s, KV cache %s", d.text(figure.Bytes), figure.Bytes.Text(d.kv)))
			}
		}
		return frame.Drawing
	})
	return k
}

// eitherWay returns the values of an arm's runs from any source: a model uses measured and reported values.
func eitherWay(s compare.Stratum, arm, name string) []point {
	return append(points(s, arm, key{name, false}), points(s, arm, key{name, true})...)
}

type kvDot struct {
	point
	kv float64
}
