package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/chat"
)

// dots is how many requests a figure shows one by one; of a longer run it shows one in k.
const dots = 1200

// timelineBins is how finely the load over time is drawn.
const timelineBins = 160

// timeline collects what the figures over time show of the requests, in one pass.
type timeline struct {
	end     float64 // of the run, in seconds
	every   int     // one request in this many is kept
	seen    int
	kept    []sent
	running []float64 // requests in flight, mean by bin
	tokens  []float64 // output tokens, or chunks, by bin
	counted bool      // whether the server counted the tokens of every answer
	// first, whole and gaps are the times to the first token, the durations and the gaps between chunks,
	// of all requests.
	first, whole, gaps heat
}

// sent is one request: when, and its latencies, in seconds.
type sent struct {
	at, ttft, e2e float64 // ttft is negative without one
	status        chat.Status
}

func newTimeline(end float64) *timeline {
	return &timeline{end: end, every: 1, running: make([]float64, timelineBins), tokens: make([]float64, timelineBins), counted: true}
}

func (t *timeline) add(r chat.Record) {
	if r.DispatchNS == nil {
		return // never in flight
	}
	t.addLoad(r)
	s := sent{at: seconds(*r.DispatchNS), ttft: -1, e2e: seconds(lastMoment(r) - *r.DispatchNS), status: r.Status}
	if d, ok := r.TTFT(chat.FromSend); ok {
		s.ttft = d.Seconds()
		t.first.add(t.bin(s.at), d.Nanoseconds())
	}
	if d, ok := r.E2E(chat.FromSend); ok && r.Status == chat.StatusOK {
		s.e2e = d.Seconds()
		t.whole.add(t.bin(s.at), d.Nanoseconds())
	}
	if t.seen++; (t.seen-1)%t.every != 0 {
		return
	}
	if t.kept = append(t.kept, s); len(t.kept) == 2*dots {
		t.thin()
	}
}

// thin keeps every other request.
func (t *timeline) thin() {
	for i := range dots {
		t.kept[i] = t.kept[2*i]
	}
	t.kept = t.kept[:dots]
	t.every *= 2
}

// addLoad spreads a request over the bins that it was in flight in, and its tokens over those
// in which they came.
func (t *timeline) addLoad(r chat.Record) {
	if t.end <= 0 {
		return
	}
	width := t.end / timelineBins
	from, to := seconds(*r.DispatchNS), seconds(lastMoment(r))
	for i := t.bin(from); i <= t.bin(to); i++ {
		low, high := max(from, float64(i)*width), min(to, float64(i+1)*width)
		t.running[i] += max(0, high-low) / width
	}
	known := len(r.ArrivalTokens) == len(r.ArrivalsNS)
	t.counted = t.counted && (known || r.TokensOut != nil)
	var at int64
	for i, step := range r.ArrivalsNS {
		at += step
		weight := 1.0
		if known {
			weight = float64(r.ArrivalTokens[i])
		} else if r.TokensOut != nil {
			weight = float64(*r.TokensOut) / float64(len(r.ArrivalsNS))
		}
		bin := t.bin(seconds(at))
		t.tokens[bin] += weight / width
		if i > 0 && r.Status == chat.StatusOK && (i >= len(r.ReadIDs) || r.ReadIDs[i] != r.ReadIDs[i-1]) {
			t.gaps.add(bin, step)
		}
	}
}

func (t *timeline) bin(at float64) int {
	if t.end <= 0 {
		return 0
	}
	return min(timelineBins-1, max(0, int(at/t.end*timelineBins)))
}

func (t *timeline) figures(phases []chart.Span) []chart.Figure {
	if t.seen == 0 || t.end <= 0 {
		return nil
	}
	figures := []chart.Figure{t.latencies(phases), t.inFlight(phases), t.output(phases)}
	for _, h := range []struct {
		title, counts string
		of            *heat
	}{
		{"Time to first token over time", "requests", &t.first},
		{"Request duration over time", "requests", &t.whole},
		{"Gaps between chunks over time", "gaps", &t.gaps},
	} {
		if f, ok := h.of.figure(h.title, h.counts, t.end, phases); ok {
			figures = append(figures, f)
		}
	}
	return figures
}

// latencies shows every request where it was sent.
func (t *timeline) latencies(phases []chart.Span) chart.Figure {
	f := chart.Figure{Title: "Every request", Full: true, Legend: []chart.LegendItem{{Class: "c0", Text: "duration"}}}
	if slices.ContainsFunc(t.kept, func(s sent) bool { return s.ttft >= 0 }) {
		f.Legend = append(f.Legend, chart.LegendItem{Class: "c4", Text: "time to first token"})
	}
	f.Caption = fmt.Sprintf("n = %d requests of all phases, by when they were sent.", t.seen)
	if t.every > 1 {
		f.Caption = fmt.Sprintf("One in %d of n = %d requests of all phases, by when they were sent.", t.every, t.seen)
	}
	failed := 0
	highest := 0.0
	for _, s := range t.kept {
		highest = max(highest, s.e2e)
		if s.status != chat.StatusOK {
			failed++
		}
	}
	if failed > 0 {
		f.Legend = append(f.Legend, chart.LegendItem{Class: "c2", Text: "not ok: time until it ended"})
	}
	scale, unit := chart.SecondsUnit(highest)
	return f.Draw(func(width, height float64) *chart.Drawing {
		frame := chart.NewFrame(width, height, chart.TimeAxis(t.end, chart.TicksFor(width)), chart.Linear(unit, 0, highest, scale, 5), f.Title+": "+f.Caption)
		frame.Phases(phases)
		for _, s := range t.kept {
			drawRequest(frame, s)
		}
		return frame.Drawing
	})
}

func drawRequest(f *chart.Frame, s sent) {
	x := f.PX(s.at)
	if s.status != chat.StatusOK {
		f.Cross(x, f.PY(s.e2e), fmt.Sprintf("%s after %s, sent at %s", s.status, chart.FormatSeconds(s.e2e), chart.FormatSeconds(s.at)))
		return
	}
	title := "sent at " + chart.FormatSeconds(s.at)
	if s.ttft >= 0 {
		f.Add(chart.Shape{Kind: "dot", Class: "c4", X: x, Y: f.PY(s.ttft), W: 2})
		title += ", first token after " + chart.FormatSeconds(s.ttft)
	}
	f.Add(chart.Shape{Kind: "dot", Class: "c0", X: x, Y: f.PY(s.e2e), W: 2.5, Title: title + ", done after " + chart.FormatSeconds(s.e2e)})
}

func (t *timeline) inFlight(phases []chart.Span) chart.Figure {
	return t.curve("Requests in flight", "requests", "c3", t.running, phases)
}

func (t *timeline) output(phases []chart.Span) chart.Figure {
	if t.counted {
		return t.curve("Output", "tokens per second", "c1", t.tokens, phases)
	}
	return t.curve("Output", "chunks per second", "c1", t.tokens, phases)
}

// curve draws one value per bin as an area from 0.
func (t *timeline) curve(title, unit, class string, bins []float64, phases []chart.Span) chart.Figure {
	highest := 0.0
	var lower, upper []chart.Place
	for i, v := range bins {
		highest = max(highest, v)
		for _, at := range []int{i, i + 1} {
			x := t.end * float64(at) / timelineBins
			lower, upper = append(lower, chart.Place{X: x, Y: 0}), append(upper, chart.Place{X: x, Y: v})
		}
	}
	f := chart.Figure{Title: title}
	f.Caption = fmt.Sprintf("n = %d requests of all phases; mean over %s at a time, at most %s.", t.seen, chart.FormatSeconds(t.end/timelineBins), chart.Digits(math.Round(highest*100)/100))
	return f.Draw(func(width, height float64) *chart.Drawing {
		frame := chart.NewFrame(width, height, chart.TimeAxis(t.end, chart.TicksFor(width)), chart.Linear(unit, 0, highest*1.1, 1, 4), title+": "+f.Caption)
		frame.Area(class, "", lower, upper)
		frame.Phases(phases)
		return frame.Drawing
	})
}
