package exhibit

import (
	_ "embed"
	"io"
	"slices"

	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/compare"
)

//go:embed page.html
var pageText string

// HTML writes a comparison as one self-contained page: no script, nothing loaded from elsewhere.
func HTML(w io.Writer, title string, c compare.Comparison) error {
	return chart.WritePage(w, pageText, newPage(title, c))
}

// How much a page shows. Everything is in the comparison itself, and in its CSV.
const (
	mostStrata  = 24 // with a section of their own
	mostFigures = 8  // of metrics, in each section
	mostPairs   = 6  // with a forest plot, in each section
)

// page is a comparison as its template reads it.
type page struct {
	Title     string
	Identity  []item
	Simulated bool
	Verdicts  []verdict
	Warnings  []compare.Warning
	Decisive  *grid
	Grades    *grid
	Front     []chart.Figure
	OverLoad  []chart.Figure
	KV        *kvModel
	Strata    []section
	Left      int // strata without a section
}

// item is a fact in two words.
type item struct{ Name, Value string }

// grid is a table. Its first column is text; others are figures, flush right, unless they are words.
type grid struct {
	Header []string
	Rows   []gridRow
	words  []int // columns of text beside the first
}

// gridRow is a row, which a class can mark.
type gridRow struct {
	Class string
	Cells []gridCell
}

type gridCell struct {
	Text  string
	Words bool
}

func (g *grid) add(class string, texts ...string) {
	row := gridRow{Class: class}
	for i, text := range texts {
		row.Cells = append(row.Cells, gridCell{text, g.Words(i)})
	}
	g.Rows = append(g.Rows, row)
}

// Words says whether a column is text.
func (g *grid) Words(column int) bool { return slices.Contains(g.words, column) }

// kvModel is the model of the KV cache with its figure, if there is one.
type kvModel struct {
	Says   string
	Figure *chart.Figure
}

// section is one stratum.
type section struct {
	Name     string
	Order    string
	Warnings []compare.Warning
	KV       *kvModel
	Figures  []chart.Figure // of metrics, over arms and over time
	Pairs    []pairView
	Runs     *grid
}

// pairView is an arm against the baseline.
type pairView struct {
	Name     string
	Verdicts []verdict
	Warnings []compare.Warning
	Metrics  *grid
	Forest   *chart.Figure
	Order    *grid
	Differs  *grid
	Same     *grid
	Ledgers  []*chart.Figure
	Outliers *grid
	Notes    []string
}

// newPage says what a page shows.
func newPage(title string, c compare.Comparison) page {
	p := page{
		Title: title, Identity: identity(c), Simulated: c.Simulated, Warnings: c.Warnings,
		Verdicts: decisive(c), Decisive: decisiveGrid(c), Grades: gradesGrid(c),
		Front: frontFigures(c), OverLoad: loadFigures(c), KV: overallKV(c),
	}
	for i, s := range c.Strata {
		if i == mostStrata {
			p.Left = len(c.Strata) - mostStrata
			break
		}
		p.Strata = append(p.Strata, newSection(c, s))
	}
	return p
}

func newSection(c compare.Comparison, s compare.Stratum) section {
	v := section{
		Name: stratumName(c, s), Order: orderWords(s.Order), Warnings: s.Warnings,
		Figures: metricFigures(c, s), Runs: runsGrid(c, s),
	}
	if s.KVModel != nil && len(c.Strata) > 1 {
		v.KV = newKV(c, []compare.Stratum{s}, *s.KVModel)
	}
	for i, pair := range s.Pairs {
		v.Pairs = append(v.Pairs, newPair(c, s, pair, i < mostPairs))
	}
	return v
}

func newPair(c compare.Comparison, s compare.Stratum, pair compare.Pair, drawn bool) pairView {
	v := pairView{
		Name: pair.B + " against " + pair.A, Warnings: pair.Warnings,
		Metrics: metricsGrid(pair), Order: orderGrid(pair), Outliers: outlierGrid(pair), Notes: notes(pair),
	}
	for _, m := range pair.Metrics {
		if m.Primary && len(c.Strata) > 1 { // else it stands at the top
			v.Verdicts = append(v.Verdicts, newVerdict("", s, pair, m))
		}
	}
	v.Differs, v.Same = fairness(pair)
	if drawn {
		v.Forest, v.Ledgers = forest(c, s, pair), ledgerFigures(c, s, pair)
	}
	return v
}
