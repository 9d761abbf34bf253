package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/render/chart"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// timePoints is about how many moments a figure over time shows; of a longer run, each stretch
// shows the moment at which least was free, or the highest and lowest value.
const timePoints = 260

// track is one telemetry source over time.
type track struct {
	log    *telemetry.Log
	source *telemetry.SourceLog
	end    float64 // of the run, in seconds
	phases []chart.Span
}

// figures draws what the source has; a machine without a GPU has no figures of one.
func (t track) figures() []chart.Figure {
	var figures []chart.Figure
	for _, f := range []*chart.Figure{
		t.ledger(), t.freeView(), t.heldView(),
		t.lines(measure{"GPU utilisation", "% of the time", 100, 100}, metric.GPUUtilizationRatio),
		t.lines(measure{"GPU power", "W", 1, 0}, metric.GPUPowerWatts),
		t.lines(measure{"GPU temperature", "°C", 1, 0}, metric.GPUTemperatureCelsius),
		t.lines(measure{"GPU clock (SM)", "GHz", 1e-9, 0}, metric.GPUSMClockHertz),
		t.rdma(),
	} {
		if f != nil {
			figures = append(figures, *f)
		}
	}
	return figures
}

// label says whose figures these are, and what kind, on the figure itself: figures are copied
// out of reports.
func (t track) label() string {
	return fmt.Sprintf("%s, %s", t.source.Name, t.source.Mode())
}

// sampled is the caption's account of the samples.
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

// broken says whether something is missing between two samples, so that no line may join them.
func (t track) broken(from, to int64) bool {
	i, _ := slices.BinarySearchFunc(t.source.Gaps, from, func(g telemetry.Gap, at int64) int { return cmp.Compare(g.AtNS, at) })
	return i < len(t.source.Gaps) && t.source.Gaps[i].AtNS <= to
}

// runs cuts points where samples are missing, or where the series was not on the page.
func (t track) runs(points []telemetry.Point, scale float64) [][]chart.Place {
	var runs [][]chart.Place
	for i, p := range points {
		if i == 0 || t.broken(points[i-1].AtNS, p.AtNS) || t.skips(points[i-1].AtNS, p.AtNS) {
			runs = append(runs, nil)
		}
		last := len(runs) - 1
		runs[last] = append(runs[last], chart.Place{X: seconds(p.AtNS), Y: p.Value * scale})
	}
	return runs
}

// skips says whether there were samples between two points of a series, without a value of it.
func (t track) skips(from, to int64) bool {
	i, _ := slices.BinarySearch(t.source.Samples, from+1)
	return i < len(t.source.Samples) && t.source.Samples[i] < to
}

// thinned keeps the lowest and the highest point of each stretch of every run.
func thinned(run []chart.Place) []chart.Place { return thinnedTo(run, timePoints) }

func thinnedTo(run []chart.Place, most int) []chart.Place {
	stretch := (2*len(run) + most - 1) / most
	if stretch <= 2 {
		return run
	}
	var kept []chart.Place
	for part := range slices.Chunk(run, stretch) {
		byHeight := func(a, b chart.Place) int { return cmp.Compare(a.Y, b.Y) }
		low, high := slices.MinFunc(part, byHeight), slices.MaxFunc(part, byHeight)
		if low.X > high.X {
			low, high = high, low
		}
		kept = append(kept, low, high)
	}
	return kept
}

// colours is how many lines can be told apart.
const colours = 8

// measure is how a family is shown: what it is called, in which unit, how many of those one of
// the series' units is, and how many there can be at most (0 is as many as there are).
type measure struct {
	title, unit string
	scale       float64
	most        float64
}

// lines draws one line per series of a family.
func (t track) lines(m measure, family metric.Definer) *chart.Figure {
	return t.drawLines(m, t.named(t.source.Find(family)))
}

// labelled are the points of a line and what the legend calls it.
type labelled struct {
	name   string
	points []telemetry.Point
}

// gpuNames names the series of a GPU by the index that people know it by.
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

// named are the points of GPUs by their names.
func (t track) named(all []*telemetry.Series) []labelled {
	names := t.gpuNames()
	var lines []labelled
	for _, series := range all {
		lines = append(lines, labelled{names(series), slices.Collect(series.Points())})
	}
	slices.SortStableFunc(lines, func(a, b labelled) int { return cmp.Compare(a.name, b.name) })
	return lines[:min(len(lines), colours)]
}

func (t track) drawLines(m measure, lines []labelled) *chart.Figure {
	if len(lines) == 0 {
		return nil
	}
	f := chart.Figure{Title: m.title + " — " + t.label(), Caption: t.sampled()}
	highest := m.most
	all := make([][][]chart.Place, len(lines))
	for i, l := range lines {
		f.Legend = append(f.Legend, chart.LegendItem{Class: fmt.Sprintf("c%d", i), Text: l.name})
		for _, run := range t.runs(l.points, m.scale) {
			all[i] = append(all[i], thinned(run))
			for _, p := range run {
				highest = max(highest, p.Y)
			}
		}
	}
	drawn := f.Draw(func(width, height float64) *chart.Drawing {
		frame := chart.NewFrame(width, height, chart.TimeAxis(t.end, chart.TicksFor(width)), chart.Linear(m.unit, 0, highest, 1, 4), f.Title+": "+f.Caption)
		frame.Phases(t.phases)
		for i, runs := range all {
			frame.Polyline(fmt.Sprintf("line c%d", i), lines[i].name, runs)
		}
		return frame.Drawing
	})
	return &drawn
}

// seconds is a time in nanoseconds as the axes have it.
func seconds(ns int64) float64 { return time.Duration(ns).Seconds() }
