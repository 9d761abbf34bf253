package report

import (
	"fmt"
	"math"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// valued visits a set of values with the number of times each occurred, in nanoseconds.
type valued func(visit func(value, count int64))

func list(values []int64) valued {
	return func(visit func(value, count int64)) {
		for _, v := range values {
			visit(v, 1)
		}
	}
}

// histogram is a distribution to draw, and a second one for comparison.
type histogram struct {
	title, counts string // counts names the counted items: requests, gaps
	values        valued
	summary       *summary.Distribution
	// other is the same from the intended start, drawn as an outline if it differs.
	other        valued
	otherSummary *summary.Distribution
}

// distributions returns the charts of the distributions of latencies.
func distributions(r *summary.Requests) []render.Figure {
	l := r.Latency()
	var figures []render.Figure
	add := func(h histogram) {
		if h.summary != nil && h.summary.N > 0 {
			figures = append(figures, h.figure())
		}
	}
	clocked := func(title string, of func(openai.Origin) summary.Quantity, c *summary.Clocks) {
		if c == nil || c.Send == nil {
			return
		}
		h := histogram{title: title, counts: "requests", values: list(r.Values(of(openai.FromSend))), summary: c.Send}
		if c.Intended != nil && math.Abs(*c.Intended.Mean-*c.Send.Mean) > 0.01**c.Send.Mean {
			h.other, h.otherSummary = list(r.Values(of(openai.FromIntended))), c.Intended
		}
		add(h)
	}
	clocked("Time to first token (TTFT), from send", summary.TTFT, l.TTFT)
	if l.TPOT != nil {
		add(histogram{title: "Time per output token (TPOT)", counts: "requests", values: list(r.Values(summary.TPOT())), summary: l.TPOT.Send})
	}
	clocked("Request duration (E2E), from send", summary.E2E, l.E2E)
	if l.ChunkGap != nil {
		add(histogram{title: "Gap between chunks", counts: "gaps", values: r.EachChunkGap, summary: l.ChunkGap.Send})
	}
	return figures
}

// The ratio of the largest to the smallest value from which on the axis is logarithmic.
const logSpread = 40

func (h histogram) figure() render.Figure {
	f := render.Figure{Title: h.title, Caption: h.caption()}
	if h.other != nil {
		f.Legend = []render.LegendItem{{Class: "c0", Text: "from send"}, {Class: "outline", Text: "from the intended start"}}
	}
	return f.Draw(h.draw)
}

func (h histogram) caption() string {
	d := h.summary
	text := fmt.Sprintf("n = %d %s, mean %s", d.N, h.counts, format.Optional(d.Mean, format.Seconds))
	if d.SD != nil {
		text += ", sd " + format.Seconds(*d.SD)
	}
	text += fmt.Sprintf(", from %s to %s.", format.Optional(d.Min, format.Seconds), format.Optional(d.Max, format.Seconds))
	if d.P99 == nil {
		text += " p99 needs 299 samples."
	}
	if o := h.otherSummary; o != nil {
		text += fmt.Sprintf(" From the intended start: n = %d, mean %s, p50 %s, longest %s.", o.N,
			format.Optional(o.Mean, format.Seconds), format.Optional(o.P50, format.Seconds), format.Optional(o.Max, format.Seconds))
	}
	return text
}

// xAxis spans both sets of values.
func (h histogram) xAxis(n int) render.Axis {
	lo, hi := *h.summary.Min, *h.summary.Max
	if h.otherSummary != nil {
		lo, hi = min(lo, *h.otherSummary.Min), max(hi, *h.otherSummary.Max)
	}
	scale, unit := render.SecondsUnit(hi)
	if lo > 0 && hi/lo > logSpread {
		return render.LogAxis(unit+", logarithmic", lo*.95, hi*1.05, scale)
	}
	margin := max((hi-lo)*.02, hi*.005)
	lo, hi = max(0, lo-margin), hi+margin
	return render.LinearAxis(unit, lo, hi, scale, n).Between(lo, hi)
}

// binWidth is the approximate width of a bar.
const binWidth = 11

func (h histogram) draw(width, height float64) *render.Drawing {
	x := h.xAxis(render.TicksFor(width))
	n := int((width - render.MarginLeft - render.MarginRight) / binWidth)
	bars, others := binned(h.values, x, n), []int64(nil)
	most := largestOf(bars)
	if h.other != nil {
		others = binned(h.other, x, n)
		most = max(most, largestOf(others))
	}
	y := render.LinearAxis(h.counts, 0, float64(most)*1.25, 1, 4)
	f := render.NewFrame(width, height, x, y, h.title+": "+h.caption())
	drawBars(f, bars, x, h.counts)
	drawOutline(f, others)
	drawPercentiles(f, h.summary)
	return f.Drawing
}

// binned counts values in n bins of equal width on the axis.
func binned(values valued, x render.Axis, n int) []int64 {
	bins := make([]int64, n)
	values(func(value, count int64) {
		bins[min(n-1, int(float64(n)*x.Share(seconds(value))))] += count
	})
	return bins
}

func largestOf(bins []int64) int64 {
	var most int64
	for _, n := range bins {
		most = max(most, n)
	}
	return most
}

func drawBars(f *render.Frame, bins []int64, x render.Axis, counts string) {
	width := (f.Right - f.Left) / float64(len(bins))
	for i, n := range bins {
		if n == 0 {
			continue
		}
		top := f.PY(float64(n))
		f.Add(render.Shape{
			Kind: "rect", Class: "c0", X: render.Tenth(f.Left + float64(i)*width + .5), Y: top, W: render.Tenth(width - 1), H: render.Tenth(f.Bottom - top),
			Title: fmt.Sprintf("%s to %s: %d %s", format.Seconds(x.At(float64(i)/float64(len(bins)))), format.Seconds(x.At(float64(i+1)/float64(len(bins)))), n, counts),
		})
	}
}

func drawOutline(f *render.Frame, bins []int64) {
	if len(bins) == 0 {
		return
	}
	var edge []render.Place
	for i, n := range bins {
		edge = append(edge, render.Place{X: f.X.At(float64(i) / float64(len(bins))), Y: float64(n)}, render.Place{X: f.X.At(float64(i+1) / float64(len(bins))), Y: float64(n)})
	}
	f.Polyline("outline", "", [][]render.Place{edge})
}

// drawPercentiles marks percentiles one below the other, so that their names never overlap.
func drawPercentiles(f *render.Frame, d *summary.Distribution) {
	row := 0
	for _, p := range []struct {
		name  string
		value *float64
	}{{"p50", d.P50}, {"p90", d.P90}, {"p99", d.P99}} {
		if p.value == nil {
			continue
		}
		at, top := f.PX(*p.value), f.Top+float64(13*row)
		f.Line("mark", at, top, at, f.Bottom)
		text, anchor, x := p.name+" "+format.Seconds(*p.value), "start", at+4
		if x+render.LetterWidth*float64(len(text)) > f.Right {
			anchor, x = "end", at-4
		}
		f.Text("mark-text", x, top+9, anchor, text)
		row++
	}
}
