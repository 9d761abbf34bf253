package report

import (
	"io"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/summary"
)

// Group holds several runs side by side that differ in one parameter, such as the points of a sweep.
type Group struct {
	Title string
	// Verdict is the result of the whole, in words; Good is true if it may be used as it is.
	Verdict string
	Good    bool
	// Over is the parameter in which the runs differ, such as "requests in flight".
	Over string
	// Notes are the findings, in sentences.
	Notes   []string
	Members []Member
	// Marks are loads to mark in the charts.
	Marks []Mark
	// Front has blocks above the runs, from other packages, such as the verdicts on their arms.
	Front []render.Block
	// More has blocks after the charts over load, from other packages, such as the runs by arm.
	More []render.Block
	// RunPage is the name of the page of a run in its folder, which is next to the group's page and has the name of the
	// run; empty for no links.
	RunPage string
}

// Member is one run of a group.
type Member struct {
	Run  string
	Name string // its value of the parameter Over
	// Load is the same as a number; 0 for none.
	Load float64
	// State is the result of the run, in a word or two.
	State string
	// OtherWork is set for a run that may not be compared with the others: its workload differs.
	OtherWork bool
	// Summary is nil for a run that has none.
	Summary *summary.Summary
	// Course is nil without telemetry, or where it is not shown.
	Course *Course
}

// Mark is a load with a word or two.
type Mark struct {
	Load float64
	Text string
}

// groupColumn is a column of the table of a group.
type groupColumn struct {
	name string
	of   func(*summary.Summary) string
	// words is set for text that may take several lines.
	words bool
	// origin is the source of a figure of the measured host; nil for the other columns.
	origin func(*summary.Summary) summary.Origin
}

// groupColumns returns the columns for a comparison of runs at a glance; all other figures are in the folders of the
// runs.
func groupColumns() []groupColumn {
	columns := []groupColumn{{name: "requests", words: true, of: func(s *summary.Summary) string {
		if s.Tool != nil {
			return format.None // uma-load did not send the requests
		}
		return requestCounts(*s)
	}}}
	for _, f := range figure.All().Columns(figure.InReport) {
		columns = append(columns, groupColumn{name: f.Column.Heading, origin: f.Origin, of: func(s *summary.Summary) string {
			return format.Optional(f.Get(s), f.Unit.Rounded)
		}})
	}
	return columns
}

// mode returns the mode of a column's figure of a run, such as simulated; empty for one of the client, a live one and one
// of a file of results.
func (c groupColumn) mode(s *summary.Summary) string {
	if c.origin == nil {
		return ""
	}
	if o := c.origin(s); !o.Live() {
		return o.Mode
	}
	return ""
}

// marked returns the figure with its mode.
func (c groupColumn) marked(s *summary.Summary) string {
	text := c.of(s)
	if mode := c.mode(s); mode != "" && text != format.None {
		text += " (" + mode + ")"
	}
	return text
}

// columns returns the columns in which some run has a figure: the table is wide.
func (g Group) columns() []groupColumn {
	return slices.DeleteFunc(slices.Concat(groupColumns(), g.computedColumns()), func(c groupColumn) bool {
		return !slices.ContainsFunc(g.Members, func(m Member) bool { return m.Summary != nil && c.of(m.Summary) != format.None })
	})
}

// table has a row for each run.
func (g Group) table() render.Table {
	return g.tableOf(g.columns(), groupColumn.marked)
}

// tables are that table in two, as wide as a page: the load, and the machine, whose title has the mode of its figures
// where they share one.
func (g Group) tables() []render.Block {
	load, machine := g.columns(), []groupColumn(nil)
	load = slices.DeleteFunc(load, func(c groupColumn) bool {
		if c.origin != nil {
			machine = append(machine, c)
		}
		return c.origin != nil
	})
	blocks := []render.Block{g.tableOf(load, groupColumn.marked)}
	if len(machine) == 0 {
		return blocks
	}
	modes := map[string]bool{}
	for _, m := range g.Members {
		for _, c := range machine {
			if m.Summary != nil && c.of(m.Summary) != format.None {
				modes[c.mode(m.Summary)] = true
			}
		}
	}
	title, text := "Machine", groupColumn.marked
	if len(modes) == 1 {
		text = func(c groupColumn, s *summary.Summary) string { return c.of(s) }
		for mode := range modes {
			if mode != "" {
				title += " (" + mode + ")"
			}
		}
	}
	return append(blocks, render.H4(title), g.tableOf(machine, text))
}

// tableOf returns a table with a row for each run and the texts of some columns.
func (g Group) tableOf(columns []groupColumn, text func(groupColumn, *summary.Summary) string) render.Table {
	t := render.Table{Header: []string{g.Over, "run is"}, Words: []int{1}}
	for _, c := range columns {
		if c.words {
			t.Words = append(t.Words, len(t.Header))
		}
		t.Header = append(t.Header, c.name)
	}
	for _, m := range g.Members {
		cells := []string{m.Name, m.State}
		for _, c := range columns {
			cell := format.None
			if m.Summary != nil {
				cell = text(c, m.Summary)
			}
			cells = append(cells, cell)
		}
		t.Rows = append(t.Rows, render.Row{Cells: cells, Address: g.page(m)})
	}
	return t
}

// computedColumns returns the columns of the figures that were added to the summaries, by the first run that has any.
func (g Group) computedColumns() []groupColumn {
	for _, m := range g.Members {
		if m.Summary == nil || len(m.Summary.Computed()) == 0 {
			continue
		}
		var columns []groupColumn
		for i, c := range m.Summary.Computed() {
			columns = append(columns, groupColumn{name: c.Name, of: func(s *summary.Summary) string {
				if i >= len(s.Computed()) {
					return format.None
				}
				return computedText(s.Computed()[i])
			}})
		}
		return columns
	}
	return nil
}

// page returns the address of the page of a run; empty without one.
func (g Group) page(m Member) string {
	if g.RunPage == "" || m.Summary == nil {
		return ""
	}
	return m.Run + "/" + g.RunPage
}

// identity returns the common facts of all runs.
func (g Group) identity() []render.Fact {
	var common []render.Fact
	first := true
	for _, m := range g.Members {
		if m.Summary == nil {
			continue
		}
		if own := runIdentity(*m.Summary); first {
			common, first = own, false
		} else {
			common = slices.DeleteFunc(common, func(f render.Fact) bool { return !slices.Contains(own, f) })
		}
	}
	return append(g.period(), common...)
}

// warnings returns the warnings of the runs, each with the name of its run.
func (g Group) warnings() []string {
	var texts []string
	names := map[string][]string{}
	runs := 0
	for _, m := range g.Members {
		if m.Summary == nil {
			continue
		}
		runs++
		for _, w := range m.Summary.Warnings {
			if names[w] == nil {
				texts = append(texts, w)
			}
			names[w] = append(names[w], m.Name)
		}
	}
	for i, text := range texts {
		where := "at " + strings.Join(slices.Compact(names[text]), ", ")
		if len(names[text]) == runs {
			where = "everywhere"
		}
		texts[i] = where + ": " + text
	}
	return texts
}

// simulated reports whether the engine of some run reports itself as simulated.
func (g Group) simulated() bool {
	return slices.ContainsFunc(g.Members, func(m Member) bool { return m.Summary != nil && m.Summary.Model.Simulated })
}

// sentences returns the findings, and that an engine was simulated.
func (g Group) sentences() []string {
	if g.simulated() && len(g.Front) == 0 { // a comparison says it itself
		return append(slices.Clone(g.Notes), "The engine is simulated: none of this is a measurement of a real one.")
	}
	return g.Notes
}

// WriteText writes the table with a line for each run.
func (g Group) WriteText(w io.Writer) error { return g.writeText(w, g.table()) }

// narrowColumns is the width of a terminal.
const narrowColumns = 80

// WriteNarrow writes the table in parts that fit in a terminal, for a few runs.
func (g Group) WriteNarrow(w io.Writer) error {
	return g.writeText(w, g.table().Split(narrowColumns)...)
}

func (g Group) writeText(w io.Writer, tables ...render.Block) error {
	var d render.Document
	for _, line := range append([]string{g.answer()}, g.sentences()...) {
		d.Add(render.P(render.Plain(line)))
	}
	d.Add(tables...)
	return render.Text(w, d)
}

// WriteMarkdown writes the group as Markdown.
func (g Group) WriteMarkdown(w io.Writer) error { return render.Markdown(w, g.document(false)) }

// WriteHTML writes the group as one self-contained page, by the rules of HTML.
func (g Group) WriteHTML(w io.Writer) error { return render.HTML(w, g.document(true)) }

// document returns the page of a group; drawn adds its charts.
func (g Group) document(drawn bool) render.Document {
	d := render.Document{Title: g.Title}
	if len(g.Front) > 0 {
		d.Add(append(slices.Clone(g.Front), render.H2("Runs"))...)
	}
	d.Add(verdictBlock(g.Good, g.answer(), render.Items(g.sentences())))
	d.Add(g.tables()...)
	d.Add(warningList(g.warnings()), render.Facts{Facts: g.identity()})
	if drawn {
		if figures := g.figures(); len(figures) > 0 {
			d.Add(render.H2("Over load"), render.Figures(figures))
		}
		d.Add(g.More...)
		d.Add(g.courses()...)
	}
	d.Add(render.Small("TTFT and E2E count from the intended start. “Steady” is the throughput without ramp and drain. Only requests that ended ok enter latencies. A percentile is given from the number of samples on that supports it (p50: 5, p75: 11, p90: 29, p95: 59, p99: 299, p99.9: 2,995); – is no figure."))
	return d
}
