package publish

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/render/comparison"
	"github.com/umascope/umascope/loadgen/rundir"
)

// writeWords writes the charts, the methodology, the citation and the front page.
func (b *builder) writeWords() error {
	figures, err := b.writeFigures()
	return errors.Join(err,
		b.write(MethodologyFile, func(w io.Writer) error { return render.Markdown(w, b.methodology()) }),
		b.write(CitationFile, b.citation),
		b.write(IndexFile, func(w io.Writer) error { return render.HTML(w, b.index(figures)) }))
}

// writeFigures writes every chart of the comparison as a file.
func (b *builder) writeFigures() ([]comparison.Named, error) {
	if b.comparison == nil {
		return nil, nil
	}
	figures := comparison.Figures(*b.comparison)
	for _, f := range figures {
		if err := b.write(figurePath(f), func(w io.Writer) error { return render.SVG(w, f.Figure) }); err != nil {
			return nil, err
		}
	}
	return figures, nil
}

// citation writes CITATION.cff, version 1.2.0 (citation-file-format.github.io).
func (b *builder) citation(w io.Writer) error {
	type author struct {
		Name string `yaml:"name"`
	}
	c := struct {
		Version  string   `yaml:"cff-version"`
		Message  string   `yaml:"message"`
		Type     string   `yaml:"type"`
		Title    string   `yaml:"title"`
		Abstract string   `yaml:"abstract"`
		Authors  []author `yaml:"authors"`
		Date     string   `yaml:"date-released"`
		License  string   `yaml:"license,omitempty"`
	}{
		Version: "1.2.0", Message: "If you use these runs, please cite them.", Type: "dataset", Title: render.Printable(b.Title),
		Abstract: render.Printable(b.abstract()), Date: b.pack.CreatedAt.Format("2006-01-02"), License: b.License,
	}
	for _, name := range b.authors() {
		c.Authors = append(c.Authors, author{render.Printable(name)})
	}
	encoder := yaml.NewEncoder(w)
	return errors.Join(encoder.Encode(c), encoder.Close())
}

// authors returns at least one author: the format requires it.
func (b *builder) authors() []string {
	if len(b.Authors) == 0 {
		return []string{"unnamed"}
	}
	return b.Authors
}

func (b *builder) abstract() string {
	how := "measured"
	if b.distinct(func(r compare.Run) string { return r.Imported }) != nil {
		how = "measured or taken over from other tools' results"
	}
	text := fmt.Sprintf("%d runs of %s, made %s, %s with %s.", len(b.runs), strings.Join(b.distinct(func(r compare.Run) string { return r.Model }), ", "), b.span(), how, b.Program)
	if b.pack.Simulated {
		text += " At least one of them is of a simulated, replayed or constructed engine or machine: that is no measurement of a real one."
	}
	return text
}

// distinct returns the distinct values of a field of the runs, in order.
func (b *builder) distinct(of func(compare.Run) string) []string {
	found := map[string]bool{}
	for _, r := range b.runs {
		found[of(r)] = true
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}

// methodology describes how the figures were measured, by the records of the runs.
func (b *builder) methodology() render.Document {
	d := render.Document{Title: b.Title + ": methodology"}
	d.Add(paragraph("%s Written by the program from what the runs say of themselves.", b.abstract()))
	d.Add(b.runsSection()...)
	d.Add(b.slotsSection()...)
	d.Add(b.orderSection()...)
	d.Add(b.planSection()...)
	d.Add(b.settingSection()...)
	d.Add(b.statisticsSection()...)
	d.Add(b.redactionSection()...)
	d.Add(render.H2("Citation"), render.Listing{Language: "bibtex", Text: fmt.Sprintf("@misc{umascope,\n  title = {%s},\n  author = {%s},\n  year = {%d}\n}\n",
		bibtex(b.Title), bibtex(strings.Join(b.authors(), " and ")), b.pack.CreatedAt.Year())})
	return d
}

// paragraph returns a paragraph; text between ` in its format is code.
func paragraph(format string, args ...any) render.Paragraph {
	return render.P(spans(format, args...)...)
}

func spans(format string, args ...any) []render.Span {
	var all []render.Span
	for i, part := range strings.Split(format, "`") {
		n := strings.Count(strings.ReplaceAll(part, "%%", ""), "%")
		span := render.Plain(fmt.Sprintf(part, args[:n]...))
		if args = args[n:]; i%2 == 1 {
			span = render.Code(span.Text)
		}
		all = append(all, span)
	}
	return all
}

// bibtex replaces characters that could break a BibTeX entry by spaces.
func bibtex(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("{}\\`\n\r", r) {
			return ' '
		}
		return r
	}, text)
}

func (b *builder) runsSection() []render.Block {
	cells := render.Table{Header: append(append(slices.Clone(b.Compare.Within), b.Compare.By), "valid runs")}
	for _, c := range b.cells() {
		cells.Add(append(append(slices.Clone(c.within), c.arm), fmt.Sprint(len(c.runs)))...)
	}
	blocks := []render.Block{render.H2("Runs"), cells}
	invalid := render.Table{Header: []string{"run", "why"}}
	for _, r := range b.runs {
		if !r.Valid {
			invalid.Add(r.ID, strings.Join(r.InvalidReasons, ", "))
		}
	}
	if !invalid.Empty() {
		blocks = append(blocks, paragraph("Invalid runs are in the pack and enter no figure."), invalid)
	}
	if formats := b.distinct(func(r compare.Run) string { return r.Imported }); len(formats) > 0 {
		blocks = append(blocks, paragraph("Some runs were read from results of other tools (%s): those tools measured them.", strings.Join(formats, ", ")))
	}
	return blocks
}

func (b *builder) orderSection() []render.Block {
	if b.comparison == nil {
		return []render.Block{paragraph("%s", b.uncompared)}
	}
	order := render.Table{Header: append(slices.Clone(b.comparison.Within), "order", "arms in the order of time", "boots")}
	for _, s := range b.comparison.Strata {
		var row []string
		for _, name := range b.comparison.Within {
			row = append(row, s.Within[name])
		}
		order.Add(append(row, s.Order.Kind, strings.Join(s.Order.Sequence, " "), fmt.Sprint(s.Order.Boots))...)
	}
	return []render.Block{render.H2("Order"), order, comparison.Caveats(b.comparison.Warnings)}
}

// planSection describes the plans of the runs, and the results of the gates before the runs.
func (b *builder) planSection() []render.Block {
	type gate struct{ name, limit string }
	plans, gates := map[string]string{}, map[gate]map[string]int{}
	policies := map[string]int{}
	for _, m := range b.manifests {
		c := m.Campaign
		if c == nil {
			continue
		}
		plans[c.Name] = c.PlanSHA256
		for _, g := range c.Gates {
			h := gate{name: g.Name}
			if g.Limit != nil {
				h.limit = strings.TrimSpace(fmt.Sprintf("%g %s", *g.Limit, g.Unit))
			}
			if gates[h] == nil {
				gates[h] = map[string]int{}
			}
			gates[h][g.State]++
		}
		if c.PageCache != nil {
			policies[c.PageCache.Policy]++
		}
	}
	if len(plans) == 0 {
		return nil
	}
	var list render.List
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		list.Items = append(list.Items, spans("campaign %s, SHA-256 of its plan `%s`", name, plans[name]))
	}
	for _, policy := range slices.Sorted(maps.Keys(policies)) {
		list.Items = append(list.Items, spans("page cache before a run: %s (%d runs)", policy, policies[policy]))
	}
	held := render.Table{Header: []string{"gate", "limit", "runs"}}
	for h, states := range gates {
		held.Add(h.name, h.limit, counted(states))
	}
	slices.SortFunc(held.Rows, func(x, y render.Row) int { return slices.Compare(x.Cells, y.Cells) })
	return []render.Block{render.H2("Plan and gates"), list, held}
}

// counted lists words with their number of occurrences.
func counted(times map[string]int) string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(times)) {
		all = append(all, fmt.Sprintf("%s %d", what, times[what]))
	}
	return strings.Join(all, ", ")
}

// settingSection describes the hardware and software of the runs: first the values that are equal in all runs, then those
// that differ.
func (b *builder) settingSection() []render.Block {
	values := map[string]map[string]int{}
	var order []string
	for _, r := range b.runs {
		for _, f := range r.Facts {
			if f.Number != nil {
				continue // measured before the run, not set
			}
			if values[f.Item] == nil {
				values[f.Item] = map[string]int{}
				order = append(order, f.Item)
			}
			values[f.Item][f.Value]++
		}
	}
	same := render.Table{Header: []string{"in all runs", "value"}}
	differs := render.Table{Header: []string{"not in all runs the same", "values (runs)"}}
	for _, item := range order {
		switch of := values[item]; {
		case len(of) == 1 && slices.Collect(maps.Values(of))[0] == len(b.runs):
			same.Add(item, slices.Collect(maps.Keys(of))[0])
		case len(of) <= mostValues:
			var each []string
			for _, value := range slices.Sorted(maps.Keys(of)) {
				each = append(each, fmt.Sprintf("%s (%d)", value, of[value]))
			}
			differs.Add(item, strings.Join(each, "; "))
		default:
			differs.Add(item, fmt.Sprintf("%d different values", len(of)))
		}
	}
	return []render.Block{render.H2("Software, machine and load"), paragraph("Runs and tables were written by %s.", b.programs()), same, differs}
}

// mostValues is the number of different values of a setting that are listed.
const mostValues = 8

// programs lists the programs that wrote the runs.
func (b *builder) programs() string {
	all := map[string]bool{}
	for _, m := range b.manifests {
		all[m.Program.String()] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), ", ")
}

func (b *builder) statisticsSection() []render.Block {
	blocks := []render.Block{render.H2("Statistics"), paragraph("The run is the unit; requests are not. `%s` describes valid runs: sd divides by n - 1, population_sd by n, the interval is Student's. `%s` has b - a of the means, and of every pair of runs of one round.", SummaryFile, DeltasFile)}
	if b.comparison == nil {
		return blocks
	}
	blocks = append(blocks, paragraph("Arms are compared by Welch's t test, of logarithms where differences are relative, and paired where runs were made in rounds; equivalence by two one-sided tests within the margin; metrics beside the primary one are adjusted by Holm. Not different is not equal: equal needs an equivalence test. All of it is in `%s`.", ComparisonJSON))
	margins := map[string]string{}
	for _, s := range b.comparison.Strata {
		for _, p := range s.Pairs {
			for _, m := range p.Metrics {
				margins[m.Name] = fmt.Sprintf("%g %s", m.Margin.Value, m.Unit)
				if m.Margin.Relative {
					margins[m.Name] = fmt.Sprintf("%g %%", 100*m.Margin.Value)
				}
			}
		}
	}
	table := render.Table{Header: []string{"metric", "margin"}}
	for _, name := range slices.Sorted(maps.Keys(margins)) {
		table.Add(name, margins[name])
	}
	return append(blocks, table)
}

func (b *builder) redactionSection() []render.Block {
	blocks := []render.Block{render.H2("What is not in the pack"), paragraph("Names of machines, people, containers, paths and addresses are replaced by their kind and a number; what was equal stays equal. Of a text that has such a name only the fact that it differs is in the pack. Prompts, outputs, headers and error texts are left out.")}
	if len(b.With) > 0 {
		blocks = append(blocks, paragraph("These files are in the pack as they were written: %s.", joined(b.With)))
	}
	if len(b.pack.LeftOut) > 0 {
		blocks = append(blocks, paragraph("Files of runs that are left out: %s.", strings.Join(b.pack.LeftOut, ", ")))
	}
	return append(blocks, paragraph("Of every run there are `%s` and `%s`; `gzip -d` gives back its requests, its schedule and its telemetry. `uma-load compare %s` reads them as they are, `uma-load publish --verify .` checks the sums in `%s`.", rundir.ManifestFile, rundir.SummaryFile, RunsFolder, PackFile))
}
