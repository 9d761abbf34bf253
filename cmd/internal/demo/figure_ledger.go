package demo

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render"
)

// moments are the moments at which ledgers are compared, with their colours on the pages of comparisons.
var moments = [...]struct {
	name, class string
	of          func(compare.Ledger) map[string]float64
}{
	{"before the start", "c7", func(d compare.Ledger) map[string]float64 { return d.Start }},
	{"ready", "c5", func(d compare.Ledger) map[string]float64 { return d.Ready }},
	{"peak", "c0", func(d compare.Ledger) map[string]float64 { return d.Peak }},
}

// leastLedger is the difference, in bytes, that a line must reach somewhere to have a row of its own; otherLines is the
// row of the rest.
const (
	leastLedger = 256 << 20
	otherLines  = "other lines"
)

// compared returns the campaigns with a ledger of both arms.
func compared(campaigns []Campaign) (with []Campaign) {
	for _, c := range campaigns {
		if p, there := pairOf(c); there && len(p.LedgerDifference.Start)+len(p.LedgerDifference.Ready)+len(p.LedgerDifference.Peak) > 0 {
			with = append(with, c)
		}
	}
	return with
}

// ledgerLines returns the lines that differ anywhere, in the order of the vocabulary, and otherLines if there are any:
// together they add up to the difference of the pools.
func ledgerLines(campaigns []Campaign) (names []string, lo, hi float64) {
	largest := map[string]float64{}
	for _, c := range campaigns {
		p, _ := pairOf(c)
		for _, m := range moments {
			for line, bytes := range m.of(p.LedgerDifference) {
				if math.Abs(bytes) >= leastLedger {
					largest[line] = max(largest[line], math.Abs(bytes))
					lo, hi = min(lo, bytes), max(hi, bytes)
				}
			}
		}
	}
	if len(largest) == 0 {
		return nil, 0, 0
	}
	names, others := metric.InLedgerOrder(largest), false
	for _, c := range campaigns {
		p, _ := pairOf(c)
		for _, m := range moments {
			bytes, seen := differenceOf(m.of(p.LedgerDifference), otherLines, names)
			lo, hi, others = min(lo, bytes), max(hi, bytes), others || seen
		}
	}
	if others {
		names = append(names, otherLines)
	}
	return names, lo, hi
}

// differenceOf returns the difference of a line at a moment; for otherLines the sum of the lines that are not in names.
func differenceOf(delta map[string]float64, line string, names []string) (bytes float64, seen bool) {
	if line != otherLines {
		bytes, seen = delta[line]
		return bytes, seen
	}
	for _, name := range metric.InLedgerOrder(delta) {
		if !slices.Contains(names, name) {
			bytes, seen = bytes+delta[name], true
		}
	}
	return bytes, seen
}

// ledgerFigure draws by how much the arms differ in each line of the ledger; not drawn without a ledger or without a
// difference.
func ledgerFigure(campaigns []Campaign) render.Figure {
	all := compared(campaigns)
	names, lo, hi := ledgerLines(all)
	if len(names) == 0 {
		return render.Figure{}
	}
	first, _ := pairOf(all[0])
	f := render.Figure{Title: "The ledger line by line: " + first.B + " − " + first.A + " (simulated)", Full: true}
	for _, m := range moments {
		f.Legend = append(f.Legend, render.LegendItem{Class: m.class, Text: m.name})
	}
	var counts []string
	for _, c := range all {
		s, _ := stratum(c)
		counts = append(counts, fmt.Sprintf("%d (%s)", len(s.Arms[first.A].Runs)+len(s.Arms[first.B].Runs), c.Name))
	}
	f.Caption = "n = " + strings.Join(counts, ", ") + " runs; means, as the exporter read them on each machine. Right of 0, " + first.B +
		" has more. Lines that differ by 256 MiB or more somewhere; the others are one, so that the bars add up to the difference of the pools. The KV cache is in gpu_process: where less was free, it is smaller."
	rows := float64(len(names))
	return f.DrawTall(90+42*rows, 60+float64(len(all))*(62+52*rows), func(width, height float64) *render.Drawing {
		var frames []*render.Frame
		for i, where := range ledgerSides(width, height, len(all)) {
			frames = append(frames, drawLedger(all[i], names, lo, hi, where, width, height, f.Title))
		}
		return gather(width, height, f.Title+": "+f.Caption, frames)
	})
}

// ledgerNames is the room for the names of lines to the left of the first frame, in pixels.
const ledgerNames = 130

// ledgerSides returns sides of which the first has room for names, where they are next to each other.
func ledgerSides(width, height float64, n int) []side {
	all := sides(width, height, n)
	if width < wide {
		for i := range all {
			all[i].margins.Left = panelRight
		}
		return all
	}
	each := (width - ledgerNames - panelRight - panelGap*float64(n-1)) / float64(n)
	for i := range all {
		left := ledgerNames + float64(i)*(each+panelGap)
		all[i].margins.Left, all[i].margins.Right = left, width-left-each
	}
	return all
}

func drawLedger(c Campaign, names []string, lo, hi float64, where side, width, height float64, label string) *render.Frame {
	p, _ := pairOf(c)
	within := width - where.margins.Left - where.margins.Right
	room := 0.16 * (hi - lo) // room for the figures next to the bars
	low, high := lo, hi
	if lo < 0 {
		low -= room
	}
	if hi > 0 {
		high += room
	}
	x := render.LinearAxis("GiB", low, high, 1./(1<<30), max(3, int(within/70))).Between(low, high)
	f := where.frame(width, height, x, render.Axis{Lo: 0, Hi: 1}, label)
	f.Text("row strong", f.Left, f.Top-14, "start", render.Shorten(c.Name, within))
	each := (f.Bottom - f.Top) / float64(len(names))
	for i, line := range names {
		top := f.Top + float64(i)*each + 2
		switch {
		case width < wide:
			f.Text("row strong", f.Left, top+10, "start", line)
			top += 13
		case where.first:
			f.Text("row strong", f.Left-10, top+each/2+2, "end", render.Shorten(line, ledgerNames-14))
		}
		thick := (f.Top + float64(i+1)*each - top - 3) / float64(len(moments))
		for k, m := range moments {
			if bytes, seen := differenceOf(m.of(p.LedgerDifference), line, names); seen {
				drawDelta(f, m.class, c.Name+", "+line+", "+m.name, bytes, top+float64(k)*thick, thick)
			}
		}
	}
	f.Line("base", f.PX(0), f.Top, f.PX(0), f.Bottom)
	return f
}

// drawDelta draws a difference as a bar from 0, with its figure at its end.
func drawDelta(f *render.Frame, class, name string, bytes, top, thick float64) {
	from, to := f.PX(min(0, bytes)), f.PX(max(0, bytes))
	f.Add(render.Shape{
		Kind: "rect", Class: class, X: from, Y: render.Tenth(top), W: render.Tenth(max(0.8, to-from)), H: render.Tenth(thick - 1),
		Title: name + ": " + signed(compare.UnitBytes, bytes),
	})
	if math.Abs(bytes) < leastLedger {
		return
	}
	at, anchor := to+4, "start"
	if bytes < 0 {
		at, anchor = from-4, "end"
	}
	f.Text("tiny", at, top+thick/2+2.5, anchor, shortSigned(bytes))
}
