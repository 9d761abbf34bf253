package loadgen

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/promexport"
	"github.com/umascope/umascope/loadgen/render/comparison"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

const compareHelp = `Compare arms: differences with intervals, verdicts and caveats.

  uma-load compare runs --by arm
  uma-load compare runs/native-container --by arm --within model \
      --baseline native --html comparison.html
  uma-load compare runs --by kv --within scenario,concurrency --md > kv.md
  uma-load compare runs --by arm --margin memory_unavailable_peak_bytes=2GiB
  uma-load compare before after --by version --fail-on worse

Each value of the label (or of model, engine, scenario, host) is an arm, compared with the baseline within the groups of --within. A headline gives the answer, a table the metrics that decide (*) and those beyond their margin; --all prints the rest.

A verdict follows from the margin, the largest difference that does not matter, and the 95 % interval of the difference: equivalent (within the margin, includes 0), irrelevant (within, excludes 0), better or worse (wholly beyond the margin), the same with the extent not decided (excludes 0, crosses the margin), else inconclusive. It is confounded where time explains the figures as well: arms in blocks, or a difference that drifts. Metrics that are not primary are adjusted for their number (Holm).

Exit codes: 2 if the runs cannot be compared; with --fail-on, 4 if it was met, else 3 if a metric is confounded that would be worse.`

// compareLine is the verb compare on the command line.
type compareLine struct {
	folders             []string
	options             compare.Options
	margins             []margin
	failOn              compare.FailOn
	asJSON, asCSV, asMD bool
	html                string
	save, all           bool
}

// margin is a --margin.
type margin struct {
	metric string
	value  figure.Margin
}

func parseMargin(text string) (m margin, err error) {
	m.metric, m.value, err = compare.ParseMargin(text)
	return m, err
}

func compareVerb(app *kingpin.Application) verb {
	l := &compareLine{}
	clause := app.Command("compare", compareHelp)
	clause.Arg("folder", "Run folders, or folders that have them below: of sweeps, campaigns and packs too.").Required().StringsVar(&l.folders)
	terminal.Flag(clause, "by", "Label whose values are the arms.", "", &l.options.By, terminal.Text).Required().PlaceHolder("LABEL")
	terminal.Flag(clause, "within", "Labels in which runs have to agree to be compared.", "", &l.options.Within, parseLabels).PlaceHolder("LABEL,...")
	terminal.Flag(clause, "baseline", "Arm that the others are held against; that of the earliest run, if not given.", "", &l.options.Baseline, terminal.Text).PlaceHolder("VALUE")
	terminal.Flags(clause, "margin", "Largest difference that does not matter, such as output_tokens_per_second=5% or memory_unavailable_peak_bytes=1GiB; default: 2 % of latency and throughput, 1 GiB, 2 C.", &l.margins, parseMargin, terminal.AsGiven)
	terminal.Flag(clause, "primary", "Metric that decides, not adjusted as one of many; default: that of the scenario.", "", &l.options.Primary, terminal.Text).PlaceHolder("METRIC")
	clause.Flag("allow-different-workload", "Compare runs that did different work, and report it.").BoolVar(&l.options.AllowDifferentWorkload)
	terminal.Flag(clause, "columns", "State these too: shapiro, bonferroni, bh, bca.", "", &l.options.Columns, parseColumns).PlaceHolder("NAME,...")
	terminal.Flag(clause, "seed", "Seed of the bootstrap.", "1337", &l.options.Seed, terminal.Unsigned)
	terminal.Flag(clause, "fail-on", "Exit with 4 if a metric is worse by more than its margin (inconclusive: or a primary one is not decided).", "", &l.failOn, terminal.OneOf(compare.FailOnWorse, compare.FailOnInconclusive)).PlaceHolder("worse|inconclusive")
	clause.Flag("all", "Print every metric, the ledgers and the caveats; without it the answer.").BoolVar(&l.all)
	clause.Flag("json", "Print JSON.").BoolVar(&l.asJSON)
	clause.Flag("csv", "Print CSV: a row for each metric.").BoolVar(&l.asCSV)
	clause.Flag("md", "Print Markdown.").BoolVar(&l.asMD)
	terminal.Flag(clause, "html", "Write one page of HTML with its figures.", "", &l.html, terminal.Text).PlaceHolder("FILE")
	clause.Flag("save", "Keep the comparison in the folder "+promexport.ComparisonsFolder+" beside the runs, from which serve shows it.").BoolVar(&l.save)
	return verb{clause, func(_ context.Context, p Program) error { return l.run(p.Stdout, p.Stderr) }}
}

func parseLabels(text string) ([]string, error) {
	var names []string
	for _, name := range strings.Split(text, ",") {
		names = append(names, strings.TrimSpace(name))
	}
	return names, nil
}

func parseColumns(text string) ([]compare.Column, error) {
	var columns []compare.Column
	for _, name := range strings.Split(text, ",") {
		column, err := compare.ParseColumn(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		columns = append(columns, column)
	}
	return columns, nil
}

// run carries out the verb compare.
func (l *compareLine) run(stdout, stderr io.Writer) error {
	if err := l.check(); err != nil {
		return usage(err)
	}
	runs, skipped, err := summary.Load(l.folders)
	if err != nil {
		return usage(err)
	}
	reportLeftOut(stderr, skipped)
	if len(runs) == 0 {
		return usage(fmt.Errorf("%s: no run that is finished", strings.Join(l.folders, " ")))
	}
	var observed []compare.Run
	for _, r := range runs {
		observed = append(observed, compare.FromRun(r))
	}
	c, err := compare.Compare(observed, l.options)
	if err != nil {
		return usage(err)
	}
	if err := l.write(stdout, stderr, c); err != nil {
		return err
	}
	return l.judge(stderr, c)
}

// check refuses flags that contradict each other, and collects the margins.
func (l *compareLine) check() error {
	if kinds := count(l.asJSON, l.asCSV, l.asMD); kinds > 1 {
		return fmt.Errorf("--json, --csv, --md: they are printed: want one of them")
	}
	if err := checkPlace("--html", l.html); err != nil {
		return err
	}
	l.options.Margins = map[string]figure.Margin{}
	for _, m := range l.margins {
		if _, twice := l.options.Margins[m.metric]; twice {
			return fmt.Errorf("--margin: %s is given twice", m.metric)
		}
		l.options.Margins[m.metric] = m.value
	}
	return nil
}

func count(conditions ...bool) int {
	n := 0
	for _, is := range conditions {
		if is {
			n++
		}
	}
	return n
}

// write writes the files that were asked for, then prints the comparison.
func (l *compareLine) write(stdout, stderr io.Writer, c compare.Comparison) error {
	title := "Comparison by " + c.By + " against " + c.Baseline
	if l.html != "" {
		if err := writeFile("--html", l.html, func(w io.Writer) error { return comparison.HTML(w, title, c) }); err != nil {
			return usage(err)
		}
	}
	if l.save {
		path, err := l.keep(c)
		if err != nil {
			return usage(fmt.Errorf("--save: %w", err))
		}
		fmt.Fprintln(stderr, "uma-load: saved as", printable(path))
	}
	switch {
	case l.asJSON:
		return openai.PrintJSON(stdout, c)
	case l.asCSV:
		return comparison.CSV(stdout, c)
	case l.asMD:
		return comparison.Markdown(stdout, title, c)
	}
	if l.all {
		return comparison.Text(stdout, c)
	}
	return comparison.Brief(stdout, c)
}

// keep writes the comparison next to the runs: into the first folder that was named or, if that is a run, into its
// parent folder.
func (l *compareLine) keep(c compare.Comparison) (string, error) {
	root := filepath.Clean(l.folders[0])
	if _, err := os.Stat(filepath.Join(root, rundir.ManifestFile)); err == nil {
		root = filepath.Dir(root)
	}
	dir := filepath.Join(root, promexport.ComparisonsFolder)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	name := rundir.NewID(time.Now(), c.By+"-"+c.Baseline) + ".json"
	return filepath.Join(dir, name), rundir.Folder(dir).WriteJSON(name, c)
}

// judge applies --fail-on to the verdicts. What it does not refuse although it may be worse is named; what is confounded
// with time, and would be worse otherwise, has an exit code of its own: it is no ground to pass or to fail.
func (l *compareLine) judge(stderr io.Writer, c compare.Comparison) error {
	if l.failOn == "" {
		return nil
	}
	if open := c.MayBeWorse(); len(open) > 0 {
		fmt.Fprintf(stderr, "uma-load: --fail-on %s does not take %s: it may be worse by more than the margin\n", l.failOn, printable(firstOf(open)))
	}
	if missed := c.Missed(l.failOn); len(missed) > 0 {
		return outcome{exitMissed, fmt.Errorf("--fail-on %s: %s", l.failOn, firstOf(missed))}
	}
	if confounded := c.Confounded(); len(confounded) > 0 {
		return outcome{exitInvalid, fmt.Errorf("--fail-on %s: %s: neither that it is worse nor that it is not is shown; repeat the arms in turns (order: abba in a plan)", l.failOn, firstOf(confounded))}
	}
	return nil
}

// firstOf returns the first of some texts, and how many more there are.
func firstOf(texts []string) string {
	if n := len(texts) - 1; n > 0 {
		return fmt.Sprintf("%s, and %d more", texts[0], n)
	}
	return texts[0]
}
