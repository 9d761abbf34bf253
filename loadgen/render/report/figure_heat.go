package report

import (
	"fmt"
	"math"
	"strings"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// The minimum of data for a heat map, and its resolution.
const (
	leastHeat   = 100
	heatLevels  = 5
	heatColumns = summary.TimelineBins / 2
)

// heatFigure draws a heat map with the phases; not ok if there is too little data.
func heatFigure(h *summary.Heat, title, counts string, end float64, phases []render.PhaseSpan) (render.Figure, bool) {
	low, high, most := heatExtent(h)
	if h.N < leastHeat || end <= 0 {
		return render.Figure{}, false
	}
	f := render.Figure{Title: title, Caption: fmt.Sprintf("n = %d %s of all phases; the darker, the more of them at a time. %s at a time, a quarter of an octave high.", h.N, counts, format.Seconds(end/heatColumns))}
	for level := 1; level <= heatLevels; level++ {
		least, largest := levelRange(level, most)
		if least <= largest {
			f.Legend = append(f.Legend, render.LegendItem{Class: fmt.Sprintf("heat%d", level), Text: levelText(least, largest)})
		}
	}
	return f.Draw(func(width, height float64) *render.Drawing {
		lo, hi := summary.HeatEdge(low)/1e9, summary.HeatEdge(high+1)/1e9
		scale, unit := render.SecondsUnit(hi)
		frame := render.NewFrame(width, height, render.TimeAxis(end, render.TicksFor(width)), render.LogAxis(unit+", logarithmic", lo, hi, scale).Spaced(height), f.Title+": "+f.Caption)
		drawHeat(h, frame, low, high, most, end)
		frame.Phases(phases)
		return frame.Drawing
	}), true
}

// heatExtent returns the range of rows that are not empty, and the largest count of a drawn cell.
func heatExtent(h *summary.Heat) (low, high int, most uint32) {
	low = summary.HeatRows
	for column := range heatColumns {
		for row := range summary.HeatRows {
			if n := heatCount(h, column, row); n > 0 {
				low, high, most = min(low, row), max(high, row), max(most, n)
			}
		}
	}
	return low, high, most
}

// heatCount returns the count of a drawn cell, which is two bins wide.
func heatCount(h *summary.Heat, column, row int) uint32 {
	return h.Cells[2*column][row] + h.Cells[2*column+1][row]
}

// level returns the darkness of a count, 1 to heatLevels, by its logarithm; 0 for no counts.
func level(n, most uint32) int {
	if n == 0 {
		return 0
	}
	return max(1, int(math.Ceil(heatLevels*math.Log1p(float64(n))/math.Log1p(float64(most))-1e-9)))
}

// levelRange returns the counts that have a level; of few counts, some levels have none.
func levelRange(of int, most uint32) (least, largest uint32) {
	largest = uint32(math.Floor(math.Expm1(float64(of)/heatLevels*math.Log1p(float64(most))) + 1e-6))
	if of > 1 {
		_, below := levelRange(of-1, most)
		return below + 1, largest
	}
	return 1, largest
}

func levelText(least, largest uint32) string {
	if least == largest {
		return fmt.Sprint(least)
	}
	return fmt.Sprintf("%d to %d", least, largest)
}

func drawHeat(h *summary.Heat, f *render.Frame, low, high int, most uint32, end float64) {
	var cells heatMap
	for row := low; row <= high; row++ {
		bottom, top := f.PY(summary.HeatEdge(row)/1e9), f.PY(summary.HeatEdge(row+1)/1e9)
		cells.addRow(f, bottom, top, end, heatColumns, func(column int) int { return level(heatCount(h, column, row), most) })
	}
	cells.draw(f, func(level int) string { return levelText(levelRange(level, most)) + " at a time" })
}

// heatMap has one shape for each level of darkness.
type heatMap [heatLevels + 1]strings.Builder

// addRow adds a row of cells that divide the time to its end: neighbours with the same level are one rectangle of it.
// Level 0 is no cell.
func (m *heatMap) addRow(f *render.Frame, bottom, top, end float64, columns int, level func(column int) int) {
	for from := 0; from < columns; {
		to, dark := from+1, level(from)
		for to < columns && level(to) == dark {
			to++
		}
		if left, right := f.PX(end*float64(from)/float64(columns)), f.PX(end*float64(to)/float64(columns)); dark > 0 {
			fmt.Fprintf(&m[dark], "M%g %gH%gV%gH%gz", left, bottom, right, top, left)
		}
		from = to
	}
}

// draw adds the cells of each level, which have the text of their legend as a tip.
func (m *heatMap) draw(f *render.Frame, text func(level int) string) {
	for dark := 1; dark <= heatLevels; dark++ {
		if m[dark].Len() > 0 {
			f.Add(render.Shape{Kind: "path", Class: fmt.Sprintf("heat%d", dark), D: m[dark].String(), Title: text(dark)})
		}
	}
}
