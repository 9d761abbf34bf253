package report

import (
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
)

const barHeight = 36

// LedgerBar draws the lines of a ledger at one moment as a bar that adds up to the pool. A negative remainder is in the
// legend only.
func LedgerBar(title, caption string, lines ledger.Ledger) render.Figure {
	b := balance{}
	whole := 0.0
	for _, band := range bands() {
		sum := band.Bytes(lines)
		b.bands = append(b.bands, sum)
		whole += max(0, sum)
	}
	if whole <= 0 {
		return render.Figure{}
	}
	f := render.Figure{Title: title, Caption: caption, Full: true, Legend: stackLegend(bands(), [][]balance{{b}})}
	return f.DrawTall(barHeight, barHeight, func(width, height float64) *render.Drawing {
		d := &render.Drawing{Width: width, Height: height, Label: title}
		left := 0.0
		for i, band := range bands() {
			if wide := width * max(0, b.bands[i]) / whole; wide > 0 {
				d.Shapes = append(d.Shapes, render.Shape{
					Kind: "rect", Class: "band-" + band.Name, X: render.Tenth(left), W: render.Tenth(wide), H: height,
					Title: band.Title + " " + format.Bytes(b.bands[i]),
				})
				left += wide
			}
		}
		return d
	})
}
