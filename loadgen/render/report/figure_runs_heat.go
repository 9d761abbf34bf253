package report

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
)

// Sizes of a heat map over runs.
const (
	heatRowHeight  = 20
	heatRowsAround = 90 // above and below the rows
	runColumns     = 80
)

// heatCourses returns the figures that are drawn as a heat map over runs and time.
func heatCourses() []int {
	var which []int
	for i, f := range courseFigures() {
		if f.heat {
			which = append(which, i)
		}
	}
	return which
}

// runsHeat draws a heat map of a figure: a row for each run in the order of their start, with the time since the start
// of the run to the right. The page has its numbers in a table below it. Fewer than two runs have no heat map.
func runsHeat(members []Member, which int, figure courseFigure) []render.Block {
	members = inOrderOfStart(slices.DeleteFunc(slices.Clone(members), func(m Member) bool { return len(m.Course.lines[which]) == 0 }))
	low, high, end := math.Inf(1), math.Inf(-1), 0.0
	samples := 0
	var names []string
	for _, m := range members {
		for _, p := range slices.Concat(m.Course.lines[which]...) {
			low, high = min(low, p.Y), max(high, p.Y)
		}
		end, samples = max(end, m.Course.end), samples+m.Course.samples
		names = append(names, m.Name)
	}
	if len(members) < 2 || end <= 0 {
		return nil
	}
	scale := newHeatScale(low, high)
	f := render.Figure{Full: true, Title: figure.title + " over runs and time", Legend: scale.legend(figure.unit)}
	f.Caption = fmt.Sprintf("%d runs in the order of their start, the first at the top; n = %d samples. Each cell shows the highest value of %s; a gap in the samples stays open. Marks are the beginnings of phases.",
		len(members), samples, format.Seconds(end/runColumns))
	height := float64(heatRowsAround + heatRowHeight*len(members))
	drawn := f.DrawTall(height, height, func(width, height float64) *render.Drawing {
		slices.Reverse(names) // the axis goes up
		rows := render.CategoryAxis("", names)
		slices.Reverse(names)
		margins := render.Margins{Left: width / 4, Right: render.MarginRight, Top: 32, Bottom: 42}
		for i := range rows.Ticks {
			rows.Ticks[i].Text = render.Shorten(rows.Ticks[i].Text, margins.Left-8)
		}
		frame := render.NewFrameIn(margins, width, height, render.TimeAxis(end, render.TicksFor(width)), rows, f.Title+": "+f.Caption)
		scale.draw(frame, figure.unit, members, which, end)
		return frame.Drawing
	})
	return []render.Block{render.Figures{drawn}, render.Details{Summary: f.Title + ", as a table", Blocks: []render.Block{heatTable(members, which, figure)}}}
}

// inOrderOfStart sorts runs by their start; those with an unknown start keep their order at the end.
func inOrderOfStart(members []Member) []Member {
	started := func(m Member) time.Time {
		if m.Summary == nil || m.Summary.Made == nil || m.Summary.Made.StartedAt == nil {
			return time.Unix(1<<40, 0)
		}
		return *m.Summary.Made.StartedAt
	}
	slices.SortStableFunc(members, func(a, b Member) int { return started(a).Compare(started(b)) })
	return members
}

// heatScale has heatLevels steps of equal size between the lowest and the highest value.
type heatScale struct{ low, step float64 }

func newHeatScale(low, high float64) heatScale {
	return heatScale{low, max((high-low)/heatLevels, 1e-9)}
}

// level is 1 to heatLevels.
func (s heatScale) level(v float64) int {
	return min(max(int((v-s.low)/s.step)+1, 1), heatLevels)
}

func (s heatScale) legend(unit string) []render.LegendItem {
	var items []render.LegendItem
	for level := 1; level <= heatLevels; level++ {
		items = append(items, render.LegendItem{Class: fmt.Sprintf("heat%d", level), Text: s.text(level, unit)})
	}
	return items
}

func (s heatScale) text(level int, unit string) string {
	return fmt.Sprintf("%s to %s %s", format.Digits(s.low+float64(level-1)*s.step), format.Digits(s.low+float64(level)*s.step), unit)
}

func (s heatScale) draw(f *render.Frame, unit string, members []Member, which int, end float64) {
	var cells heatMap
	for i, m := range members {
		at := float64(len(members) - 1 - i)
		highest := highestByColumn(m.Course.lines[which], end)
		cells.addRow(f, f.PY(at-.45), f.PY(at+.45), end, runColumns, func(column int) int {
			if highest[column] == nil {
				return 0
			}
			return s.level(*highest[column])
		})
	}
	cells.draw(f, func(level int) string { return s.text(level, unit) })
	for i, m := range members {
		at := float64(len(members) - 1 - i)
		for _, p := range m.Course.phases {
			f.Line("phase-line", f.PX(p.Start), f.PY(at+.45), f.PX(p.Start), f.PY(at-.45))
		}
	}
}

// highestByColumn returns the highest value in each column of a line: of its points, and of the straight line between
// them. A gap in the line has none.
func highestByColumn(runs [][]render.Place, end float64) [runColumns]*float64 {
	var cells [runColumns]*float64
	column := func(x float64) int { return min(max(int(x/end*runColumns), 0), runColumns-1) }
	take := func(i int, v float64) {
		if cells[i] == nil || v > *cells[i] {
			cells[i] = &v
		}
	}
	for _, run := range runs {
		for i, p := range run {
			take(column(p.X), p.Y)
			if i == 0 {
				continue
			}
			last := run[i-1]
			for c := column(last.X) + 1; c <= column(p.X); c++ {
				edge := end * float64(c) / runColumns
				v := last.Y + (p.Y-last.Y)*(edge-last.X)/(p.X-last.X)
				take(c-1, v)
				take(c, v)
			}
		}
	}
	return cells
}

// heatTable has the numbers of the map: the first and the highest value of each run, and the highest of each phase.
func heatTable(members []Member, which int, figure courseFigure) render.Table {
	var phases []string
	for _, m := range members {
		for _, p := range m.Course.phases {
			if !slices.Contains(phases, p.Name) {
				phases = append(phases, p.Name)
			}
		}
	}
	t := render.Table{Header: []string{"run", "samples", "first, " + figure.unit, "highest, " + figure.unit}}
	for _, phase := range phases {
		t.Header = append(t.Header, "highest in "+phase)
	}
	highest := func(points []render.Place, from, to float64) string {
		var kept []render.Place
		for _, p := range points {
			if p.X >= from && p.X <= to {
				kept = append(kept, p)
			}
		}
		if len(kept) == 0 {
			return format.None
		}
		return format.Digits(slices.MaxFunc(kept, func(a, b render.Place) int { return cmp.Compare(a.Y, b.Y) }).Y)
	}
	for _, m := range members {
		points := slices.Concat(m.Course.lines[which]...)
		row := []string{m.Name, strconv.Itoa(m.Course.samples), format.Digits(points[0].Y), highest(points, 0, math.Inf(1))}
		for _, phase := range phases {
			text := format.None
			for _, p := range m.Course.phases {
				if p.Name == phase {
					text = highest(points, p.Start, p.End)
				}
			}
			row = append(row, text)
		}
		t.Add(row...)
	}
	return t
}
