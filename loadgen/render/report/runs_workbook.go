package report

import (
	"cmp"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/stats"
	"github.com/umascope/umascope/loadgen/summary"
)

// Workbook writes the workbook of one run.
func Workbook(w io.Writer, r summary.Run) error {
	sheets := []render.Sheet{SummarySheet(r.Summary)}
	if r.HasRequests() {
		sheets = append(sheets, RequestSheet(r.Summary, summary.Records(r.Path(rundir.RequestsFile))))
	}
	return render.XLSX(w, sheets...)
}

// WriteWorkbook writes the workbook: a row for each run, a sheet for each cell, the requests of all runs, and their
// flags.
func (s *Runs) WriteWorkbook(w io.Writer) error {
	columns := s.columns()
	sheets := []render.Sheet{s.summarySheet(columns)}
	used := []string{"Summary", "Raw data", "Parameters"}
	for _, c := range s.cells() {
		name := render.TabName(c.name, used)
		used = append(used, name)
		sheets = append(sheets, c.sheet(name, columns))
	}
	if slices.ContainsFunc(s.runs, summary.Run.HasRequests) {
		sheets = append(sheets, s.requestSheet())
	}
	return render.XLSX(w, append(sheets, s.parameterSheet())...)
}

// figureColumn is a figure in a workbook. Its name includes the unit; an absent value is nil.
type figureColumn struct {
	name string
	of   func(figuresOfRun) *float64
}

// figuresOfRun is a run with its flat figures.
type figuresOfRun struct {
	summary.Run
	observed compare.Run
}

func (s *Runs) withFigures() []figuresOfRun {
	var all []figuresOfRun
	for _, r := range s.runs {
		all = append(all, figuresOfRun{r, compare.FromRun(r)})
	}
	return all
}

// columns returns the figures that the runs have, followed by the computed ones. Figures that an engine reports about
// itself have columns of their own.
func (s *Runs) columns() []figureColumn {
	var columns []figureColumn
	var observed []compare.Run
	for _, r := range s.runs {
		observed = append(observed, compare.FromRun(r))
	}
	for _, m := range compare.SourcedMetrics(observed) {
		columns = append(columns, figureColumn{m.Column(), func(r figuresOfRun) *float64 { return m.Of(r.observed) }})
	}
	for i, c := range s.runs[0].Summary.Computed() {
		columns = append(columns, figureColumn{c.Name, func(r figuresOfRun) *float64 { return r.Summary.Computed()[i].Value }})
	}
	return columns
}

func headerOf(columns []figureColumn, before ...string) []string {
	for _, c := range columns {
		before = append(before, c.name)
	}
	return before
}

func rowOf(r figuresOfRun, columns []figureColumn, before ...any) []any {
	for _, c := range columns {
		before = append(before, c.of(r))
	}
	return before
}

// summarySheet returns a sheet with a row for each run.
func (s *Runs) summarySheet(columns []figureColumn) render.Sheet {
	labels := s.labels()
	header := append([]string{"run", "start", "state", "simulated", "model", "scenario", "engine"}, labels...)
	var rows [][]any
	for _, r := range s.withFigures() {
		row := []any{r.observed.ID, startOf(r.observed), stateOfRun(r.Run), r.observed.Simulated, r.observed.Model, r.observed.Scenario, r.observed.Engine}
		for _, label := range labels {
			row = append(row, r.Summary.Labels[label])
		}
		rows = append(rows, rowOf(r, columns, row...))
	}
	return render.Sheet{Name: "Summary", Header: headerOf(columns, header...), Rows: render.Rows(rows)}
}

func startOf(r compare.Run) any {
	if r.StartedAt.IsZero() {
		return nil
	}
	return r.StartedAt.UTC().Format("2006-01-02 15:04:05")
}

// cell is a group of repeated runs: the same arm, model, scenario and load.
type cell struct {
	name string
	runs []figuresOfRun
}

func (s *Runs) cells() []cell {
	var cells []cell
	for _, r := range s.withFigures() {
		parts := []string{r.Summary.Labels["arm"], r.observed.Model}
		if len(s.scenarios()) > 1 {
			parts = append(parts, r.observed.Scenario)
		}
		if s.over != "" {
			parts = append(parts, s.over+" "+s.setting(r.Run, s.over))
		}
		name := strings.Join(slices.DeleteFunc(parts, func(text string) bool { return text == "" }), " ")
		i := slices.IndexFunc(cells, func(c cell) bool { return c.name == name })
		if i < 0 {
			i = len(cells)
			cells = append(cells, cell{name: name})
		}
		cells[i].runs = append(cells[i].runs, r)
	}
	slices.SortStableFunc(cells, func(a, b cell) int { return cmp.Compare(a.name, b.name) })
	return cells
}

func (s *Runs) scenarios() []string {
	var all []string
	for _, r := range s.runs {
		all = append(all, r.Summary.Scenario)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// sheet returns the runs of a cell and their statistics. Invalid runs are listed and do not enter the statistics.
func (c cell) sheet(name string, columns []figureColumn) render.Sheet {
	var rows [][]any
	samples := make([][]float64, len(columns))
	for _, r := range c.runs {
		rows = append(rows, rowOf(r, columns, r.observed.ID, stateOfRun(r.Run)))
		for i, column := range columns {
			if v := column.of(r); v != nil && r.observed.Valid {
				samples[i] = append(samples[i], *v)
			}
		}
	}
	rows = append(rows, nil)
	statistics := [][]any{{"n", "valid runs"}, {"mean", "valid runs"}, {"sd", "valid runs"}, {"median", "valid runs"}}
	for _, x := range samples {
		n, mean, sd, median := any(len(x)), any(nil), any(nil), any(nil)
		if d, err := stats.Describe(x); err == nil { // an error means that there are too few values
			mean, sd, median = d.Mean, d.SD, d.Median
		}
		for i, cell := range []any{n, mean, sd, median} {
			statistics[i] = append(statistics[i], cell)
		}
	}
	rows = append(rows, statistics...)
	return render.Sheet{Name: name, Header: headerOf(columns, "run", "state"), Rows: render.Rows(rows)}
}

// requestSheet returns the requests of all runs, run by run. The last column, the server, is that of runs with several.
func (s *Runs) requestSheet() render.Sheet {
	var of iter.Seq2[openai.Record, error] = func(yield func(openai.Record, error) bool) {}
	widest := max(0, slices.IndexFunc(s.runs, func(r summary.Run) bool { return len(r.Summary.Servers) > 0 }))
	table := RequestSheet(s.runs[widest].Summary, of)
	table.Rows = func(yield func([]any, error) bool) {
		for _, r := range s.runs {
			if !r.HasRequests() {
				continue
			}
			for row, err := range RequestSheet(r.Summary, summary.Records(r.Path(rundir.RequestsFile))).Rows {
				if !yield(row, err) {
					return
				}
			}
		}
	}
	return table
}

// parameterSheet returns a sheet with a row for each flag and a column for each run.
func (s *Runs) parameterSheet() render.Sheet {
	header := []string{"flag"}
	all := map[string]bool{}
	for _, r := range s.runs {
		header = append(header, r.Manifest.Run)
		for name := range r.Manifest.Flags {
			all[name] = true
		}
	}
	var rows [][]any
	for _, name := range slices.Sorted(maps.Keys(all)) {
		row := []any{name}
		for _, r := range s.runs {
			row = append(row, r.Manifest.Flags[name])
		}
		rows = append(rows, row)
	}
	return render.Sheet{Name: "Parameters", Header: header, Rows: render.Rows(rows)}
}
