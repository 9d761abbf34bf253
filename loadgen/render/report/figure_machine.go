package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// timePoints is the approximate number of moments in a chart over time; of a longer run, each stretch shows the moment
// with the least free memory, or the highest and lowest value.
const timePoints = 260

// track is one telemetry source over time.
type track struct {
	log    *telemetry.Log
	source *telemetry.SourceLog
	end    float64 // of the run, in seconds
	phases []render.PhaseSpan
}

// figures draws the charts that the source has data for; a machine without a GPU has no charts of one.
func (t track) figures() []render.Figure {
	return []render.Figure{
		t.ledger(), t.freeView(), t.heldView(),
		t.lines(measure{"GPU utilisation", "% of the time", 100, 100}, metric.GPUUtilizationRatio),
		t.lines(measure{"GPU power", "W", 1, 0}, metric.GPUPowerWatts),
		t.lines(measure{"GPU temperature", "°C", 1, 0}, metric.GPUTemperatureCelsius),
		t.lines(measure{"GPU clock (SM)", "GHz", 1e-9, 0}, metric.GPUSMClockHertz),
		t.rdma(),
	}
}

// label names the source and its mode on the chart itself: charts are copied out of reports.
func (t track) label() string {
	return fmt.Sprintf("%s, %s", t.source.Name, t.source.Mode())
}

// sampled formats the number of samples for the caption.
func (t track) sampled() string {
	text := fmt.Sprintf("n = %d samples", len(t.source.Samples))
	lost := 0
	for _, gap := range t.source.Gaps {
		lost += gap.Samples
	}
	if lost > 0 {
		text += fmt.Sprintf(", %d missing and left open", lost)
	}
	return text + "."
}

// broken reports whether a sample is missing between two samples, so that no line may join them.
func (t track) broken(from, to int64) bool {
	i, _ := slices.BinarySearchFunc(t.source.Gaps, from, func(g telemetry.Gap, at int64) int { return cmp.Compare(g.AtNS, at) })
	return i < len(t.source.Gaps) && t.source.Gaps[i].AtNS <= to
}

// runs cuts points where samples are missing, or where the series was not on the page.
func (t track) runs(points []telemetry.Point, scale float64) [][]render.Place {
	var runs [][]render.Place
	for i, p := range points {
		if i == 0 || t.broken(points[i-1].AtNS, p.AtNS) || t.skips(points[i-1].AtNS, p.AtNS) {
			runs = append(runs, nil)
		}
		last := len(runs) - 1
		runs[last] = append(runs[last], render.Place{X: seconds(p.AtNS), Y: p.Value * scale})
	}
	return runs
}

// skips reports whether there were samples between two points of a series, without a value of it.
func (t track) skips(from, to int64) bool {
	i, _ := slices.BinarySearch(t.source.Samples, from+1)
	return i < len(t.source.Samples) && t.source.Samples[i] < to
}

// thinned keeps the lowest and the highest point of each stretch of a run, about as many as most.
func thinned(run []render.Place, most int) []render.Place {
	stretch := (2*len(run) + most - 1) / most
	if stretch <= 2 {
		return run
	}
	var kept []render.Place
	for part := range slices.Chunk(run, stretch) {
		byHeight := func(a, b render.Place) int { return cmp.Compare(a.Y, b.Y) }
		low, high := slices.MinFunc(part, byHeight), slices.MaxFunc(part, byHeight)
		if low.X > high.X {
			low, high = high, low
		}
		kept = append(kept, low, high)
	}
	return kept
}

// colours is the number of lines that can be told apart by colour.
const colours = 8

// measure describes how a family is shown: its title, its unit, the factor from the unit of the series, and the largest
// possible value (0 without a limit).
type measure struct {
	title, unit string
	scale       float64
	most        float64
}

// lines draws one line per series of a family.
func (t track) lines(m measure, family metric.Definer) render.Figure {
	return t.drawLines(m, t.named(t.source.Find(family)))
}

// labelled are the points of a line with its name in the legend.
type labelled struct {
	name   string
	points []telemetry.Point
}

// gpuNames names the series of a GPU by its index.
func (t track) gpuNames() func(*telemetry.Series) string {
	names := map[string]string{}
	for _, info := range t.source.Find(metric.GPUInfo) {
		names[info.Labels[string(metric.LabelUUID)]] = strings.TrimSpace("GPU " + info.Labels[string(metric.LabelGPU)] + " " + info.Labels[string(metric.LabelName)])
	}
	return func(series *telemetry.Series) string {
		uuid := series.Labels[string(metric.LabelUUID)]
		return cmp.Or(names[uuid], uuid)
	}
}

// named returns the points of GPUs by their names.
func (t track) named(all []*telemetry.Series) []labelled {
	names := t.gpuNames()
	var lines []labelled
	for _, series := range all {
		lines = append(lines, labelled{names(series), slices.Collect(series.Points())})
	}
	slices.SortStableFunc(lines, func(a, b labelled) int { return cmp.Compare(a.name, b.name) })
	return lines[:min(len(lines), colours)]
}

func (t track) drawLines(m measure, lines []labelled) render.Figure {
	if len(lines) == 0 {
		return render.Figure{}
	}
	f := render.Figure{Title: m.title + " — " + t.label(), Caption: t.sampled()}
	highest := m.most
	all := make([][][]render.Place, len(lines))
	for i, l := range lines {
		f.Legend = append(f.Legend, render.LegendItem{Class: fmt.Sprintf("c%d", i), Text: l.name})
		for _, run := range t.runs(l.points, m.scale) {
			all[i] = append(all[i], thinned(run, timePoints))
			for _, p := range run {
				highest = max(highest, p.Y)
			}
		}
	}
	return f.Draw(func(width, height float64) *render.Drawing {
		frame := render.NewFrame(width, height, render.TimeAxis(t.end, render.TicksFor(width)), render.LinearAxis(m.unit, 0, highest, 1, 4), f.Title+": "+f.Caption)
		frame.Phases(t.phases)
		for i, runs := range all {
			frame.Series(fmt.Sprintf("c%d", i), lines[i].name, runs)
		}
		return frame.Drawing
	})
}

// seconds converts nanoseconds to the unit of the axes.
func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }
