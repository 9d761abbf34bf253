package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// balance is the pool at one moment, split into bands, in bytes.
type balance struct {
	at         int64
	bands      []float64 // they add up to the pool
	signed     float64   // the band that may be negative
	free, pool float64
}

// ledger stacks the lines of the memory ledger up to the pool. The unattributed remainder is signed: above zero it is
// between what is held and cache; below zero, where lines count bytes twice, it extends below the axis by as much as
// the stack exceeds the pool.
func (t track) ledger() render.Figure {
	runs := t.balances()
	if len(runs) == 0 {
		return render.Figure{}
	}
	return t.stack("Where the memory went", "A line that could not be read is in the unattributed remainder.", bands(), runs)
}

// freeView stacks unavailable memory, memory that is available and not free, and free memory: CUDA does not report the
// second as free. It is negative where the kernel keeps more in reserve than it can reclaim.
func (t track) freeView() render.Figure {
	pools, available, free := t.source.Find(metric.MemoryPoolBytes), t.source.Find(metric.MemoryAvailableBytes), t.source.Find(metric.MemoryCUDAFreeBytes)
	if len(pools) != 1 || len(available) != 1 || len(free) != 1 {
		return render.Figure{} // where GPUs have memory of their own there is no difference to show
	}
	runs := t.stretches(func(ns int64) (balance, bool) {
		pool, a := pools[0].At(ns)
		can, b := available[0].At(ns)
		is, c := free[0].At(ns)
		return balance{at: ns, pool: pool, free: is, signed: can - is, bands: []float64{pool - can, can - is, is}}, a && b && c
	})
	if len(runs) == 0 {
		return render.Figure{}
	}
	return t.stack("Available and free memory", "Free is MemFree, which CUDA reports; what is available and not free is page cache that can be reclaimed.", freeBands(), runs)
}

// heldView stacks the memory that processes hold of each GPU, the rest of the occupied memory, and free memory. GPUs
// with memory of their own hold none of the pool: they are drawn as lines.
func (t track) heldView() render.Figure {
	if !t.heldInPool() {
		return t.lines(gpuHeld(), metric.GPUMemoryHeldBytes)
	}
	held := slices.Clone(t.source.Find(metric.GPUMemoryHeldBytes))
	names := t.gpuNames()
	slices.SortStableFunc(held, func(a, b *telemetry.Series) int { return cmp.Compare(names(a), names(b)) })
	runs := t.heldBalances(held)
	if len(runs) == 0 {
		return render.Figure{}
	}
	var gpus []string
	for _, series := range held {
		gpus = append(gpus, names(series))
	}
	return t.stack("GPU-held memory in the pool", "Processes hold it by the driver's list, touched or not.", heldBands(gpus), runs)
}

// heldInPool reports whether GPU-held memory comes from the pool.
func (t track) heldInPool() bool {
	return len(t.source.Find(metric.MemoryCUDAFreeBytes)) > 0 || t.ledgerLine(ledger.GPUProcess) != nil
}

// ledgerLine returns the series of a line of the ledger; nil without one.
func (t track) ledgerLine(name string) *telemetry.Series {
	for _, series := range t.source.Find(metric.MemoryLedgerBytes) {
		if series.Labels[string(metric.LabelLine)] == name {
			return series
		}
	}
	return nil
}

// heldBalances returns the bands of heldBands. A moment without a figure of one device is a gap.
func (t track) heldBalances(held []*telemetry.Series) [][]balance {
	pools, free, cma := t.source.Find(metric.MemoryPoolBytes), t.ledgerLine(ledger.Free), t.ledgerLine(ledger.FreeCMA)
	if len(held) == 0 || len(pools) != 1 || free == nil {
		return nil
	}
	return t.stretches(func(ns int64) (balance, bool) {
		pool, a := pools[0].At(ns)
		is, b := free.At(ns)
		whole := a && b
		if cma != nil {
			part, known := cma.At(ns)
			is, whole = is+part, whole && known
		}
		one := balance{at: ns, pool: pool, free: is, signed: pool - is}
		for _, gpu := range held {
			bytes, known := gpu.At(ns)
			whole = whole && known
			one.bands = append(one.bands, bytes)
			one.signed -= bytes
		}
		one.bands = append(one.bands, one.signed, is)
		return one, whole
	})
}

// stack draws bands as areas that add up to the pool.
func (t track) stack(title, caption string, bands []band, runs [][]balance) render.Figure {
	f := render.Figure{Title: title + " — " + t.label(), Full: true, Caption: t.sampled() + " The stack is the pool, MemTotal. " + caption}
	f.Legend = stackLegend(bands, runs)
	lowest, highest := 0.0, 0.0
	for _, b := range slices.Concat(runs...) {
		lowest, highest = min(lowest, b.signed), max(highest, b.pool, b.pool-b.signed)
	}
	return f.Draw(func(width, height float64) *render.Drawing {
		frame := render.NewFrame(width, height, render.TimeAxis(t.end, render.TicksFor(width)), render.BytesAxis(lowest, highest), f.Title+": "+f.Caption)
		for _, run := range runs {
			drawStack(frame, bands, run)
		}
		frame.Line("base", frame.Left, frame.PY(0), frame.Right, frame.PY(0))
		frame.Phases(t.phases)
		return frame.Drawing
	})
}

// balances reads the ledger at every sample, in runs without a missing one.
func (t track) balances() [][]balance {
	byLine := map[string]*telemetry.Series{}
	for _, series := range t.source.Find(metric.MemoryLedgerBytes) {
		byLine[series.Labels[string(metric.LabelLine)]] = series
	}
	pools := t.source.Find(metric.MemoryPoolBytes)
	if len(byLine) == 0 || len(pools) != 1 {
		return nil
	}
	at := func(ns int64) ledger.Ledger {
		lines := ledger.Ledger{}
		for line, series := range byLine {
			if v, known := series.At(ns); known {
				lines[line] = v
			}
		}
		return lines
	}
	return t.stretches(func(ns int64) (balance, bool) {
		pool, ok := pools[0].At(ns)
		lines := at(ns)
		free, _ := lines.Free()
		b := balance{at: ns, pool: pool, free: free, signed: lines[ledger.Unattributed]}
		for _, band := range bands() {
			b.bands = append(b.bands, band.Bytes(lines))
		}
		return b, ok
	})
}

// stretches returns the balances of all samples, in runs without a missing one. In a long run, the moment with the least
// free memory represents each stretch.
func (t track) stretches(at func(ns int64) (balance, bool)) [][]balance {
	var runs [][]balance
	for i, ns := range t.source.Samples {
		b, ok := at(ns)
		if !ok {
			continue
		}
		if i == 0 || len(runs) == 0 || t.broken(t.source.Samples[i-1], ns) {
			runs = append(runs, nil)
		}
		runs[len(runs)-1] = append(runs[len(runs)-1], b)
	}
	for i, run := range runs {
		runs[i] = leastFree(run, stretchOf(len(t.source.Samples), timePoints))
	}
	return runs
}

// leastFree keeps, of every stretch of so many moments, the one with the least free memory.
func leastFree(run []balance, stretch int) []balance {
	if stretch <= 1 {
		return run
	}
	var kept []balance
	for part := range slices.Chunk(run, stretch) {
		kept = append(kept, slices.MinFunc(part, func(a, b balance) int { return cmp.Compare(a.free, b.free) }))
	}
	return kept
}

// stretchOf returns how many moments one point of a chart stands for.
func stretchOf(moments, points int) int { return (moments + points - 1) / points }

// stackLegend names the areas that have values, with the range of each.
func stackLegend(bands []band, runs [][]balance) []render.LegendItem {
	var items []render.LegendItem
	item := func(class, title string, of func(balance) float64) {
		lo, hi := math.Inf(1), math.Inf(-1)
		for _, b := range slices.Concat(runs...) {
			lo, hi = min(lo, of(b)), max(hi, of(b))
		}
		if lo == 0 && hi == 0 {
			return
		}
		text := format.Bytes(hi)
		if low := format.Bytes(lo); low != text {
			text = low + " to " + text
		}
		items = append(items, render.LegendItem{Class: class, Text: title + " " + text})
	}
	for i, band := range bands {
		item("band-"+band.Name, band.Title, func(b balance) float64 { return b.bands[i] })
	}
	return items
}

// drawStack draws one run of balances.
func drawStack(f *render.Frame, bands []band, run []balance) {
	base := make([]float64, len(run))
	layer := func(class, title string, of func(balance) float64) {
		lower, upper := make([]render.Place, len(run)), make([]render.Place, len(run))
		empty := true
		for i, b := range run {
			v := max(0, of(b))
			empty = empty && v == 0
			lower[i] = render.Place{X: seconds(b.at), Y: base[i]}
			base[i] += v
			upper[i] = render.Place{X: seconds(b.at), Y: base[i]}
		}
		if !empty {
			f.Area(class, fmt.Sprintf("%s, at most %s", title, format.Bytes(highestOf(run, of))), lower, upper)
		}
	}
	for i, band := range bands {
		layer("band-"+band.Name, band.Title, func(b balance) float64 { return b.bands[i] })
	}
	drawOvercounted(f, bands, run)
	drawPoolLine(f, run)
}

func highestOf(run []balance, of func(balance) float64) float64 {
	highest := 0.0
	for _, b := range run {
		highest = max(highest, of(b))
	}
	return highest
}

// drawOvercounted draws a negative band below the axis.
func drawOvercounted(f *render.Frame, bands []band, run []balance) {
	lower, upper := make([]render.Place, len(run)), make([]render.Place, len(run))
	below := false
	for i, b := range run {
		lower[i], upper[i] = render.Place{X: seconds(b.at), Y: min(0, b.signed)}, render.Place{X: seconds(b.at), Y: 0}
		below = below || b.signed < 0
	}
	for _, band := range bands {
		if below && band.below != "" {
			f.Area("band-"+band.Name, band.Title+", negative: "+band.below, lower, upper)
		}
	}
}

func drawPoolLine(f *render.Frame, run []balance) {
	var edge []render.Place
	for _, b := range run {
		edge = append(edge, render.Place{X: seconds(b.at), Y: b.pool})
	}
	f.Polyline("pool", fmt.Sprintf("pool %s", format.Bytes(run[0].pool)), [][]render.Place{edge})
}
