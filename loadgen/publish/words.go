package publish

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/loadgen/chart"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/exhibit"
	"github.com/umascope/umascope/loadgen/folder"
)

// writeWords writes what is read by people: the figures, how all was made, how to cite it, and the page.
func (b *builder) writeWords() error {
	figures, err := b.writeFigures()
	return errors.Join(err,
		b.write(MethodologyFile, func(w io.Writer) error { _, err := io.WriteString(w, b.methodology()); return err }),
		b.write(CitationFile, b.citation),
		b.write(IndexFile, func(w io.Writer) error { return b.index(w, figures) }))
}

// writeFigures writes every figure of the comparison as a file.
func (b *builder) writeFigures() ([]exhibit.Named, error) {
	if b.comparison == nil {
		return nil, nil
	}
	figures := exhibit.Figures(*b.comparison)
	for _, f := range figures {
		if err := b.write(FiguresFolder+"/"+f.Name+".svg", func(w io.Writer) error { return exhibit.SVG(w, f.Figure) }); err != nil {
			return nil, err
		}
	}
	return figures, nil
}

// citation is CITATION.cff, of the form 1.2.0 (citation-file-format.github.io).
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
		Version: "1.2.0", Message: "If you use these runs, please cite them.", Type: "dataset", Title: chart.Printable(b.Title),
		Abstract: chart.Printable(b.abstract()), Date: b.pack.CreatedAt.Format("2006-01-02"), License: b.License,
	}
	for _, name := range b.authors() {
		c.Authors = append(c.Authors, author{chart.Printable(name)})
	}
	encoder := yaml.NewEncoder(w)
	return errors.Join(encoder.Encode(c), encoder.Close())
}

// authors are never none: the form wants one.
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

// distinct are the values of something that runs have, in order.
func (b *builder) distinct(of func(compare.Run) string) []string {
	found := map[string]bool{}
	for _, r := range b.runs {
		found[of(r)] = true
	}
	delete(found, "")
	return slices.Sorted(maps.Keys(found))
}

// document is a Markdown file.
type document struct{ strings.Builder }

func (d *document) line(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

// table writes a table; nothing of one without rows.
func (d *document) table(header []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	write := func(cells []string) { d.line("| %s |", strings.Join(cells, " | ")) }
	write(header)
	write(slices.Repeat([]string{"---"}, len(header)))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, text := range row {
			cells[i] = exhibit.Cell(text)
		}
		write(cells)
	}
	d.line("")
}

// methodology says how the figures came about, by what the runs say of themselves.
func (b *builder) methodology() string {
	d := &document{}
	d.line("# %s: methodology\n", exhibit.Cell(b.Title))
	d.line("%s Written by the program from what the runs say of themselves.\n", exhibit.Cell(b.abstract()))
	b.tellRuns(d)
	b.tellOrder(d)
	b.tellPlan(d)
	b.tellSetting(d)
	b.tellStatistics(d)
	b.tellRedaction(d)
	d.line("## Citation\n\n```bibtex\n@misc{umascope,\n  title = {%s},\n  author = {%s},\n  year = {%d}\n}\n```", bibtex(b.Title), bibtex(strings.Join(b.authors(), " and ")), b.pack.CreatedAt.Year())
	return d.String()
}

// bibtex takes out what a brace or a line of a fence could do.
func bibtex(text string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune("{}\\`\n\r", r) {
			return ' '
		}
		return r
	}, text)
}

func (b *builder) tellRuns(d *document) {
	d.line("## Runs\n")
	var rows [][]string
	for _, c := range b.cells() {
		rows = append(rows, append(append(slices.Clone(c.within), c.arm), fmt.Sprint(len(c.runs))))
	}
	d.table(append(append(slices.Clone(b.Compare.Within), b.Compare.By), "valid runs"), rows)
	var invalid [][]string
	for _, r := range b.runs {
		if !r.Valid {
			invalid = append(invalid, []string{r.ID, strings.Join(r.InvalidReasons, ", ")})
		}
	}
	if len(invalid) > 0 {
		d.line("Invalid runs are in the pack and enter no figure.\n")
		d.table([]string{"run", "why"}, invalid)
	}
	if formats := b.distinct(func(r compare.Run) string { return r.Imported }); len(formats) > 0 {
		d.line("Some runs were read from results of other tools (%s): their figures are those tools' word.\n", exhibit.Cell(strings.Join(formats, ", ")))
	}
}

func (b *builder) tellOrder(d *document) {
	if b.comparison == nil {
		d.line("%s\n", exhibit.Cell(b.uncompared))
		return
	}
	d.line("## Order\n")
	var rows [][]string
	for _, s := range b.comparison.Strata {
		var row []string
		for _, name := range b.comparison.Within {
			row = append(row, s.Within[name])
		}
		rows = append(rows, append(row, s.Order.Kind, strings.Join(s.Order.Sequence, " "), fmt.Sprint(s.Order.Boots)))
	}
	d.table(append(slices.Clone(b.comparison.Within), "order", "arms in the order of time", "boots"), rows)
	if len(b.comparison.Warnings) > 0 {
		d.line("What stands beside the verdicts:\n")
		for _, w := range b.comparison.Warnings {
			d.line("- `%s`: %s", w.Code, exhibit.Cell(w.Text))
		}
		d.line("")
	}
}

// tellPlan says which plans the runs followed, and whether what had to hold before them did.
func (b *builder) tellPlan(d *document) {
	type held struct{ name, limit string }
	plans, gates := map[string]string{}, map[held]map[string]int{}
	policies := map[string]int{}
	for _, m := range b.manifests {
		c := m.Campaign
		if c == nil {
			continue
		}
		plans[c.Name] = c.PlanSHA256
		for _, g := range c.Gates {
			h := held{name: g.Name}
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
		return
	}
	d.line("## Plan and gates\n")
	for _, name := range slices.Sorted(maps.Keys(plans)) {
		d.line("- campaign %s, SHA-256 of its plan `%s`", exhibit.Cell(name), bibtex(plans[name]))
	}
	for _, policy := range slices.Sorted(maps.Keys(policies)) {
		d.line("- page cache before a run: %s (%d runs)", exhibit.Cell(policy), policies[policy])
	}
	d.line("")
	var rows [][]string
	for h, states := range gates {
		rows = append(rows, []string{h.name, h.limit, counted(states)})
	}
	slices.SortFunc(rows, slices.Compare[[]string])
	d.table([]string{"gate", "limit", "runs"}, rows)
}

// counted lists words by how often they came.
func counted(times map[string]int) string {
	var all []string
	for _, what := range slices.Sorted(maps.Keys(times)) {
		all = append(all, fmt.Sprintf("%s %d", what, times[what]))
	}
	return strings.Join(all, ", ")
}

// tellSetting says what ran on what: once what was the same in all runs, then what was not.
func (b *builder) tellSetting(d *document) {
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
	var same, differs [][]string
	for _, item := range order {
		switch of := values[item]; {
		case len(of) == 1 && slices.Collect(maps.Values(of))[0] == len(b.runs):
			same = append(same, []string{item, slices.Collect(maps.Keys(of))[0]})
		case len(of) <= mostValues:
			var each []string
			for _, value := range slices.Sorted(maps.Keys(of)) {
				each = append(each, fmt.Sprintf("%s (%d)", value, of[value]))
			}
			differs = append(differs, []string{item, strings.Join(each, "; ")})
		default:
			differs = append(differs, []string{item, fmt.Sprintf("%d different values", len(of))})
		}
	}
	d.line("## Software, machine and load\n")
	d.line("Runs and tables were written by %s.\n", exhibit.Cell(b.programs()))
	d.table([]string{"in all runs", "value"}, same)
	d.table([]string{"not in all runs the same", "values (runs)"}, differs)
}

// mostValues is how many different values of a setting are listed.
const mostValues = 8

// programs are those that wrote the runs.
func (b *builder) programs() string {
	all := map[string]bool{}
	for _, m := range b.manifests {
		all[m.Program.String()] = true
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), ", ")
}

func (b *builder) tellStatistics(d *document) {
	d.line("## Statistics\n")
	d.line("The run is the unit; requests are not. `%s` describes valid runs: sd divides by n - 1, population_sd by n, the interval is Student's. `%s` has b - a of the means, and of every pair of runs of one round.\n", SummaryFile, DeltasFile)
	if b.comparison == nil {
		return
	}
	d.line("Arms are compared by Welch's t test, of logarithms where differences are relative, and paired where runs were made in rounds; equivalence by two one-sided tests within the margin; metrics beside the primary one are adjusted by Holm. Not different is not equal: equal needs an equivalence test. All of it is in `%s`.\n", ComparisonJSON)
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
	var rows [][]string
	for _, name := range slices.Sorted(maps.Keys(margins)) {
		rows = append(rows, []string{name, margins[name]})
	}
	d.table([]string{"metric", "margin"}, rows)
}

func (b *builder) tellRedaction(d *document) {
	d.line("## What is not told\n")
	if b.Raw {
		d.line("Nothing was taken out of the runs.\n")
	} else {
		var gone []string
		for _, kind := range Kinds() {
			if !slices.Contains(b.Keep, kind) {
				gone = append(gone, string(kind))
			}
		}
		d.line("Names of these kinds are replaced by the kind and a number; what was equal stays equal: %s. Prompts, outputs, headers and addresses for notices are not here.\n", strings.Join(gone, ", "))
	}
	if len(b.pack.LeftOut) > 0 {
		d.line("Files of runs that are left out: %s.\n", exhibit.Cell(strings.Join(b.pack.LeftOut, ", ")))
	}
	d.line("Of every run there are `%s` and `%s`; `gzip -d` gives back its requests, its schedule and its telemetry. `uma-load compare %s` reads them as they are, `uma-load publish --verify .` checks the sums in `%s`.\n", folder.ManifestFile, folder.SummaryFile, RunsFolder, PackFile)
}
