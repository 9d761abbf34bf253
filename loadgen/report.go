package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/render/report"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

const reportHelp = `Show the report of a run, or runs side by side.

  uma-load report runs/20261101T120000Z-native-4f1c
  uma-load report runs --format html --out all.html
  uma-load report runs --xlsx results.xlsx
  uma-load report runs --metric \
      tokens_per_joule=output_tokens_per_second/gpu_power_mean_watts
  uma-load report runs --format benchstat | benchstat -col arm -
  uma-load report cells --format llama-benchy --out cells.json
  uma-load report runs/20261101T120000Z-native-4f1c --model-file model.gguf

A folder of one run gives its report; several, or one that has runs below it (of a sweep, a campaign, a pack), a table of them and, as HTML, their figures: over load, by arm, over time.

Of runs that are cells of llama-benchy's grid, --format cells shows its figures beside the measured ones, and llama-benchy writes its files.

A run that was killed has no summary: its figures are computed of the requests and the telemetry that it wrote, and it is invalid. What differs between arms, and how sure that is, says uma-load compare.

Exit codes: 2 if a folder cannot be read.`

// Formats of a report.
const (
	formTable     = "table"
	formMarkdown  = "md"
	formHTML      = "html"
	formJSON      = "json"
	formBenchstat = "benchstat"
)

// reportLine holds the flags of the verb report.
type reportLine struct {
	folders   []string
	format    string
	metrics   []computedMetric
	xlsx, out string
	recompute bool
	// modelFile and gigabytesPerSecond are of the limit of memory; empty and 0 if not given.
	modelFile          string
	gigabytesPerSecond float64
}

// computedMetric is the value of a --metric flag.
type computedMetric struct {
	name string
	of   compare.Expression
}

func reportVerb(app *kingpin.Application) verb {
	l := &reportLine{}
	clause := app.Command("report", reportHelp)
	clause.Arg("folder", "Run folder, several, or folders that have them below: of sweeps, campaigns and packs too.").Required().StringsVar(&l.folders)
	forms := append([]string{formTable, formMarkdown, formHTML, formJSON, formBenchstat}, cellFormats()...)
	terminal.Flag(clause, "format", "What to print: "+strings.Join(forms[:len(forms)-1], ", ")+" or "+forms[len(forms)-1]+".", formTable, &l.format, terminal.OneOf(forms...))
	terminal.Flags(clause, "metric", "Show a figure computed of others too: NAME=EXPRESSION, such as tokens_per_joule=output_tokens_per_second/gpu_power_mean_watts.", &l.metrics, parseComputed, terminal.AsGiven)
	terminal.Flag(clause, "model-file", "Model of the limit of memory: its GGUF file, or its folder with config.json and weights; else as the run recorded it.", "", &l.modelFile, terminal.Text).PlaceHolder("PATH")
	terminal.Flag(clause, "memory-bandwidth", "Bandwidth of the GPU's memory in GB/s, such as uma-exporter doctor measures; else by its maker, where the part is known.", "0", &l.gigabytesPerSecond, terminal.NumberWithin(0, 100_000)).PlaceHolder("GB/s")
	terminal.Flag(clause, "xlsx", "Write a workbook too: Summary, Raw data and, of many runs, a sheet for each cell and Parameters.", "", &l.xlsx, terminal.Text).PlaceHolder("FILE")
	terminal.Flag(clause, "out", "Write to this file instead of printing.", "", &l.out, terminal.Text).PlaceHolder("FILE")
	clause.Flag("recompute", "Compute all figures of the requests and the telemetry anew, even of a run that has its summary.").BoolVar(&l.recompute)
	return verb{clause, func(_ context.Context, p Program) error { return l.run(p.Stdout, p.Stderr) }}
}

// parseComputed reads NAME=EXPRESSION. It refuses names that do not exist.
func parseComputed(text string) (computedMetric, error) {
	name, expression, found := strings.Cut(text, "=")
	name = strings.TrimSpace(name)
	if !found || !terminal.PlainName(name) {
		return computedMetric{}, fmt.Errorf("%q: want NAME=EXPRESSION, as in tokens_per_joule=output_tokens_per_second/gpu_power_mean_watts", text)
	}
	if _, taken := figure.FindCompared(name); taken {
		return computedMetric{}, fmt.Errorf("%q: %s is the name of a metric already", text, name)
	}
	f, err := compare.ParseExpression(strings.TrimSpace(expression))
	if err != nil {
		return computedMetric{}, err
	}
	for _, of := range f.Names() {
		if _, known := figure.FindCompared(of); !known {
			return computedMetric{}, fmt.Errorf("%q: %q is no metric; near it are %s", text, of, strings.Join(compare.Near(of), ", "))
		}
	}
	return computedMetric{name, f}, nil
}

// compute computes the metrics of --metric.
func (l *reportLine) compute(figures map[string]float64) []summary.Computed {
	var all []summary.Computed
	for _, m := range l.metrics {
		all = append(all, summary.Computed{Name: m.name, Value: m.of.Value(figures)})
	}
	return all
}

// check refuses a name with two expressions, and files that cannot be written.
func (l *reportLine) check() error {
	for flag, path := range map[string]string{"--out": l.out, "--xlsx": l.xlsx} {
		if err := checkPlace(flag, path); err != nil {
			return err
		}
	}
	seen := map[string]bool{}
	for _, m := range l.metrics {
		if seen[m.name] {
			return fmt.Errorf("--metric: %s is given twice", m.name)
		}
		seen[m.name] = true
	}
	return nil
}

// checkPlace returns why a file cannot be written at the path of a flag. An empty path is not checked.
func checkPlace(flag, path string) error {
	if path == "" {
		return nil
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	} else if !info.IsDir() {
		return fmt.Errorf("%s %s: %s is no folder", flag, path, filepath.Dir(path))
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return fmt.Errorf("%s: %s: it is a folder", flag, path)
	}
	return nil
}

// run carries out the verb report.
func (l *reportLine) run(stdout, stderr io.Writer) error {
	if err := l.check(); err != nil {
		return usage(err)
	}
	paths, err := summary.Find(l.folders)
	if err != nil {
		return usage(err)
	}
	if slices.Contains(cellFormats(), l.format) {
		return l.reportCells(stdout, paths)
	}
	if len(paths) == 1 {
		return l.reportRun(stdout, stderr, paths[0])
	}
	return l.reportGroup(stdout, stderr, paths)
}

// openRun reads a run. For a run that was killed, it computes the figures.
func (l *reportLine) openRun(path string) (summary.Run, error) {
	read := summary.Read
	if l.recompute {
		read = summary.Compute
	}
	return read(path, supported.Engines())
}

// reportRun shows one run.
func (l *reportLine) reportRun(stdout, stderr io.Writer, path string) error {
	r, err := l.openRun(path)
	if err != nil {
		return usage(err)
	}
	if r.Manifest.State == rundir.StateRunning {
		fmt.Fprintf(stderr, "uma-load: %s: the run has not ended, or was killed: its figures are of what it wrote\n", printable(path))
	}
	r.Summary = r.Summary.With(l.compute(compare.FromRun(r).Metrics))
	if r.Summary, err = l.limited(r.Summary); err != nil {
		return err
	}
	var page report.Page
	if l.format == formHTML {
		if page, err = report.PageOf(r); err != nil {
			return usage(err)
		}
	}
	if err := l.writeWorkbook(func(w io.Writer) error { return report.Workbook(w, r) }); err != nil {
		return err
	}
	return l.write(stdout, func(w io.Writer) error {
		switch l.format {
		case formMarkdown:
			return report.Markdown(w, r.Summary)
		case formHTML:
			return report.HTML(w, page)
		case formJSON:
			return report.JSON(w, r.Summary)
		case formBenchstat:
			return report.Benchstat(w, r.Summary)
		}
		return report.Text(w, r.Summary)
	})
}

// reportGroup shows many runs. For an unfinished run it computes the figures from the files that exist. It leaves out,
// by name, runs that are damaged, removed meanwhile or cannot be computed.
func (l *reportLine) reportGroup(stdout, stderr io.Writer, paths []string) error {
	var opened []summary.Run
	for _, path := range paths {
		r, err := l.openRun(path)
		if l.recompute && (errors.Is(err, summary.ErrNoRequests) || errors.Is(err, summary.ErrMerged)) {
			r, err = summary.Open(path) // with everything that it has so far
		}
		if err != nil {
			reportLeftOut(stderr, []error{err})
			continue
		}
		opened = append(opened, r)
	}
	runs, copies, err := summary.WithoutCopies(opened)
	if err != nil {
		return usage(err)
	}
	reportLeftOut(stderr, copies)
	for i, r := range runs {
		r.Summary = r.Summary.With(l.compute(compare.FromRun(r).Metrics))
		if r.Summary, err = l.limited(r.Summary); err != nil {
			return err
		}
		runs[i] = r
	}
	slices.SortStableFunc(runs, func(a, b summary.Run) int { return a.Manifest.StartedAt.Compare(b.Manifest.StartedAt) })
	if l.format == formHTML {
		sound, damaged := report.WithTelemetry(runs)
		reportLeftOut(stderr, damaged)
		runs = sound
	}
	if len(runs) == 0 {
		return usage(fmt.Errorf("%s: no finished run", strings.Join(l.folders, ", ")))
	}
	all := report.NewRuns(runs, l.folders, l.out)
	if err := l.writeWorkbook(all.WriteWorkbook); err != nil {
		return err
	}
	return l.write(stdout, func(w io.Writer) error {
		switch l.format {
		case formMarkdown:
			return all.WriteMarkdown(w)
		case formHTML:
			return all.WriteHTML(w)
		case formJSON:
			return all.WriteJSON(w)
		case formBenchstat:
			return all.WriteBenchstat(w)
		}
		return all.WriteText(w)
	})
}

// reportLeftOut writes a line for each run that is left out, with the reason.
func reportLeftOut(w io.Writer, runs []error) {
	for _, why := range runs {
		fmt.Fprintln(w, "uma-load: left out:", printable(why.Error()))
	}
}

// write prints the report, or writes it to the file of --out.
func (l *reportLine) write(stdout io.Writer, render func(io.Writer) error) error {
	if l.out == "" {
		return render(stdout)
	}
	return writeFile("--out", l.out, render)
}

func (l *reportLine) writeWorkbook(render func(io.Writer) error) error {
	if l.xlsx == "" {
		return nil
	}
	return writeFile("--xlsx", l.xlsx, render)
}

// writeFile writes the file that a flag names, completely or not at all, since a web server may be serving it.
func writeFile(flag, path string, render func(io.Writer) error) error {
	if err := rundir.WriteFile(path, 0o644, render); err != nil {
		return fmt.Errorf("%s: %w", flag, err)
	}
	return nil
}
