package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
)

// curve is one line over load: a figure by its name.
type curve struct{ name, class, figure string }

// figures returns throughput and latencies over load; none without two runs at different loads.
func (g Group) figures() []render.Figure {
	if len(g.loads()) < 2 {
		return nil
	}
	figures := []render.Figure{
		g.figure("Output", "tokens per second", []curve{{"whole run", "c1", figure.OutputTokensPerSecond}, {"steady state", "c3", figure.SteadyOutputTokensPerSecond}}, false),
		g.figure("Requests", "requests per second", []curve{{"ended", "c1", figure.RequestsPerSecond}, {"within the SLO", "c4", figure.RequestsWithinSLOPerSecond}}, false),
	}
	for _, l := range figure.Latencies() {
		if l.Chart != "" {
			figures = append(figures, g.figure(l.Chart, "", []curve{{"p50", "c0", l.Figure("p50")}, {"p95", "c2", l.Figure("p95")}}, true))
		}
	}
	return slices.DeleteFunc(figures, func(f render.Figure) bool { return !f.Drawn() })
}

// figure draws curves over load; empty without a value.
func (g Group) figure(title, unit string, curves []curve, durations bool) render.Figure {
	lowest, highest := math.Inf(1), 0.0
	f := render.Figure{Title: title}
	for _, c := range curves {
		values := g.values(c)
		if len(values) == 0 {
			continue
		}
		f.Legend = append(f.Legend, render.LegendItem{Class: c.class, Text: c.name})
		for _, v := range values {
			lowest, highest = min(lowest, v.Y), max(highest, v.Y)
		}
	}
	if highest == 0 {
		return f
	}
	f.Caption = fmt.Sprintf("n = %d runs, a dot each; the line goes through their means. A cross is an invalid run and on no line.", len(g.Members))
	return f.Draw(func(width, height float64) *render.Drawing {
		frame := render.NewFrame(width, height, render.LoadAxis(g.Over, g.loads()), valueAxis(unit, lowest, highest, durations), title+": "+f.Caption)
		g.mark(frame)
		for _, c := range curves {
			g.draw(frame, c, durations)
		}
		return frame.Drawing
	})
}

// valueAxis is an axis of durations, or one that begins at 0.
func valueAxis(unit string, lowest, highest float64, durations bool) render.Axis {
	if durations {
		return render.DurationAxis(lowest, highest)
	}
	return render.LinearAxis(unit, 0, highest*1.05, 1, 4)
}

// loads returns the loads of the runs that have figures, ascending.
func (g Group) loads() []float64 {
	var loads []float64
	for _, m := range g.Members {
		if m.Load > 0 && m.Summary != nil {
			loads = append(loads, m.Load)
		}
	}
	slices.Sort(loads)
	return slices.Compact(loads)
}

// value is the value of a run on a curve.
type value struct {
	render.Place
	valid bool
	run   string
}

// values returns the values of a curve by load.
func (g Group) values(c curve) []value {
	var values []value
	for _, m := range g.Members {
		if m.Load == 0 {
			continue
		}
		if y := figure.Value(m.Summary, c.figure); y != nil {
			values = append(values, value{render.Place{X: m.Load, Y: *y}, m.Summary.Valid, m.Run})
		}
	}
	slices.SortStableFunc(values, func(a, b value) int { return cmp.Compare(a.X, b.X) })
	return values
}

func (g Group) draw(f *render.Frame, c curve, durations bool) {
	sums, counts := map[float64]float64{}, map[float64]float64{}
	for _, v := range g.values(c) {
		text := format.Digits(v.Y)
		if durations {
			text = format.Seconds(v.Y)
		}
		title := fmt.Sprintf("%s at %s: %s (%s)", c.name, render.Number(v.X), text, v.run)
		x, y := f.PX(v.X), f.PY(v.Y)
		if !v.valid {
			f.Cross(x, y, title+", invalid")
			continue
		}
		f.Add(render.Shape{Kind: "dot", Class: c.class, X: x, Y: y, W: 2.5, Title: title})
		sums[v.X] += v.Y
		counts[v.X]++
	}
	var line []render.Place
	for _, load := range g.loads() {
		if counts[load] > 0 {
			line = append(line, render.Place{X: load, Y: sums[load] / counts[load]})
		}
	}
	if len(line) > 1 {
		f.Series(c.class, c.name, [][]render.Place{line})
	}
}

// mark draws the loads with a finding. Of two that lie close together, the text of the first ends at its load and that
// of the second begins at its own.
func (g Group) mark(f *render.Frame) {
	for i, m := range g.Marks {
		if m.Load < f.X.Lo || m.Load > f.X.Hi {
			continue
		}
		x := f.PX(m.Load)
		f.Line("mark", x, f.Top, x, f.Bottom)
		switch fits := x+render.LetterWidth*float64(len(m.Text)) < f.Drawing.Width; {
		case i%2 == 0:
			f.Text("mark-text", x, f.Top-5, "end", m.Text)
		case fits:
			f.Text("mark-text", x, f.Top-5, "start", m.Text)
		default:
			f.Text("mark-text", f.Drawing.Width, f.Top-5, "end", m.Text)
		}
	}
}
