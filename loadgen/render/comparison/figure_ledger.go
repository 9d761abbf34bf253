package comparison

import (
	"fmt"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// ledgerFigures returns the charts of the host of the runs and of every further machine that both arms measured.
func ledgerFigures(c compare.Comparison, s compare.Stratum, pair compare.Pair) []render.Figure {
	var all []render.Figure
	for _, l := range ledgersOf(pair) {
		all = append(all, ledgerFigure(c, s, pair, l))
	}
	return all
}

// ledgerFigure draws the difference of each line of the memory ledger, with small differences folded into one; not
// drawn where none was observed, or none differs.
func ledgerFigure(c compare.Comparison, s compare.Stratum, pair compare.Pair, l ledgers) render.Figure {
	f := render.Figure{Title: "Where the memory differs" + l.where + ": " + pair.B + " − " + pair.A, Full: true}
	folded := l.folded(nil)
	if folded.differ == 0 {
		return f
	}
	extent := span{}
	for i, m := range folded.difference.Moments() {
		if *m.Ledger != nil {
			f.Legend = append(f.Legend, render.LegendItem{Class: momentClasses[i], Text: "at " + m.Moment})
		}
		for _, bytes := range *m.Ledger {
			extent.take(bytes)
		}
	}
	f.Caption = pairCounts(c, s, pair) + fmt.Sprintf("; means by line of the ledger, GiB. Right of 0, %s has more. Of %d lines, %d differ by 32 MiB or more; the others are one. They add up to the difference of the pools.", pair.B, len(l.names()), folded.differ)
	names := folded.names()
	return f.DrawTall(74+30*float64(len(names)), 74+46*float64(len(names)), func(width, height float64) *render.Drawing {
		return drawLedger(names, extent, folded.difference, width, height, f.Title+": "+f.Caption)
	})
}

func drawLedger(names []string, extent span, delta summary.Ledgers, width, height float64, label string) *render.Drawing {
	margins := render.Margins{Left: 12, Right: 12, Top: 10, Bottom: 42}
	if width >= wide {
		margins.Left, margins.Right = 190, 90
	}
	x := render.LinearAxis("GiB", extent.lo, extent.hi, 1./(1<<30), render.TicksFor(width))
	if max(extent.hi, -extent.lo) < 2<<30 {
		x = render.LinearAxis("MiB", extent.lo, extent.hi, 1./(1<<20), render.TicksFor(width))
	}
	frame := render.NewFrameIn(margins, width, height, x, render.Axis{Lo: 0, Hi: 1}, label)
	each := (frame.Bottom - frame.Top) / float64(len(names))
	for i, line := range names {
		top, name := frame.Top+float64(i)*each+3, ledger.Named(line).Title
		if width >= wide {
			frame.Text("row", frame.Left-10, top+each/2, "end", render.Shorten(name, frame.Left-14))
		} else {
			frame.Text("row", frame.Left, top+9, "start", name)
			top += 15
		}
		thick := (frame.Top + float64(i+1)*each - top - 3) / float64(len(momentClasses))
		for k, m := range delta.Moments() {
			if bytes, ok := (*m.Ledger)[line]; ok {
				drawDelta(frame, momentClasses[k], name+" at "+m.Moment, bytes, top+float64(k)*thick, thick)
			}
		}
	}
	frame.Line("base", frame.PX(0), frame.Top, frame.PX(0), frame.Bottom)
	return frame.Drawing
}

func drawDelta(f *render.Frame, class, name string, bytes, top, thick float64) {
	from, to := f.PX(min(0, bytes)), f.PX(max(0, bytes))
	f.Add(render.Shape{Kind: "rect", Class: class, X: from, Y: render.Tenth(top), W: render.Tenth(max(.5, to-from)), H: render.Tenth(thick - 1), Title: name + ": " + signedBytes(bytes)})
}

func signedBytes(b float64) string {
	text := figure.Bytes.Text(b)
	if b > 0 {
		text = "+" + text
	}
	return text
}
