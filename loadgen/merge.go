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
	"github.com/umascope/umascope/loadgen/merge"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

const mergeHelp = `Make one run of those of the ranks that shared its load.

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
	terminal.Flag(clause, "out", "Folder of run folders.", "runs", &l.out, terminal.Text)
	terminal.Flag(clause, "run-id", "Name of the run and its folder; what the ranks call it, if not given.", "", &l.runID, terminal.Text)
	resultFlags(clause, &l.results)
	return verb{clause, func(ctx context.Context, p Program) error { return l.run(ctx, p.Stdout) }}
}

// merging merges the runs of several ranks into one run.
type merging struct {
	results results
	whole   *merge.Whole
	id      string
	folder  rundir.Folder

	telemetry telemetry.Merged
	torn      []int // ranks whose files end early
}

// run carries out the verb merge.
func (l *mergeLine) run(ctx context.Context, stdout io.Writer) error {
	whole, err := merge.Open(l.folders, l.allowMissing)
	if err != nil {
		return usage(err)
	}
	m := &merging{results: l.results, whole: whole, id: cmp.Or(l.runID, whole.Name())}
	if !terminal.PlainName(m.id) { // it may come from a run folder of another machine
		return usage(fmt.Errorf("--run-id: %q: want letters, digits, . _ and -, not beginning with a dot, at most 128", m.id))
	}
	if m.folder, err = runner.MakeFolder(l.out, m.id); err != nil {
		return err
	}
	sum, err := m.write(ctx)
	if err != nil {
		// The folders of the ranks hold the same data.
		_ = os.RemoveAll(string(m.folder))
		return runner.Unusable(ctx, err)
	}
	if err := printRun(stdout, m.folder, sum); err != nil {
		return err
	}
	return judge(sum)
}

// write writes the folder of the merged run.
func (m *merging) write(ctx context.Context) (summary.Summary, error) {
	err := m.writeLines(ctx)
	if err == nil {
		err = m.writeTelemetry()
	}
	if err == nil {
		err = m.folder.WriteJSON(rundir.PhasesFile, rundir.Phases{Schema: rundir.PhasesSchema, Phases: m.whole.Phases()})
	}
	if err != nil {
		return summary.Summary{}, err
	}
	return m.digest()
}

// digest computes the summary from the merged folder, and writes its pages.
func (m *merging) digest() (summary.Summary, error) {
	manifest := m.whole.Manifest(m.id, m.telemetry.From)
	manifest.Judging = m.whole.Judging(m.whole.Warnings(m.telemetry, m.torn))
	if err := m.folder.WriteJSON(rundir.ManifestFile, manifest); err != nil {
		return summary.Summary{}, err
	}
	r, err := summary.Write(string(m.folder))
	if err != nil {
		return r.Summary, err
	}
	return r.Summary, errors.Join(showRun(r), writeResults(m.folder, m.results, r.Summary))
}

// writeLines writes the files that have one line for each request.
func (m *merging) writeLines(ctx context.Context) error {
	err := m.folder.Write(rundir.ScheduleFile, func(w io.Writer) error { return m.whole.Schedule(ctx, w) })
	if err != nil {
		return err
	}
	err = m.folder.Write(rundir.RequestsFile, func(w io.Writer) (err error) {
		m.torn, err = m.whole.Requests(ctx, m.id, w)
		return err
	})
	if err != nil || !m.whole.HaveOutputs() {
		return err
	}
	return m.folder.Write(rundir.OutputsFile, func(w io.Writer) error { return m.whole.Outputs(ctx, m.id, w) })
}

// writeTelemetry writes the telemetry of exporters and engines.
func (m *merging) writeTelemetry() error {
	var err error
	m.telemetry, _, err = m.whole.Telemetry(m.folder.Path(rundir.TelemetryFile))
	return err
}
