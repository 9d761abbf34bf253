// Package figure is the catalogue of the figures of a run. Each is written down once: its name, its unit, how it is read
// from a summary, how it is compared, and the columns that it has in tables. Reports, workbooks, tables of campaigns,
// comparisons and exported series iterate the catalogue, so that a new figure is one entry.
//
// A figure that is exported has its series in exporter/metric, the vocabulary that dashboards share. Titles that both
// wings show stand there.
package figure

import (
	"cmp"
	"slices"
	"strings"
	"sync"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/summary"
)

// Figure is a number of a run.
type Figure struct {
	// Name ends with the unit. Figures that an engine reports about itself begin with engine_reported, figures that a
	// recorded command or an imported tool reports with tool_reported: neither shares a row with a measured one. Latencies
	// count from the intended start unless their name has send.
	Name  string
	Title string // for display
	Unit  Unit
	// Get returns the figure of a run in its unit; nil where the run lacks it.
	Get func(*summary.Summary) *float64
	// Doubt returns how far the figure may be off because of the load generator's own delays, in its unit; nil where that
	// is unknown. Most figures have no such function.
	Doubt func(*summary.Summary) *float64

	// Direction is the direction that is better, and Margin the difference that does not matter unless --margin replaces
	// it. A figure without a margin is in no comparison.
	Direction Direction
	Margin    Margin
	Scale     string

	// CountsLoad marks the rates that count the whole load, each in its unit.
	CountsLoad bool

	// Series is the exported series; nil for none. By returns who reported the figure, for its label source.
	Series *metric.Gauge
	By     func(*summary.Summary) string

	// Column, Table and Bench are the columns in the table of runs of a report, in campaign.csv and in benchstat's format.
	Column, Table, Bench Column
	// Origin returns the source of a figure of the measured machine; it is nil for the others.
	Origin func(*summary.Summary) summary.Origin
}

// Column is the place of a figure in a table and its heading there. A figure without a heading is not in the table.
type Column struct {
	Place   int // columns are sorted by it; those with the same place keep the order of the catalogue
	Heading string
}

// Catalogue is a list of figures.
type Catalogue []Figure

// Columns returns the figures that have a column in a table, in its order.
func (c Catalogue) Columns(in func(Figure) Column) []Figure {
	all := slices.DeleteFunc(slices.Clone(c), func(f Figure) bool { return in(f).Heading == "" })
	slices.SortStableFunc(all, func(a, b Figure) int { return cmp.Compare(in(a).Place, in(b).Place) })
	return all
}

// InReport returns the column of a figure in the table of runs of a report.
func InReport(f Figure) Column { return f.Column }

// InTable returns the column of a figure in campaign.csv.
func InTable(f Figure) Column { return f.Table }

// InBench returns the column of a figure in benchstat's format.
func InBench(f Figure) Column { return f.Bench }

// byName indexes the catalogue by name.
var byName = sync.OnceValue(func() map[string]Figure {
	all := map[string]Figure{}
	for _, f := range catalogue() {
		all[f.Name] = f
	}
	return all
})

// Find returns the figure of a name.
func Find(name string) (Figure, bool) {
	f, known := byName()[name]
	return f, known
}

// FindCompared returns the figure of a name that runs are compared by.
func FindCompared(name string) (Figure, bool) {
	f, known := Find(name)
	return f, known && f.Margin.Value > 0
}

// Value returns a figure of a run by its name; nil where the run lacks it.
func Value(s *summary.Summary, name string) *float64 {
	f, known := Find(name)
	if !known || s == nil {
		return nil
	}
	return f.Get(s)
}

// Prefixes of the names of figures that uma-load did not measure.
const (
	engineReported = "engine_reported_"
	toolReported   = "tool_reported_"
)

// ByEngine reports whether a name is of a figure that an engine reports about itself.
func ByEngine(name string) bool { return strings.HasPrefix(name, engineReported) }

// EngineReported returns the name of a figure as the engine reports it, so that it differs from the measured one.
func EngineReported(name string) string {
	if ByEngine(name) {
		return name
	}
	return engineReported + name
}

// ByTool reports whether a name is of a figure that a tool reports by its own definition.
func ByTool(name string) bool { return strings.HasPrefix(name, toolReported) }
