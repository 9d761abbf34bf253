package comparison

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render"
)

// HTML writes a comparison as one self-contained page, as render.HTML does.
func HTML(w io.Writer, title string, c compare.Comparison) error {
	return render.HTML(w, Document(title, c))
}

// Document returns a comparison with its charts.
func Document(title string, c compare.Comparison) render.Document { return page(title, c, true) }

// Markdown writes the whole comparison.
func Markdown(w io.Writer, title string, c compare.Comparison) error {
	return render.Markdown(w, page(title, c, false))
}

// Limits of a page with charts. The comparison itself, its Markdown and its CSV are complete.
const (
	mostStrata  = 24 // with a section of their own
	mostFigures = 8  // of metrics, in each section
	mostPairs   = 6  // with a forest plot, in each section
)

// page returns a comparison as a document, with charts or with every stratum.
func page(title string, c compare.Comparison, drawn bool) render.Document {
	d := render.Document{Title: title}
	d.Add(Front(c)...)
	if drawn {
		d.Add(render.Figures(frontFigures(c)))
	}
	d.Add(render.H2("What the verdicts mean"))
	for _, v := range Verdicts(c) {
		d.Add(v.Block())
	}
	d.Add(render.Facts{Facts: append(identity(c), madeFacts(c)...)}, render.H3("Run quality"), gradesGrid(c),
		render.Small("“Decision” is a valid run of arms that were interleaved and whose evidence is proven. Invalid runs enter no figure."))
	if over := loadFigures(c); drawn && len(over) > 0 {
		d.Add(render.H2("Over load"), render.Figures(over))
	}
	d.Add(kvBlocks(overallKV(c), drawn)...)
	strata := c.Strata
	if drawn {
		strata = strata[:min(len(strata), mostStrata)]
	}
	for _, s := range strata {
		d.Add(section(c, s, drawn)...)
	}
	if left := len(c.Strata) - len(strata); left > 0 {
		d.Add(render.Small(fmt.Sprintf("%d more strata have no section here: the page would be too long. They are in the comparison itself.", left)))
	}
	d.Add(render.Small("The run is the unit: n counts runs, not requests. Differences are b − a, ratios b / a of the means, a being the baseline. Verdicts go in this order: within the margin (equivalent, or irrelevant where there is a difference), then better or worse where the 95 % interval lies wholly beyond the margin, with the extent not decided where it excludes 0 and crosses the margin, else inconclusive; of metrics that are not primary, only if the p value survives Holm’s correction. Where time explains the figures as well, by the order of the runs or a drift, the verdict is confounded. “Not different” is not “equal”: equality is tested by itself (TOST). “Detectable” is the least difference that a repetition would find in four of five cases. The standard deviation is that of a sample; that of a population, in brackets, is the smaller one that is often published."))
	return d
}

// Front returns how every page begins that compares arms: a sentence for each pair, then the metrics that decide and
// those beyond their margin, then the caveats, folded.
func Front(c compare.Comparison) []render.Block {
	var blocks []render.Block
	headlines := Headlines(c)
	for _, h := range headlines[:min(len(headlines), mostStrata)] {
		blocks = append(blocks, h.Block())
	}
	if c.Simulated {
		blocks = append(blocks, render.Notice(render.Bad, render.Strong("SIMULATED."), render.Plain(" At least one run was of a simulated engine or machine: none of this is a measurement of a real one.")))
	}
	return append(blocks, decisiveGrid(c), Caveats(c.Warnings))
}

// Caveats returns the caveats of a comparison, folded under their number.
func Caveats(all []compare.Warning) render.Details {
	l := render.List{Tone: render.Note}
	for _, w := range all {
		l.Items = append(l.Items, render.Coded(w.Code, w.Text))
	}
	return render.Details{Summary: counted(len(all), "caveat") + ": " + strings.Join(codesOf(all), ", "), Blocks: []render.Block{l}}
}

// kvModel is the model of the KV cache with its chart.
type kvModel struct {
	Text   string
	Figure render.Figure
}

func kvBlocks(kv *kvModel, drawn bool) []render.Block {
	if kv == nil {
		return nil
	}
	blocks := []render.Block{render.H3("KV cache"), render.P(render.Plain(kv.Text))}
	if drawn {
		blocks = append(blocks, render.Figures{kv.Figure})
	}
	return blocks
}

// section returns the blocks of one stratum.
func section(c compare.Comparison, s compare.Stratum, drawn bool) []render.Block {
	blocks := []render.Block{render.H2(stratumName(c, s)), render.P(render.Plain(orderWords(s))), Caveats(s.Warnings)}
	for i, pair := range s.Pairs {
		blocks = append(blocks, pairBlocks(c, s, pair, drawn && i < mostPairs)...)
	}
	if drawn {
		blocks = append(blocks, render.H3("Every run"),
			render.Small("A mark is a run; one with a ring is an outlier, and counts like all others. Beside the runs of an arm stands their mean with its 95 % interval. The box is the middle half of the runs, its line the median; whiskers reach to the ends. Grey is the baseline’s mean and the margin. Dotted lines are changes of arms."),
			render.Figures(metricFigures(c, s)))
	}
	blocks = append(blocks, kvBlocks(ownKV(c, s), drawn)...)
	runs := runsGrid(c, s)
	return append(blocks, render.Details{Summary: fmt.Sprintf("Runs: %d", len(runs.Rows)), Blocks: []render.Block{runs}})
}

// ownKV returns the model of a stratum; nil for a single stratum, whose model is above it.
func ownKV(c compare.Comparison, s compare.Stratum) *kvModel {
	if s.KVModel == nil || len(c.Strata) < 2 {
		return nil
	}
	return newKV(c, []compare.Stratum{s}, *s.KVModel)
}

// pairBlocks returns the blocks of an arm compared with the baseline.
func pairBlocks(c compare.Comparison, s compare.Stratum, pair compare.Pair, drawn bool) []render.Block {
	blocks := []render.Block{render.H3(pairName(pair))}
	for _, m := range pair.Metrics {
		if m.Primary && len(c.Strata) > 1 { // for a single stratum it is at the top
			blocks = append(blocks, newVerdict("", s, pair, m).Block())
		}
	}
	blocks = append(blocks, Caveats(pair.Warnings))
	if drawn {
		blocks = append(blocks, pairFigures(c, s, pair))
	}
	blocks = append(blocks, render.Details{Summary: "All metrics", Blocks: []render.Block{metricsGrid(pair), render.List{Class: "small", Items: render.Items(notes(pair))}}})
	blocks = append(blocks, headed("What the order of the runs does", orderGrid(pair))...)
	differs, same := fairness(pair)
	blocks = append(blocks, render.H4("What else differs between the arms"), differs)
	if differs.Empty() {
		blocks = append(blocks, render.Small("Nothing that was looked at."))
	}
	blocks = append(blocks, render.Details{Summary: fmt.Sprintf("The same in both: %d", len(same.Rows)), Blocks: []render.Block{same}})
	for _, l := range ledgersOf(pair) {
		if tables := ledgerTables(pair, l, true); len(tables) > 0 {
			blocks = append(blocks, render.Details{Summary: "Memory ledger" + l.where + ", GiB", Blocks: tables})
		}
	}
	outliers := headed("Outliers", outlierGrid(pair))
	if len(outliers) > 0 {
		outliers = slices.Insert(outliers, 1, render.Block(render.Small("They are flagged and enter every figure: leaving one out is a decision that has to be given a reason.")))
	}
	return append(blocks, outliers...)
}

func pairFigures(c compare.Comparison, s compare.Stratum, pair compare.Pair) render.Figures {
	return append(render.Figures{forest(c, s, pair)}, ledgerFigures(c, s, pair)...)
}

func pairName(p compare.Pair) string { return p.B + " against " + p.A }

// headed returns a table below its heading; no blocks for an empty table.
func headed(title string, t render.Table) []render.Block {
	if t.Empty() {
		return nil
	}
	return []render.Block{render.H4(title), t}
}
