package loadgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/summary"
)

const mergeHelp = `Merge the folders of ranks that shared one load into one run.

  uma-load merge runs/load1-rank*of4

All ranks have to be there, of the same --start-at, workload, seed, model, arm and limits.

Exit codes are those of run: 2 if the folders do not belong together, 3 if what they make is INVALID.`

// mergeLine holds the flags of the verb merge.
type mergeLine struct {
	folders      []string
	allowMissing bool
	out, runID   string
	results      results
}

func mergeVerb(app *kingpin.Application) verb {
	l := &mergeLine{}
	clause := app.Command("merge", mergeHelp)
	clause.Arg("folder", "Run folders of the ranks.").Required().StringsVar(&l.folders)
	clause.Flag("allow-missing", "Merge without the ranks that are missing; the run is then invalid.").BoolVar(&l.allowMissing)
	outFlag(clause, &l.out)
	terminal.Flag(clause, "run-id", "Name of the run and its folder; what the ranks call it, if not given.", "", &l.runID, terminal.Text)
	resultFlags(clause, &l.results)
	return verb{clause, func(ctx context.Context, p Program) error { return l.run(ctx, p.Stdout) }}
}

// run carries out the verb merge.
func (l *mergeLine) run(ctx context.Context, stdout io.Writer) error {
	whole, err := runner.OpenRanks(l.folders, l.allowMissing)
	if err != nil {
		return usage(err)
	}
	id := cmp.Or(l.runID, whole.Name())
	if !terminal.PlainName(id) { // it may come from a run folder of another machine
		return usage(fmt.Errorf("--run-id: %q: want letters, digits, . _ and -, not beginning with a dot, at most 128", id))
	}
	folder, err := runner.MakeFolder(l.out, id)
	if err != nil {
		return err
	}
	sum, err := l.write(ctx, whole, folder, id)
	if err != nil {
		// The folders of the ranks hold the same data.
		_ = os.RemoveAll(string(folder))
		return runner.Unusable(ctx, err)
	}
	if err := printRun(stdout, folder, sum); err != nil {
		return err
	}
	return judge(sum)
}

// write writes the folder of the merged run, computes the summary from it, and writes its pages.
func (l *mergeLine) write(ctx context.Context, whole *runner.SharedRun, folder rundir.Folder, id string) (summary.Summary, error) {
	if err := whole.Write(ctx, folder, id); err != nil {
		return summary.Summary{}, err
	}
	r, err := summary.Write(string(folder), supported.Engines())
	if err != nil {
		return r.Summary, err
	}
	return r.Summary, errors.Join(showRun(r), writeResults(folder, l.results, r.Summary))
}
