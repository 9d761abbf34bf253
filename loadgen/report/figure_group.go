package report

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"math"
	"slices"
)

//go:embed group.html
var groupText string

// groupView is a group as its template reads it.
type groupView struct {
	Title, Verdict  string
	Good            bool
	Identity        facts
	Notes, Warnings []string
	Header          []string
	Rows            []groupRow
	Figures         []figure
}

// groupRow is a row of the table, with where the page of its run is; empty without one.
type groupRow struct {
	Page, Name string
	Cells      []string
}

// WriteHTML writes the group as one self-contained page, by the rules of HTML.
func (g Group) WriteHTML(w io.Writer) error {
	table := g.table()
	view := groupView{
		Title: g.Title, Verdict: g.Verdict, Good: g.Good, Identity: g.identity(),
		Notes: g.sentences(), Warnings: g.warnings(), Header: table.Header, Figures: g.figures(),
	}
	for i, cells := range table.Rows {
		view.Rows = append(view.Rows, groupRow{g.page(g.Members[i]), cells[0], cells[1:]})
	}
	return writePage(w, groupText, view)
}

// curve is one line over load.
type curve struct {
	name, class string
	of          func(*Summary) *float64
}

// figures are throughput and latencies over load; none without two runs at different loads.
func (g Group) figures() []figure {
	if len(g.loads()) < 2 {
		return nil
	}
	tokens := []curve{
		{"whole run", "c1", func(s *Summary) *float64 { return s.Throughput.OutputTokensPerSecond }},
		{"steady state", "c3", (*Summary).steadyTokens},
	}
	arrivals := []curve{
		{"ended", "c1", func(s *Summary) *float64 { return s.Throughput.RequestsPerSecond }},
		{"within the SLO", "c4", func(s *Summary) *float64 {
			if s.Goodput == nil {
				return nil
			}
			return s.Goodput.RequestsPerSecond
		}},
	}
	figures := []figure{
		g.figure("Output", "tokens per second", tokens, false),
		g.figure("Requests", "requests per second", arrivals, false),
	}
	for _, l := range groupLatencies() {
		figures = append(figures, g.figure(l.title, "", []curve{
			{"p50", "c0", func(s *Summary) *float64 { return l.value(s, func(d *Distribution) *float64 { return d.P50 }) }},
			{"p95", "c2", func(s *Summary) *float64 { return l.value(s, func(d *Distribution) *float64 { return d.P95 }) }},
		}, true))
	}
	return slices.DeleteFunc(figures, func(f figure) bool { return f.Desk == nil })
}

// figure draws curves over load; empty without a value.
func (g Group) figure(title, unit string, curves []curve, durations bool) figure {
	lowest, highest := math.Inf(1), 0.0
	f := figure{Title: title}
	for _, c := range curves {
		values := g.values(c)
		if len(values) == 0 {
			continue
		}
		f.Legend = append(f.Legend, legendItem{c.class, c.name})
		for _, v := range values {
			lowest, highest = min(lowest, v.y), max(highest, v.y)
		}
	}
	if highest == 0 {
		return f
	}
	f.Caption = fmt.Sprintf("n = %d runs, a dot each; the line goes through their means. A cross is an invalid run and on no line.", len(g.Members))
	return draw(f, func(width, height float64) *chart {
		frame := newFrame(width, height, g.loadAxis(), valueAxis(unit, lowest, highest, durations), title+": "+f.Caption)
		g.mark(frame)
		for _, c := range curves {
			g.draw(frame, c, durations)
		}
		return frame.chart
	})
}

// valueAxis begins at 0, but for durations that differ by more than a decade: of those, the short ones
// would lie on the base. One of 0, such as the time per token where all came at once, is on no
// logarithmic axis.
func valueAxis(unit string, lowest, highest float64, durations bool) axis {
	if !durations {
		return linear(unit, 0, highest*1.05, 1, 4)
	}
	scale, name := secondsUnit(highest)
	if lowest > 0 && highest > 10*lowest {
		return logarithmic(name+", logarithmic", lowest*0.8, highest*1.2, scale)
	}
	return linear(name, 0, highest*1.05, scale, 4)
}

// loadAxis has a tick at each load that was measured. Loads that were doubled are as far apart as
// they are different.
func (g Group) loadAxis() axis {
	loads := g.loads()
	a := axis{title: g.Over, lo: loads[0], hi: loads[len(loads)-1]}
	if a.log = a.hi/a.lo >= 8; !a.log {
		a.lo = 0
	}
	for _, load := range loads {
		a.ticks = append(a.ticks, tick{load, number(load)})
	}
	return a
}

// loads are those of the runs that have figures, ascending.
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

// value is a run's place on a curve.
type value struct {
	place
	valid bool
	run   string
}

// values are the places of a curve by load.
func (g Group) values(c curve) []value {
	var values []value
	for _, m := range g.Members {
		if m.Load == 0 || m.Summary == nil {
			continue
		}
		if y := c.of(m.Summary); y != nil {
			values = append(values, value{place{m.Load, *y}, m.Summary.Valid, m.Run})
		}
	}
	slices.SortStableFunc(values, func(a, b value) int { return cmp.Compare(a.x, b.x) })
	return values
}

func (g Group) draw(f *frame, c curve, durations bool) {
	sums, counts := map[float64]float64{}, map[float64]float64{}
	for _, v := range g.values(c) {
		text := digits(v.y)
		if durations {
			text = formatSeconds(v.y)
		}
		title := fmt.Sprintf("%s at %s: %s (%s)", c.name, number(v.x), text, v.run)
		x, y := f.px(v.x), f.py(v.y)
		if !v.valid {
			f.add(shape{Kind: "path", Class: "cross", D: fmt.Sprintf("M%g %gl7 7m0-7l-7 7", tenth(x-3.5), tenth(y-3.5)), Title: title + ", invalid"})
			continue
		}
		f.add(shape{Kind: "dot", Class: c.class, X: x, Y: y, W: 2.5, Title: title})
		sums[v.x] += v.y
		counts[v.x]++
	}
	var line []place
	for _, load := range g.loads() {
		if counts[load] > 0 {
			line = append(line, place{load, sums[load] / counts[load]})
		}
	}
	if len(line) > 1 {
		f.polyline("line "+c.class, "", [][]place{line})
	}
}

// mark draws the loads that something was found about. Two lie close together: the words of the first
// end where it is, those of the second begin there.
func (g Group) mark(f *frame) {
	for i, m := range g.Marks {
		if m.Load < f.x.lo || m.Load > f.x.hi {
			continue
		}
		x := f.px(m.Load)
		f.line("mark", x, f.top, x, f.bottom)
		switch fits := x+letterWidth*float64(len(m.Text)) < f.chart.Width; {
		case i%2 == 0:
			f.text("mark-text", x, f.top-5, "end", m.Text)
		case fits:
			f.text("mark-text", x, f.top-5, "start", m.Text)
		default:
			f.text("mark-text", f.chart.Width, f.top-5, "end", m.Text)
		}
	}
}
