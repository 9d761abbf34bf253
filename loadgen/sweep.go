package loadgen

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/render/report"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/sweep"
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

Exit codes: 1 if it was interrupted or a run failed; 3 if a run is INVALID, or one that tells nothing ended a search; 4 if no load keeps --slo. What was measured is in the folder in any case. --resume goes on.`

// given returns the flags on the command line, in order.
func (l *commandLine) given() ([]plan.Flag, error) {
	context, err := l.app.ParseContext(l.args)
	if err != nil {
		return nil, err
	}
	var given []plan.Flag
	for _, element := range context.Elements {
		if clause, is := element.Clause.(*kingpin.FlagClause); is && element.Value != nil {
			given = append(given, plan.Flag{Name: clause.Model().Name, Value: *element.Value})
		}
	}
	return given, nil
}

// arguments returns flags as arguments of a run's command line.
func (l *commandLine) arguments(flags []plan.Flag) []string { return argumentsOf(l.run, flags) }

// readsFiles reports whether resolving the settings reads the user's files.
func (s *settings) readsFiles() bool {
	return s.TracePath != "" || !slices.Contains(workload.PromptSets(), s.Prompts)
}

// sweeper makes the runs of a sweep.
type sweeper struct {
	*series
	sweep sweep.Sweep
}

// measureSweep carries out the verb sweep.
func (l *commandLine) measureSweep(ctx context.Context, env runner.Environment) error {
	s, err := newSweeper(l, env)
	if err != nil {
		return usage(err)
	}
	if err := s.carryOut(ctx, s.present); err != nil {
		return err
	}
	switch s.sweep.Judge(s.done()) {
	case sweep.Unsound:
		why := "the sweep has an invalid run"
		if s.sweep.Search != nil {
			why = "the search ended with a run that shows nothing of the limit"
		}
		return outcome{exitInvalid, errors.New(why + ": see " + campaign.TableFile)}
	case sweep.Unmet:
		return outcome{exitMissed, fmt.Errorf("no run keeps --slo %s", s.runs.SLO)}
	default:
		return nil
	}
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
	chosen, err := line.sweepOver.Plan(run.Seed, len(run.SLO) > 0)
	if err != nil {
		return nil, err
	}
	s := &sweeper{sweep: chosen}
	if s.series, err = newSeries(rundir.KindSweep, line, line.sweep, run, env, line.sweepOver.Resume); err != nil {
		return nil, err
	}
	s.planner = s
	s.sweep.Name, s.sweep.Given = s.id, s.ofRuns()
	if s.sweep.Search == nil {
		return s, s.read()
	}
	highest, err := s.sweep.Scenario(sweep.Run{Value: s.sweep.Search.Ends()[1]})
	if err != nil {
		return nil, err
	}
	return s, s.read(highest)
}

func (s *sweeper) own() []string { return sweep.Own() }

func (s *sweeper) plan(given []plan.Flag) (plan.Single, error) {
	shown := s.sweep
	shown.Given = given
	return shown.Plan(s.arm(), s.values())
}

func (s *sweeper) next(made []campaign.SlotFacts) campaign.Choice {
	return s.sweep.Next(s.sweep.Runs(made, s.invocation.Summary))
}

func (s *sweeper) point(of plan.Scenario) string { return s.sweep.Point(of) }

func (s *sweeper) prepare(*campaign.Order) {}

func (s *sweeper) complete(of *settings) {
	if s.sweep.SamePrompts {
		of.SamePrompts = true
		of.KeyPrompts(s.id, s.invocation.Facts().StartedAt)
	}
}

func (s *sweeper) result(_ campaign.Order, r campaign.Result, _ error, _ *summary.Summary) campaign.Result {
	return r
}

func (s *sweeper) show(shown *runner.Series) {
	if s.sweep.Search != nil { // how many points it takes is not known
		shown.Of, shown.EndsAt = 0, nil
	}
}

// done returns the runs that were made.
func (s *sweeper) done() []sweep.Run {
	return s.sweep.Runs(s.invocation.Facts().Slots, s.invocation.Summary)
}

// present writes the page of the sweep and prints its tables.
func (s *sweeper) present(o campaign.Outcome) error {
	done := s.done()
	group := report.Group{
		Title: "Sweep " + s.id, Over: s.sweep.Over.Axis(), Notes: s.sweep.Notes(done), Verdict: s.sweep.Verdict(o, done), Good: s.sweep.Good(o, done), RunPage: rundir.HTMLFile,
	}
	for _, t := range done {
		group.Members = append(group.Members, report.Member{Run: t.Run, Name: t.Value.Text, Load: t.Value.Load, State: t.State(), Summary: t.Summary})
	}
	if f := s.sweep.Finding(done); f != nil {
		if f.Within != nil {
			group.Marks = append(group.Marks, report.Mark{Load: *f.Within, Text: "within"})
		}
		if f.Beyond != nil {
			group.Marks = append(group.Marks, report.Mark{Load: *f.Beyond, Text: "beyond"})
		}
	}
	err := group.AddCourses(func(i int) (*telemetry.Log, error) {
		return summary.Run{Folder: rundir.Folder(filepath.Join(s.dir, done[i].Run))}.Telemetry()
	})
	dir := rundir.Folder(s.dir)
	return errors.Join(err, dir.Write(rundir.ReportFile, group.WriteMarkdown), dir.Write(rundir.HTMLFile, group.WriteHTML), group.WriteNarrow(s.env.Stdout), s.printFolder(s.env.Stdout))
}
