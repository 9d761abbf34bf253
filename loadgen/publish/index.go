package publish

import (
	_ "embed"
	"io"
	"strings"

	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/exhibit"
)

//go:embed index.html
var indexText string

// indexPage is what the page in front shows.
type indexPage struct {
	Title, Abstract string
	Simulated       bool
	Verdicts        []exhibit.Verdict
	Uncompared      string
	Warnings        []string
	Figures         []indexFigure
	Left            int // figures that are not on this page
	Files           []indexFile
	Runs            indexTable
	Redacted        bool
}

// mostShown is how many figures the page in front has; all of them are files.
const mostShown = 12

type indexFigure struct{ Path, Title, Caption string }

type indexFile struct{ Path, Says string }

// indexTable is as the template of tables reads it.
type indexTable struct {
	Header []string
	Rows   [][]string
}

// index writes the page in front.
func (b *builder) index(w io.Writer, figures []exhibit.Named) error {
	p := indexPage{Title: b.Title, Abstract: b.abstract(), Simulated: b.pack.Simulated, Uncompared: b.uncompared, Redacted: !b.Raw}
	if b.comparison != nil {
		p.Verdicts = exhibit.Verdicts(*b.comparison)
		for _, warning := range b.comparison.Warnings {
			p.Warnings = append(p.Warnings, warning.Text)
		}
		p.Files = append(p.Files, indexFile{ComparisonFile, "the whole comparison, with every figure and table"}, indexFile{ComparisonJSON, "the same for programs"})
	}
	p.Left = max(0, len(figures)-mostShown)
	for _, f := range figures[:len(figures)-p.Left] {
		p.Figures = append(p.Figures, indexFigure{FiguresFolder + "/" + f.Name + ".svg", f.Title, f.Caption})
	}
	p.Files = append(p.Files,
		indexFile{RunsFile, "a row for each run, with all its figures"}, indexFile{SummaryFile, "each metric of each arm: n, mean, sd, interval"},
		indexFile{DeltasFile, "what differs between arms, of means and of pairs of runs"}, indexFile{MethodologyFile, "how the figures came about"},
		indexFile{CitationFile, "how to cite them"}, indexFile{PackFile, "SHA-256 of every file"})
	p.Runs = b.indexRuns()
	return chart.WritePage(w, indexText, p)
}

// indexRuns lists the runs; their files are below runs/.
func (b *builder) indexRuns() indexTable {
	table := indexTable{Header: []string{"run", "start (UTC)", b.Compare.By, "model", "engine", "scenario", "host", "valid"}}
	for i := range b.runs {
		r := b.runs[i]
		state := "yes"
		if !r.Valid {
			state = "no: " + strings.Join(r.InvalidReasons, ", ")
		}
		table.Rows = append(table.Rows, []string{r.ID, r.StartedAt.UTC().Format("2006-01-02 15:04"), r.Label(b.Compare.By), r.Model, r.Engine, r.Scenario, r.Host, state})
	}
	return table
}
