package report

import (
	"fmt"
	"math"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// balance is the ledger at one moment, in bytes.
type balance struct {
	at           int64
	bands        []float64 // in the order of bands
	unattributed float64   // signed
	free, pool   float64
}

// ledger stacks the lines of the memory ledger up to the pool. The unattributed remainder is
// signed: above zero it fills the gap below free memory; below zero, where lines count bytes
// twice, it hangs below the axis by as much as the stack stands above the pool.
func (t track) ledger() *chart.Figure {
	runs := t.balances()
	if len(runs) == 0 {
		return nil
	}
	f := chart.Figure{
		Title: "Where the memory went — " + t.label(), Full: true,
		Caption: t.sampled() + " The stack is the pool, MemTotal. A line that could not be read is in the unattributed remainder.",
	}
	f.Legend = ledgerLegend(runs)
	lowest, highest := 0.0, 0.0
	for _, b := range slices.Concat(runs...) {
		lowest, highest = min(lowest, b.unattributed), max(highest, b.pool, b.pool-b.unattributed)
	}
	drawn := f.Draw(func(width, height float64) *chart.Drawing {
		frame := chart.NewFrame(width, height, chart.TimeAxis(t.end, chart.TicksFor(width)), chart.BytesAxis(lowest, highest), f.Title+": "+f.Caption)
		for _, run := range runs {
			drawStack(frame, run)
		}
		frame.Line("base", frame.Left, frame.PY(0), frame.Right, frame.PY(0))
		frame.Phases(t.phases)
		return frame.Drawing
	})
	return &drawn
}

// balances reads the ledger at every sample, in runs without a missing one. Of a long run, each
// stretch is represented by the moment at which least was free.
func (t track) balances() [][]balance {
	byLine := map[string]*telemetry.Series{}
	for _, series := range t.source.Find(metric.MemoryLedgerBytes) {
		byLine[series.Labels[string(metric.LabelLine)]] = series
	}
	pools := t.source.Find(metric.MemoryPoolBytes)
	if len(byLine) == 0 || len(pools) != 1 {
		return nil
	}
	at := func(line string, ns int64) float64 {
		if series, ok := byLine[line]; ok {
			v, _ := series.At(ns)
			return v
		}
		return 0
	}
	var runs [][]balance
	for i, ns := range t.source.Samples {
		pool, ok := pools[0].At(ns)
		if !ok {
			continue
		}
		b := balance{at: ns, pool: pool, free: at(metric.LineFree, ns), unattributed: at(metric.LineUnattributed, ns)}
		for _, band := range bands() {
			total := 0.0
			for _, line := range band.lines {
				total += at(line, ns)
			}
			b.bands = append(b.bands, total)
		}
		if i == 0 || len(runs) == 0 || t.broken(t.source.Samples[i-1], ns) {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], b)
	}
	return fullest(runs, len(t.source.Samples))
}

func fullest(runs [][]balance, samples int) [][]balance {
	stretch := (samples + timePoints - 1) / timePoints
	if stretch <= 1 {
		return runs
	}
	thin := make([][]balance, len(runs))
	for i, run := range runs {
		for part := range slices.Chunk(run, stretch) {
			least := part[0]
			for _, b := range part {
				if b.free < least.free {
					least = b
				}
			}
			thin[i] = append(thin[i], least)
		}
	}
	return thin
}

// ledgerLegend names the areas that are there, with the range of each.
func ledgerLegend(runs [][]balance) []chart.LegendItem {
	var items []chart.LegendItem
	item := func(class, title string, of func(balance) float64) {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, b := range slices.Concat(runs...) {
			lo, hi = min(lo, of(b)), max(hi, of(b))
		}
		if lo == 0 && hi == 0 {
			return
		}
		text := chart.FormatBytes(hi)
		if low := chart.FormatBytes(lo); low != text {
			text = low + " to " + text
		}
		items = append(items, chart.LegendItem{Class: class, Text: title + " " + text})
	}
	for i, band := range bands() {
		item("band-"+band.name, band.title, func(b balance) float64 { return b.bands[i] })
	}
	item("band-rest", "unattributed", func(b balance) float64 { return b.unattributed })
	item("band-free", "free", func(b balance) float64 { return b.free })
	return items
}

// stack draws one run of balances.
func drawStack(f *chart.Frame, run []balance) {
	base := make([]float64, len(run))
	layer := func(class, title string, of func(balance) float64) {
		lower, upper := make([]chart.Place, len(run)), make([]chart.Place, len(run))
		empty := true
		for i, b := range run {
			v := max(0, of(b))
			empty = empty && v == 0
			lower[i] = chart.Place{X: seconds(b.at), Y: base[i]}
			base[i] += v
			upper[i] = chart.Place{X: seconds(b.at), Y: base[i]}
		}
		if !empty {
			f.Area(class, fmt.Sprintf("%s, at most %s", title, chart.FormatBytes(highestOf(run, of))), lower, upper)
		}
	}
	for i, band := range bands() {
		layer("band-"+band.name, band.title, func(b balance) float64 { return b.bands[i] })
	}
	layer("band-rest", "unattributed", func(b balance) float64 { return b.unattributed })
	layer("band-free", "free", func(b balance) float64 { return b.free })
	drawOvercounted(f, run)
	drawPoolLine(f, run)
}

func highestOf(run []balance, of func(balance) float64) float64 {
	highest := 0.0
	for _, b := range run {
		highest = max(highest, of(b))
	}
	return highest
}

// overcounted draws a negative remainder below the axis.
func drawOvercounted(f *chart.Frame, run []balance) {
	lower, upper := make([]chart.Place, len(run)), make([]chart.Place, len(run))
	below := false
	for i, b := range run {
		lower[i], upper[i] = chart.Place{X: seconds(b.at), Y: min(0, b.unattributed)}, chart.Place{X: seconds(b.at), Y: 0}
		below = below || b.unattributed < 0
	}
	if below {
		f.Area("band-rest", "unattributed, negative: lines count some bytes twice", lower, upper)
	}
}

func drawPoolLine(f *chart.Frame, run []balance) {
	var edge []chart.Place
	for _, b := range run {
		edge = append(edge, chart.Place{X: seconds(b.at), Y: b.pool})
	}
	f.Polyline("pool", fmt.Sprintf("pool %s", chart.FormatBytes(run[0].pool)), [][]chart.Place{edge})
}
