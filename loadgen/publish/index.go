package publish

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/render/comparison"
	"github.com/umascope/umascope/loadgen/rundir"
)

// mostShown is the number of charts on the front page; all charts are files.
const mostShown = 12

// index returns the front page.
func (b *builder) index(figures []comparison.Named) render.Document {
	d := render.Document{Title: b.Title}
	if b.comparison != nil {
		d.Add(comparison.Front(*b.comparison)...)
	}
	d.Add(paragraph("%s", b.abstract()))
	if b.pack.Simulated && (b.comparison == nil || !b.comparison.Simulated) { // else it is said above
		d.Add(render.Notice(render.Bad, render.Strong("Simulated."), render.Plain(" At least one run was of a simulated, replayed or constructed engine or machine: that is no measurement of a real one.")))
	}
	files := render.List{Class: "files"}
	file := func(path, text string) {
		files.Items = append(files.Items, []render.Span{render.Link(path, path), render.Plain(": " + text)})
	}
	if b.comparison == nil {
		d.Add(render.Notice(render.Note, render.Plain(b.uncompared)))
	} else {
		file(ComparisonFile, "the whole comparison, with every figure and table")
		file(ComparisonJSON, "the same for programs")
	}
	file(RunsFile, "a row for each run, with all its figures")
	if len(b.Slots) > 0 {
		file(SlotsFile, "every slot of the campaigns with all its runs, finished or not, and why")
	}
	file(SummaryFile, "each metric of each arm: n, mean, sd, interval")
	file(DeltasFile, "what differs between arms, of means and of pairs of runs")
	file(MethodologyFile, "how the figures came about")
	file(CitationFile, "how to cite them")
	file(PackFile, "SHA-256 of every file")
	files.Items = append(files.Items, []render.Span{render.Plain("runs/: the runs themselves, without names of machines and people")})
	d.Add(render.H2("Files"), files)
	d.Add(indexFigures(figures)...)
	d.Add(render.H2("Runs"), b.indexRuns())
	d.Add(b.slotsSection()...)
	return d
}

// indexFigures returns the first charts, each with a link to its file.
func indexFigures(figures []comparison.Named) []render.Block {
	if len(figures) == 0 {
		return nil
	}
	var shown render.Figures
	for _, f := range figures[:min(len(figures), mostShown)] {
		f.File = figurePath(f)
		shown = append(shown, f.Figure)
	}
	blocks := []render.Block{render.H2("Figures"), shown}
	if left := len(figures) - len(shown); left > 0 {
		blocks = append(blocks, render.Paragraph{Class: "small", Spans: []render.Span{
			render.Plain(fmt.Sprintf("%d more are in figures/ and on ", left)), render.Link(ComparisonFile, ComparisonFile), render.Plain("."),
		}})
	}
	return blocks
}

func figurePath(f comparison.Named) string { return FiguresFolder + "/" + f.Name + ".svg" }

// indexRuns lists the runs; their files are below runs/.
func (b *builder) indexRuns() render.Table {
	table := render.Table{Header: []string{"run", "start (UTC)", b.Compare.By, "model", "engine", "scenario", "host", "valid"}, Words: []int{2, 3, 4, 5, 6, 7}}
	for _, r := range b.runs {
		state := "yes"
		if !r.Valid {
			state = "no: " + strings.Join(r.InvalidReasons, ", ")
		}
		start := format.None
		if !r.StartedAt.IsZero() {
			start = r.StartedAt.UTC().Format("2006-01-02 15:04")
		}
		table.Rows = append(table.Rows, render.Row{
			Cells:   []string{r.ID, start, r.Label(b.Compare.By), r.Model, r.Engine, r.Scenario, r.Host, state},
			Address: RunsFolder + "/" + r.ID + "/" + rundir.SummaryFile,
		})
	}
	return table
}
