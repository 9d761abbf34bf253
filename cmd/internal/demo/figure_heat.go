package demo

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/umascope/umascope/alerts"
	"github.com/umascope/umascope/loadgen/render"
)

// Heights of the frames of the heat figure and of a row of it, in pixels.
const (
	curveHeight, curveGap = 104, 30
	axisHeight            = 44 // room below the last frame for its axis
	barHeight             = 26
)

// heatFigure draws the curves of one machine below each other on one time axis, and below them each alert that fired
// there and needs action: light while it was pending, full while it fired. Not drawn without any curve.
func heatFigure(h Heat) render.Figure {
	from, to, n := spanOf(h.Curves)
	if n == 0 {
		return render.Figure{}
	}
	firings := slices.DeleteFunc(slices.Clone(h.Firings), func(f Firing) bool {
		return f.Host != h.Host || f.Severity == string(alerts.Info) || !f.Until.IsZero() && f.Until.Before(from) || f.Pending.After(to)
	})
	f := render.Figure{Title: "Heat, clock and power of " + h.Host + ", and what the alert rules made of it (simulated)", Full: true}
	f.Legend = []render.LegendItem{{Class: "pending", Text: "pending"}, {Class: "c2", Text: "firing"}, {Class: "event", Text: "done to the machine on purpose"}}
	f.Caption = fmt.Sprintf("n = %d points of all curves; %s to %s. Alerts for information alone are in the table.", n, timeOfDay(from), timeOfDay(to))
	curves := float64(len(h.Curves)) * (curveHeight + curveGap)
	all := curves + axisHeight + float64(len(firings)+len(eventsOf(h)))*barHeight
	return f.DrawTall(all, all, func(width, height float64) *render.Drawing {
		axis := seconds(from, to, width)
		var frames []*render.Frame
		for i, c := range h.Curves {
			x := axis
			if i < len(h.Curves)-1 {
				x.Ticks = nil
			}
			frames = append(frames, drawCurve(c, i, from, x, width, height, f.Title))
		}
		last := frames[len(frames)-1]
		last.Text("axis", (last.Left+last.Right)/2, last.Bottom+34, "middle", "seconds, from "+timeOfDay(from)+" on")
		drawBars(last, h, firings, from, to, last.Bottom+axisHeight)
		return gather(width, height, f.Title+": "+f.Caption, frames)
	})
}

// spanOf returns the times of the first and the last sample of some curves.
func spanOf(curves []Curve) (from, to time.Time, n int) {
	for _, c := range curves {
		for _, p := range c.Points {
			if n == 0 || p.At.Before(from) {
				from = p.At
			}
			if n == 0 || p.At.After(to) {
				to = p.At
			}
			n++
		}
	}
	return from, to, n
}

func seconds(from, to time.Time, width float64) render.Axis {
	end := max(to.Sub(from).Seconds(), 1)
	return render.LinearAxis("", 0, end, 1, render.TicksFor(width)).Between(0, end)
}

func drawCurve(c Curve, i int, from time.Time, x render.Axis, width, height float64, label string) *render.Frame {
	top := float64(i)*(curveHeight+curveGap) + 24
	lo, hi := math.Inf(1), math.Inf(-1)
	for _, p := range c.Points {
		lo, hi = min(lo, p.Value), max(hi, p.Value)
	}
	if len(c.Points) == 0 {
		lo, hi = 0, 1
	}
	room := max(0.08*(hi-lo), 0.01*math.Abs(hi), 1e-9)
	lo, hi = max(0, lo-room), hi+room
	y := render.Axis{}
	for n := 3; len(y.Ticks) < 2 && n < 24; n *= 2 { // one tick alone gives no scale
		y = render.LinearAxis("", lo, hi, 1, n).Between(lo, hi)
	}
	f := render.NewFrameIn(render.Margins{Left: panelLeft, Right: panelRight, Top: top, Bottom: height - top - curveHeight}, width, height, x, y, label)
	f.Drawing.Plots[0].X.Title, f.Drawing.Plots[0].Y.Title = "s", c.Unit // of tips: in the drawing they are elsewhere
	f.Text("axis", f.Left, top-8, "start", fmt.Sprintf("%s, %s", c.Title, c.Unit))
	var line []render.Place
	for _, p := range c.Points {
		line = append(line, render.Place{X: p.At.Sub(from).Seconds(), Y: p.Value})
	}
	f.Series(armClasses[i%len(armClasses)], c.Title, [][]render.Place{line})
	return f
}

func eventsOf(h Heat) (own []Event) {
	for _, e := range h.Events {
		if e.Host == h.Host {
			own = append(own, e)
		}
	}
	return own
}

// drawBars draws events and alerts as bars on the time axis of a frame.
func drawBars(f *render.Frame, h Heat, firings []Firing, from, to time.Time, top float64) {
	at := func(t time.Time) float64 {
		if t.IsZero() || t.After(to) {
			t = to
		}
		return f.PX(max(0, t.Sub(from).Seconds()))
	}
	bar := func(class, title string, begin, end time.Time) {
		if left, right := at(begin), at(end); right > left {
			f.Add(render.Shape{Kind: "rect", Class: class, X: left, Y: top + 13, W: render.Tenth(right - left), H: 8, Title: title})
		}
	}
	name := func(text string, begin time.Time) {
		left, wide := at(begin), render.LetterWidth*float64(len([]rune(text)))
		if left+wide > f.Right { // no room to the right of its bar
			f.Text("row strong", f.Right, top+9, "end", render.Shorten(text, f.Right-f.Left))
			return
		}
		f.Text("row strong", left, top+9, "start", text)
	}
	for _, e := range eventsOf(h) {
		name(e.Name, e.From)
		bar("event", e.Name, e.From, e.Until)
		top += barHeight
	}
	for _, a := range firings {
		name(fmt.Sprintf("%s (%s)", a.Alert, a.Severity), a.Pending)
		bar("pending", a.Alert+" pending", a.Pending, a.From)
		bar("c2", a.Alert+" firing", a.From, a.Until)
		top += barHeight
	}
}
