package report

import (
	"fmt"
	"math"

	"github.com/umascope/umascope/loadgen/chat"
)

// valued is a set of values that can be visited with how often each occurred, in nanoseconds.
type valued func(visit func(value, count int64))

func list(values []int64) valued {
	return func(visit func(value, count int64)) {
		for _, v := range values {
			visit(v, 1)
		}
	}
}

// histogram is a distribution to be drawn, and a second one to compare it with.
type histogram struct {
	title, counts string // counts is what is counted: requests, gaps
	values        valued
	summary       *Distribution
	// other is the same from the intended start, drawn as an outline if it differs.
	other        valued
	otherSummary *Distribution
}

// distributions are the figures of how latencies are spread.
func distributions(a *aggregate) []figure {
	l := a.latency()
	var figures []figure
	add := func(h histogram) {
		if h.summary != nil && h.summary.N > 0 {
			figures = append(figures, h.figure())
		}
	}
	clocked := func(title string, of func(chat.Origin) quantity, c *Clocks) {
		if c == nil || c.Send == nil {
			return
		}
		h := histogram{title: title, counts: "requests", values: list(a.sent.values(of(chat.FromSend))), summary: c.Send}
		if c.Intended != nil && math.Abs(*c.Intended.Mean-*c.Send.Mean) > 0.01**c.Send.Mean {
			h.other, h.otherSummary = list(a.sent.values(of(chat.FromIntended))), c.Intended
		}
		add(h)
	}
	clocked("Time to first token (TTFT), from send", ttft, l.TTFT)
	if l.TPOT != nil {
		add(histogram{title: "Time per output token (TPOT)", counts: "requests", values: list(a.sent.values(tpot)), summary: l.TPOT.Send})
	}
	clocked("Request duration (E2E), from send", e2e, l.E2E)
	if l.ChunkGap != nil {
		add(histogram{title: "Gap between chunks", counts: "gaps", values: a.chunkGap.each, summary: l.ChunkGap.Send})
	}
	return figures
}

// The spread from which on a logarithmic axis is the one on which anything can be seen.
const logSpread = 40

func (h histogram) figure() figure {
	f := figure{Title: h.title, Caption: h.caption()}
	if h.other != nil {
		f.Legend = []legendItem{{"c0", "from send"}, {"outline", "from the intended start"}}
	}
	return draw(f, h.draw)
}

func (h histogram) caption() string {
	d := h.summary
	text := fmt.Sprintf("n = %d %s, mean %s", d.N, h.counts, optional(d.Mean, formatSeconds))
	if d.SD != nil {
		text += ", sd " + formatSeconds(*d.SD)
	}
	text += fmt.Sprintf(", from %s to %s.", optional(d.Min, formatSeconds), optional(d.Max, formatSeconds))
	if d.P99 == nil {
		text += " p99 needs 299 samples."
	}
	if o := h.otherSummary; o != nil {
		text += fmt.Sprintf(" From the intended start: n = %d, mean %s, p50 %s, longest %s.", o.N,
			optional(o.Mean, formatSeconds), optional(o.P50, formatSeconds), optional(o.Max, formatSeconds))
	}
	return text
}

// xAxis spans both sets of values.
func (h histogram) xAxis(n int) axis {
	lo, hi := *h.summary.Min, *h.summary.Max
	if h.otherSummary != nil {
		lo, hi = min(lo, *h.otherSummary.Min), max(hi, *h.otherSummary.Max)
	}
	scale, unit := secondsUnit(hi)
	if lo > 0 && hi/lo > logSpread {
		return logarithmic(unit+", logarithmic", lo*.95, hi*1.05, scale)
	}
	margin := max((hi-lo)*.02, hi*.005)
	lo, hi = max(0, lo-margin), hi+margin
	return linear(unit, lo, hi, scale, n).between(lo, hi)
}

// binWidth is about how wide a bar is.
const binWidth = 11

func (h histogram) draw(width, height float64) *chart {
	x := h.xAxis(ticksFor(width))
	n := int((width - marginLeft - marginRight) / binWidth)
	bars, others := binned(h.values, x, n), []int64(nil)
	most := largestOf(bars)
	if h.other != nil {
		others = binned(h.other, x, n)
		most = max(most, largestOf(others))
	}
	y := linear(h.counts, 0, float64(most)*1.25, 1, 4)
	f := newFrame(width, height, x, y, h.title+": "+h.caption())
	f.bars(bars, x, h.counts)
	f.outline(others)
	f.percentiles(h.summary)
	return f.chart
}

// binned counts values in n bins of equal width on the axis.
func binned(values valued, x axis, n int) []int64 {
	bins := make([]int64, n)
	values(func(value, count int64) {
		bins[min(n-1, int(float64(n)*x.share(seconds(value))))] += count
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

func (f *frame) bars(bins []int64, x axis, counts string) {
	width := (f.right - f.left) / float64(len(bins))
	for i, n := range bins {
		if n == 0 {
			continue
		}
		top := f.py(float64(n))
		f.add(shape{
			Kind: "rect", Class: "c0", X: tenth(f.left + float64(i)*width + .5), Y: top, W: tenth(width - 1), H: tenth(f.bottom - top),
			Title: fmt.Sprintf("%s to %s: %d %s", formatSeconds(x.at(float64(i)/float64(len(bins)))), formatSeconds(x.at(float64(i+1)/float64(len(bins)))), n, counts),
		})
	}
}

// at is the value at a share of the axis.
func (a axis) at(share float64) float64 {
	if a.log {
		return a.lo * math.Pow(a.hi/a.lo, share)
	}
	return a.lo + share*(a.hi-a.lo)
}

func (f *frame) outline(bins []int64) {
	if len(bins) == 0 {
		return
	}
	var edge []place
	for i, n := range bins {
		edge = append(edge, place{f.x.at(float64(i) / float64(len(bins))), float64(n)}, place{f.x.at(float64(i+1) / float64(len(bins))), float64(n)})
	}
	f.polyline("outline", "", [][]place{edge})
}

// percentiles are marked one below the other, so that their names never meet.
func (f *frame) percentiles(d *Distribution) {
	row := 0
	for _, p := range []struct {
		name  string
		value *float64
	}{{"p50", d.P50}, {"p90", d.P90}, {"p99", d.P99}} {
		if p.value == nil {
			continue
		}
		at, top := f.px(*p.value), f.top+float64(13*row)
		f.line("mark", at, top, at, f.bottom)
		text, anchor, x := p.name+" "+formatSeconds(*p.value), "start", at+4
		if x+letterWidth*float64(len(text)) > f.right {
			anchor, x = "end", at-4
		}
		f.text("mark-text", x, top+9, anchor, text)
		row++
	}
}
