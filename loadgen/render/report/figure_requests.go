package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

func timelineFigures(t *summary.Timeline, phases []render.PhaseSpan) []render.Figure {
	if t.Seen == 0 || t.End <= 0 {
		return nil
	}
	figures := []render.Figure{everyRequest(t, phases), timeCurve(t, "Requests in flight", "requests", "c3", t.Running, phases), output(t, phases)}
	for _, h := range []struct {
		title, counts string
		of            *summary.Heat
	}{
		{"Time to first token over time", "requests", &t.First},
		{"Request duration over time", "requests", &t.Whole},
		{"Gaps between chunks over time", "gaps", &t.Gaps},
	} {
		if f, ok := heatFigure(h.of, h.title, h.counts, t.End, phases); ok {
			figures = append(figures, f)
		}
	}
	return figures
}

// everyRequest shows every request at the time when it was sent.
func everyRequest(t *summary.Timeline, phases []render.PhaseSpan) render.Figure {
	f := render.Figure{Title: "Every request", Full: true, Legend: []render.LegendItem{{Class: "c0", Text: "duration"}}}
	if slices.ContainsFunc(t.Kept, func(s summary.Sent) bool { return s.TTFT >= 0 }) {
		f.Legend = append(f.Legend, render.LegendItem{Class: "c4", Text: "time to first token"})
	}
	f.Caption = fmt.Sprintf("n = %d requests of all phases, by when they were sent.", t.Seen)
	if t.Every > 1 {
		f.Caption = fmt.Sprintf("One in %d of n = %d requests of all phases, by when they were sent.", t.Every, t.Seen)
	}
	failed := 0
	highest := 0.0
	for _, s := range t.Kept {
		highest = max(highest, s.E2E)
		if s.Status != openai.StatusOK {
			failed++
		}
	}
	if failed > 0 {
		f.Legend = append(f.Legend, render.LegendItem{Class: "c2", Text: "not ok: time until it ended"})
	}
	scale, unit := render.SecondsUnit(highest)
	return f.Draw(func(width, height float64) *render.Drawing {
		frame := render.NewFrame(width, height, render.TimeAxis(t.End, render.TicksFor(width)), render.LinearAxis(unit, 0, highest, scale, 5), f.Title+": "+f.Caption)
		frame.Phases(phases)
		for _, s := range t.Kept {
			drawRequest(frame, s)
		}
		return frame.Drawing
	})
}

func drawRequest(f *render.Frame, s summary.Sent) {
	x := f.PX(s.At)
	if s.Status != openai.StatusOK {
		f.Cross(x, f.PY(s.E2E), fmt.Sprintf("%s after %s, sent at %s", s.Status, format.Seconds(s.E2E), format.Seconds(s.At)))
		return
	}
	title := "sent at " + format.Seconds(s.At)
	if s.TTFT >= 0 {
		f.Add(render.Shape{Kind: "dot", Class: "c4", X: x, Y: f.PY(s.TTFT), W: 2})
		title += ", first token after " + format.Seconds(s.TTFT)
	}
	f.Add(render.Shape{Kind: "dot", Class: "c0", X: x, Y: f.PY(s.E2E), W: 2.5, Title: title + ", done after " + format.Seconds(s.E2E)})
}

func output(t *summary.Timeline, phases []render.PhaseSpan) render.Figure {
	unit := "chunks per second"
	if t.Counted {
		unit = "tokens per second"
	}
	return timeCurve(t, "Output", unit, "c1", t.Tokens, phases)
}

// timeCurve draws one value per bin as an area from 0.
func timeCurve(t *summary.Timeline, title, unit, class string, bins []float64, phases []render.PhaseSpan) render.Figure {
	highest := 0.0
	var lower, upper []render.Place
	for i, v := range bins {
		highest = max(highest, v)
		for _, at := range []int{i, i + 1} {
			x := t.End * float64(at) / summary.TimelineBins
			lower, upper = append(lower, render.Place{X: x, Y: 0}), append(upper, render.Place{X: x, Y: v})
		}
	}
	f := render.Figure{Title: title}
	f.Caption = fmt.Sprintf("n = %d requests of all phases; mean over %s at a time, at most %s.", t.Seen, format.Seconds(t.End/summary.TimelineBins), format.Digits(math.Round(highest*100)/100))
	return f.Draw(func(width, height float64) *render.Drawing {
		frame := render.NewFrame(width, height, render.TimeAxis(t.End, render.TicksFor(width)), render.LinearAxis(unit, 0, highest*1.1, 1, 4), title+": "+f.Caption)
		frame.Area(class, "", lower, upper)
		frame.Phases(phases)
		return frame.Drawing
	})
}
