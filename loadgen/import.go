package loadgen

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/importer"
	"github.com/umascope/umascope/loadgen/render"
)

const importHelp = `Import the results of other benchmarks as run folders.

  uma-load import --format vllm --label arm=native results.json
  uma-load import --format benchmark-spark all_benchmark_results.json
  uma-load import --format llama-benchy --label arm=before before.json
  uma-load import --format vllm --label arm=container --label host=spark1 \
      results/*.json

compare, report and serve read them like runs of their own; every figure stays the tool's word, apart from what was measured.

A run that was imported before is refused. If a file is damaged nothing is imported.`

// importLine holds the flags of the verb import.
type importLine struct {
	format importer.Format
	out    string
	labels []label
	files  []string
}

func importVerb(app *kingpin.Application) verb {
	l := &importLine{}
	clause := app.Command("import", importHelp)
	var formats []string
	for _, f := range importer.Formats() {
		formats = append(formats, f.Name+": "+f.Help)
	}
	terminal.Flag(clause, "format", "What the files are. "+strings.Join(formats, "; ")+".", "", &l.format, importer.Find).Required().PlaceHolder("NAME")
	outFlag(clause, &l.out)
	terminal.Flags(clause, "label", "NAME=VALUE kept with every run, in place of what its file has; may be repeated.", &l.labels, parseLabel, terminal.AsGiven)
	clause.Arg("file", "Files of results; of sparkrun also folders of its cache.").Required().StringsVar(&l.files)
	return verb{clause, func(_ context.Context, p Program) error { return l.run(p.Stdout) }}
}

// run carries out the verb import.
func (l *importLine) run(stdout io.Writer) error {
	labels := map[string]string{}
	for _, one := range l.labels {
		if _, twice := labels[one.name]; twice {
			return usage(fmt.Errorf("--label: %s is given twice", one.name))
		}
		labels[one.name] = one.value
	}
	made, err := importer.Order{
		Format: l.format, Files: l.files, Out: l.out, Labels: labels, Program: buildVersion(), Now: time.Now(),
		Show: showRun,
	}.Import()
	if err != nil {
		return usage(err)
	}
	return printImported(stdout, l.out, made)
}

// printImported lists the imported runs, with each remark printed once.
func printImported(w io.Writer, out string, made []importer.Imported) error {
	table := render.Table{Header: []string{"run", "arm", "model", "valid", "from"}}
	invalid := 0
	var results []importer.Result
	for _, one := range made {
		valid := "yes"
		if !one.Summary.Valid {
			valid = "NO: " + string(one.Summary.InvalidReasons[0].Code)
			invalid++
		}
		labels := one.Summary.Labels
		model := labels["model"]
		if model == "" {
			model = one.Summary.Model.ID
		}
		table.Add(one.Summary.Run, labels["arm"], model, valid, one.File)
		results = append(results, one.Result)
	}
	if err := render.TextTable(w, table); err != nil {
		return err
	}
	for _, warning := range importer.Warnings(results) {
		if _, err := fmt.Fprintln(w, "warning:", warning); err != nil {
			return err
		}
	}
	runs := "runs"
	if len(made) == 1 {
		runs = "run"
	}
	text := fmt.Sprintf("\n%d %s imported into %s", len(made), runs, out)
	if invalid > 0 {
		text += fmt.Sprintf(", %d of them invalid", invalid)
	}
	_, err := fmt.Fprintln(w, text)
	return err
}
