package report

import (
	"fmt"
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/render"

	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// MostCourses is the number of runs of a group that are shown over time, evenly chosen: a page with more could not be
// read.
const MostCourses = 24

// Course is the telemetry of one run on a group's page: a few points of each figure, for a run of any length.
type Course struct {
	source   string
	samples  int
	end      float64 // seconds since the run's start
	phases   []render.PhaseSpan
	balances [][]balance
	// lines are indexed like courseFigures, each in runs without a gap.
	lines [][][]render.Place
}

// coursePoints is the number of moments of a run in a small chart.
const coursePoints = 110

// courseFigure is a chart of lines; the ledger precedes these charts.
type courseFigure struct {
	measure
	family metric.Definer
	heat   bool // also drawn over runs and time
}

func courseFigures() []courseFigure {
	return []courseFigure{
		{measure{"GPU temperature", "°C", 1, 0}, metric.GPUTemperatureCelsius, true},
		{measure{"GPU power", "W", 1, 0}, metric.GPUPowerWatts, false},
		{measure{"GPU utilisation", "% of the time", 100, 100}, metric.GPUUtilizationRatio, true},
		{gpuHeld(), metric.GPUMemoryHeldBytes, false},
	}
}

// gpuHeld is the GPU-held memory of GPUs with memory of their own; elsewhere it is a part of the pool.
func gpuHeld() measure {
	return measure{"GPU memory held by processes", "GiB", 1. / (1 << 30), 0}
}

// NewCourse reads the telemetry of the measured host of a run; nil without any.
func NewCourse(s summary.Summary, log *telemetry.Log) *Course {
	if log == nil {
		return nil
	}
	for _, m := range s.Machines {
		source := log.Source(m.Source)
		if source == nil || len(source.Samples) == 0 {
			continue
		}
		end := max(Page{Summary: s}.end(), seconds(source.Samples[len(source.Samples)-1]))
		t := track{log, source, end, phaseSpans(s)}
		c := &Course{source: t.label(), samples: len(source.Samples), end: end, phases: t.phases}
		for _, run := range t.balances() {
			c.balances = append(c.balances, leastFree(run, stretchOf(len(source.Samples), coursePoints)))
		}
		for _, f := range courseFigures() {
			c.lines = append(c.lines, t.course(f))
		}
		return c
	}
	return nil
}

// course returns the first series of a family, thinned. GPU-held memory of the pool is a line of its ledger.
func (t track) course(f courseFigure) [][]render.Place {
	if f.family.Def().Name == metric.GPUMemoryHeldBytes.Def().Name && t.heldInPool() {
		return nil
	}
	lines := t.named(t.source.Find(f.family))
	if len(lines) == 0 {
		return nil
	}
	var runs [][]render.Place
	for _, run := range t.runs(lines[0].points, f.scale) {
		runs = append(runs, thinned(run, coursePoints))
	}
	return runs
}

// chosen returns the indexes of the runs whose course is shown, evenly among all.
func chosen(all int) []int {
	n := min(all, MostCourses)
	var indexes []int
	for i := range n {
		indexes = append(indexes, i*all/n)
	}
	return indexes
}

// AddCourses reads the telemetry of the members that are shown over time, one member at a time. of reads that of a
// member by its index.
func (g *Group) AddCourses(of func(member int) (*telemetry.Log, error)) error {
	for _, i := range chosen(len(g.Members)) {
		m := &g.Members[i]
		if m.Summary == nil {
			continue
		}
		log, err := of(i)
		if err != nil {
			return err
		}
		m.Course = NewCourse(*m.Summary, log)
	}
	return nil
}

// courses returns the rows of small charts of a group; none without telemetry.
func (g Group) courses() []render.Block {
	var members []Member
	var balances [][]balance
	for _, m := range g.Members {
		if m.Course != nil {
			members = append(members, m)
			balances = append(balances, m.Course.balances...)
		}
	}
	var rows []render.Block
	for _, i := range heatCourses() {
		rows = append(rows, runsHeat(members, i, courseFigures()[i])...)
	}
	if len(slices.Concat(balances...)) > 0 {
		rows = append(rows, ledgerPanels(members, balances))
	}
	for i, f := range courseFigures() {
		if row := linePanels(members, i, f); !row.Empty() {
			rows = append(rows, row)
		}
	}
	if len(rows) == 0 {
		return nil
	}
	shown := fmt.Sprintf("%d of %d runs, each on the same scale.", len(members), len(g.Members))
	return append([]render.Block{render.H2("Over time, run by run"), render.Small(shown)}, rows...)
}

func ledgerPanels(members []Member, all [][]balance) render.Panels {
	row := render.Panels{Title: "Where the memory went", Legend: stackLegend(bands(), all)}
	lowest, highest := 0.0, 0.0
	for _, b := range slices.Concat(all...) {
		lowest, highest = min(lowest, b.signed), max(highest, b.pool, b.pool-b.signed)
	}
	for _, m := range members {
		if len(m.Course.balances) == 0 {
			continue
		}
		addPanel(&row, m, render.BytesAxis(lowest, highest), func(f *render.Frame) {
			for _, run := range m.Course.balances {
				drawStack(f, bands(), run)
			}
		})
	}
	return row
}

func linePanels(members []Member, which int, figure courseFigure) render.Panels {
	row := render.Panels{Title: figure.title}
	highest := figure.most
	for _, m := range members {
		for _, p := range slices.Concat(m.Course.lines[which]...) {
			highest = max(highest, p.Y)
		}
	}
	for _, m := range members {
		if len(m.Course.lines[which]) == 0 {
			continue
		}
		addPanel(&row, m, render.LinearAxis(figure.unit, 0, highest, 1, 4), func(f *render.Frame) {
			f.Series("c0", "", m.Course.lines[which])
		})
	}
	return row
}

// Sizes of a small chart.
const panelWidth, panelHeight = 330, 190

func addPanel(row *render.Panels, m Member, y render.Axis, draw func(*render.Frame)) {
	c := m.Course
	caption := fmt.Sprintf("n = %d samples of %s", c.samples, c.source)
	frame := render.NewFrame(panelWidth, panelHeight, render.TimeAxis(c.end, render.TicksFor(panelWidth)), y, row.Title+", "+m.Name+": "+caption)
	draw(frame)
	frame.Phases(c.phases)
	row.Panels = append(row.Panels, render.Panel{Name: m.Name, Caption: caption, Drawing: frame.Drawing})
}
