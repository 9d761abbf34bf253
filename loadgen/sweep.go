package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/render/report"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
	"github.com/umascope/umascope/loadgen/workload"
)

const sweepHelp = `Measure a server at several loads, or find its limit.

  uma-load sweep --url http://127.0.0.1:8000 --over concurrency=1..64x2
  uma-load sweep --url http://127.0.0.1:8000 --over rate=0.5..32 \
      --search slo --slo ttft=500ms,tpot=50ms
  uma-load sweep --url http://127.0.0.1:8000 --over rate=0.5..32 \
      --search saturation

One run for each point, side by side in one folder, with a table and curves over load. All flags of run apply to every point; --run-id and --label name and mark the sweep.

Exit codes: 1 if it was interrupted or a run failed; 3 if a run is INVALID, or one that tells nothing ended a search; 4 if no load keeps --slo. What was measured is in the folder in any case.`

// given returns the flags on the command line, in order.
func (l *commandLine) given() ([]runner.Flag, error) {
	context, err := l.app.ParseContext(l.args)
	if err != nil {
		return nil, err
	}
	var given []runner.Flag
	for _, element := range context.Elements {
		if clause, is := element.Clause.(*kingpin.FlagClause); is && element.Value != nil {
			given = append(given, runner.Flag{Name: clause.Model().Name, Value: *element.Value})
		}
	}
	return given, nil
}

// arguments returns flags as arguments of a run's command line.
func (l *commandLine) arguments(flags []runner.Flag) []string { return argumentsOf(l.run, flags) }

// sweeper makes the runs of a sweep. Each run has its own command line, and its manifest records that line, so that it
// can be repeated.
type sweeper struct {
	env    runner.Environment
	line   *commandLine
	given  []runner.Flag
	plan   runner.Sweep
	page   *runner.LivePage
	folder rundir.Folder
	result runner.SweepResult
	done   []runner.SweepRun
	// failure is the error of the last run, with its exit code.
	failure error
}

// measureSweep carries out the verb sweep.
func (l *commandLine) measureSweep(ctx context.Context, env runner.Environment) error {
	s, err := newSweeper(l, env)
	if err != nil {
		return usage(err)
	}
	run := l.sweepRun
	if s.folder, err = runner.MakeFolder(run.Out, s.result.Sweep); err != nil {
		return err
	}
	if s.page, err = runner.OpenLivePage(run.web, env.Network, env.Log); err != nil {
		s.undo()
		return usage(err)
	}
	defer s.page.Close()
	done, err := s.drive(ctx)
	if err != nil {
		return err
	}
	s.page.Report(s.folder.Path(rundir.HTMLFile))
	linger(ctx, env.Cut, run.linger, env.Log)
	return s.judge(done)
}

// newSweeper checks the flags of every point before the first run.
func newSweeper(line *commandLine, env runner.Environment) (*sweeper, error) {
	run := line.sweepRun
	if err := run.sharing.refuse(); err != nil {
		return nil, err
	}
	if run.Repeating() {
		return nil, errors.New("--repeat-of: it is of one run, and a sweep makes several; give it to uma-load run for each of them")
	}
	plan, err := line.sweepOver.Plan(run.Seed, len(run.SLO) > 0)
	if err != nil {
		return nil, err
	}
	given, err := line.given()
	if err != nil {
		return nil, err
	}
	s := &sweeper{env: env, line: line, given: given, plan: plan}
	id := run.RunID
	if id == "" {
		arm := run.label("arm")
		if arm == "" {
			arm = defaultArm
		}
		id = rundir.NewID(time.Now(), arm)
	}
	if !terminal.PlainName(id) || len(id) > runner.LongestSweepID {
		return nil, fmt.Errorf("--run-id: %q: want letters, digits, . _ and -, not beginning with a dot, at most %d", id, runner.LongestSweepID)
	}
	s.result = runner.SweepResult{
		Schema: runner.SweepSchema, Sweep: id, State: runner.SweepRunning, StartedAt: time.Now().UTC(), Over: plan.Over.Name,
		Flags: line.flagValues(line.sweep), Seed: plan.Seed, SamePrompts: plan.SamePrompts, PauseSeconds: plan.Pause.Seconds(),
	}
	return s, s.check()
}

// check parses the command line of every point. Files that the flags name are the same for all points and are read
// only once.
func (s *sweeper) check() error {
	values := s.plan.Values
	if s.plan.Search != nil {
		values = s.plan.Search.Ends()
	}
	for i, v := range values {
		line, err := s.point(runner.SweepRun{Number: i + 1, Value: v})
		if err == nil && (i == 0 || !line.settings.readsFiles()) {
			_, err = line.checkRun()
		}
		if err != nil {
			return fmt.Errorf("%s %s: %w", s.plan.Over.Name, v.Text, err)
		}
	}
	return nil
}

// readsFiles reports whether resolving the settings reads the user's files.
func (s *settings) readsFiles() bool {
	return s.TracePath != "" || !slices.Contains(workload.PromptSets(), s.Prompts)
}

// point returns the command line of a run.
func (s *sweeper) point(t runner.SweepRun) (*commandLine, error) {
	flags, err := runner.PointFlags(s.given, s.plan.Over, t.Value)
	if err != nil {
		return nil, err
	}
	line := newCommandLine(io.Discard)
	flags = append(flags,
		runner.Flag{Name: "label", Value: "sweep=" + s.result.Sweep}, runner.Flag{Name: "seed", Value: strconv.FormatUint(t.Seed, 10)},
		runner.Flag{Name: "out", Value: string(s.folder)}, runner.Flag{Name: "run-id", Value: s.plan.Over.RunID(s.result.Sweep, t)})
	_, _, err = line.parse(append([]string{line.run.FullCommand()}, line.arguments(flags)...))
	line.settings.Target.FoundBy = s.line.sweepRun.Target.FoundBy
	if s.plan.SamePrompts {
		line.settings.SamePrompts = true
		line.settings.KeyPrompts(s.result.Sweep, s.result.StartedAt)
	}
	return line, err
}

// drive measures the points and writes the result of the sweep.
func (s *sweeper) drive(ctx context.Context) ([]runner.SweepRun, error) {
	if err := s.keep(nil); err != nil {
		s.undo()
		return nil, runner.BadOut(err)
	}
	done, err := s.plan.Drive(ctx, s.pause, s.measure, s.keep)
	if s.failure != nil && len(done) == 1 && done[0].Summary == nil {
		s.undo()
		return nil, s.failure // nothing was measured, so the error and its exit code are those of the run
	}
	ended := time.Now().UTC()
	s.result.EndedAt = &ended
	s.result.State, s.result.Reason = stateOfSweep(err, s.plan.Stopped(done))
	return done, errors.Join(err, s.keep(done), s.write(done))
}

func stateOfSweep(err error, stopped string) (runner.SweepState, string) {
	switch {
	case errors.Is(err, runner.ErrInterrupted):
		return runner.SweepInterrupted, err.Error()
	case err != nil:
		return runner.SweepFailed, printable(err.Error())
	case stopped != "":
		return runner.SweepStopped, stopped
	default:
		return runner.SweepComplete, ""
	}
}

// measure makes one run. Its figures go to its own folder and the sweep's table, not to the terminal.
func (s *sweeper) measure(ctx context.Context, t runner.SweepRun) runner.SweepOutcome {
	line, err := s.point(t)
	if err != nil {
		return s.fail(ctx, runner.Result{}, err)
	}
	settings, err := line.checkRun()
	if err != nil {
		return s.fail(ctx, runner.Result{}, err)
	}
	env := quiet(s.env, settings.log, s.page)
	env.Series = s.series(t.Number, t.Value)
	env.Log.Info("sweep", "point", t.Number, s.plan.Over.Name, t.Value.Text)
	made, err := makeRun(ctx, settings, env)
	if err != nil {
		return s.fail(ctx, made, err)
	}
	done := runner.SweepOutcome{Run: made.Run, Status: runner.Valid, Summary: made.Summary()}
	if !done.Summary.Valid {
		done.Status = runner.Invalid
	}
	env.Log.Info("point", "number", t.Number, s.plan.Over.Name, t.Value.Text, "run", made.Run, "status", string(done.Status))
	return done
}

// series returns the sweep before a point.
func (s *sweeper) series(number int, v runner.OverValue) *runner.Series {
	shown := &runner.Series{Kind: runner.SeriesSweep, Name: s.result.Sweep, Number: number, Point: s.plan.Over.Name + " " + v.Text, Results: s.results()}
	if s.plan.Search == nil {
		shown.Of = len(s.plan.Values)
	}
	for _, t := range s.done[max(0, len(s.done)-runner.MostSeriesRuns):] {
		shown.Runs = append(shown.Runs, runner.NewSeriesRun(s.plan.Over.Name+" "+t.Value.Text, string(t.Status), t.Summary))
	}
	return shown
}

// pause waits before a point, and shows it.
func (s *sweeper) pause(ctx context.Context, next runner.OverValue) bool {
	env := s.env
	env.Page, env.Series = s.page, s.series(len(s.done)+1, next)
	return runner.Pause(ctx, env, "the pause before this point", s.plan.Pause)
}

// results counts the points so far by their status.
func (s *sweeper) results() string {
	counts := map[runner.RunStatus]int{}
	for _, p := range s.result.Points {
		counts[p.Status]++
	}
	var parts []string
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		parts = append(parts, fmt.Sprintf("%d %s", counts[status], status))
	}
	return strings.Join(parts, ", ")
}

// fail returns the outcome of a run that did not end as planned.
func (s *sweeper) fail(ctx context.Context, made runner.Result, err error) runner.SweepOutcome {
	s.failure = err
	failed := runner.SweepOutcome{Run: made.Run, Status: runner.Failed, Problem: printable(err.Error()), Summary: made.Summary()}
	if errors.Is(err, runner.ErrInterrupted) || ctx.Err() != nil {
		failed.Status = runner.Interrupted
	}
	return failed
}

// keep writes the points measured so far.
func (s *sweeper) keep(done []runner.SweepRun) error {
	s.done = done
	s.result.Update(s.plan, done)
	return errors.Join(s.folder.WriteJSON(rundir.SweepFile, s.result), s.folder.Write(rundir.SweepCSVFile, s.result.CSV))
}

// write writes the page and the table of the sweep, and prints the table.
func (s *sweeper) write(done []runner.SweepRun) error {
	group := s.group(done)
	err := group.AddCourses(func(i int) (*telemetry.Log, error) {
		return summary.Run{Folder: rundir.Folder(s.folder.Path(done[i].Run))}.Telemetry()
	})
	err = errors.Join(err, s.folder.Write(rundir.ReportFile, group.WriteMarkdown), s.folder.Write(rundir.HTMLFile, group.WriteHTML), group.WriteNarrow(s.env.Stdout))
	if err == nil {
		_, err = fmt.Fprintf(s.env.Stdout, "\nsweep folder: %s%c\n", s.folder, os.PathSeparator)
	}
	return err
}

// group returns the content of the sweep's page.
func (s *sweeper) group(done []runner.SweepRun) report.Group {
	r := s.result
	g := report.Group{
		Title: "Sweep " + r.Sweep, Over: s.plan.Over.Axis(), Notes: r.Notes(s.plan), Verdict: r.Verdict(s.plan), Good: r.Good(s.plan), RunPage: rundir.HTMLFile,
	}
	for _, t := range done {
		g.Members = append(g.Members, report.Member{Run: t.Run, Name: t.Value.Text, Load: t.Value.Load, State: t.State(), Summary: t.Summary})
	}
	if f := r.Finding; f != nil {
		if f.Within != nil {
			g.Marks = append(g.Marks, report.Mark{Load: *f.Within, Text: "within"})
		}
		if f.Beyond != nil {
			g.Marks = append(g.Marks, report.Mark{Load: *f.Beyond, Text: "beyond"})
		}
	}
	return g
}

// judge turns the results of the runs into an outcome.
func (s *sweeper) judge(done []runner.SweepRun) error {
	switch s.plan.Judge(done) {
	case runner.Unsound:
		why := "the sweep has an invalid run"
		if s.plan.Search != nil {
			why = "the search ended with a run that shows nothing of the limit"
		}
		return outcome{exitInvalid, errors.New(why + ": see " + rundir.SweepCSVFile)}
	case runner.Unmet:
		return outcome{exitMissed, fmt.Errorf("no run keeps --slo %s", s.line.sweepRun.SLO)}
	default:
		return nil
	}
}

// undo removes the folder of a sweep that measured nothing.
func (s *sweeper) undo() { _ = os.RemoveAll(string(s.folder)) }
