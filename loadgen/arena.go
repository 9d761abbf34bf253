package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/arena"
	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/cell"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/workload"
)

// arenaDriver makes the runs of an arena. As in a sweep, each run has its own command line, which its manifest records.
type arenaDriver struct {
	env     runner.Environment
	line    *commandLine
	given   []runner.Flag
	profile arena.Profile
	page    *runner.LivePage
	folder  rundir.Folder
	result  arena.Result
	// fresh is true if the folder was made for this invocation, and warm if the server has had a cell from it.
	fresh, warm bool
	shown       []runner.SeriesRun
	read        map[string][]cell.Row // of runs that have ended, by name
}

// measureArena carries out the verb arena.
func (l *commandLine) measureArena(ctx context.Context, env runner.Environment) error {
	d, err := newArenaDriver(l, env)
	if err != nil {
		return usage(err)
	}
	if l.arenaPlan.dryRun {
		return d.dryRun(ctx)
	}
	if err := checkExports(l.arenaPlan.exports); err != nil {
		return usage(err)
	}
	if err := d.checkCooling(ctx); err != nil {
		return err
	}
	if err := d.open(); err != nil {
		return usage(err)
	}
	run := l.arenaRun
	if d.page, err = runner.OpenLivePage(run.web, env.Network, env.Log); err != nil {
		d.undo()
		return usage(err)
	}
	defer d.page.Close()
	if err := d.drive(ctx); err != nil {
		return err
	}
	d.page.Report(d.folder.Path(rundir.HTMLFile))
	linger(ctx, env.Cut, run.linger, env.Log)
	return d.judge()
}

// newArenaDriver checks the flags of every cell before the first run.
func newArenaDriver(line *commandLine, env runner.Environment) (*arenaDriver, error) {
	run, plan := line.arenaRun, line.arenaPlan
	if plan.dryRun && plan.resume != "" {
		return nil, errResumeDry
	}
	profile, err := plan.plan(run.Seed)
	if err != nil {
		return nil, err
	}
	for _, note := range profile.Notes {
		env.Log.Warn(note)
	}
	given, err := line.given()
	if err != nil {
		return nil, err
	}
	d := &arenaDriver{env: env, line: line, given: given, profile: profile, fresh: true, read: map[string][]cell.Row{}}
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
	d.result = arena.NewResult(profile.Cells)
	d.result.Arena, d.result.StartedAt, d.result.Seed = id, time.Now().UTC(), run.Seed
	d.result.Profile, d.result.Order, d.result.PrefixCaching = profile.Name, plan.order, profile.Caching
	d.result.Warmup, d.result.Cool, d.result.Flags = plan.warmup, plan.cool.text, line.flagValues(line.arena)
	return d, d.check()
}

// check parses the command line of every cell.
func (d *arenaDriver) check() error {
	for i, m := range d.result.Cells {
		line, err := d.cell(m, "cell", true)
		if err == nil && i == 0 {
			_, err = line.checkRun()
		}
		if err != nil {
			return fmt.Errorf("%s: %w", m.Cell, err)
		}
	}
	return nil
}

// cell returns the command line of a cell's run.
func (d *arenaDriver) cell(m arena.Measured, id string, warm bool) (*commandLine, error) {
	flags := append(d.line.arenaPlan.cellFlags(d.given, d.profile, m.Cell, warm),
		runner.Flag{Name: "label", Value: "arena=" + d.result.Arena},
		runner.Flag{Name: "seed", Value: strconv.FormatUint(runner.Over{Name: "arena"}.Seed(d.result.Seed, runner.OverValue{Text: m.Slug()}, 0), 10)},
		runner.Flag{Name: "out", Value: string(d.folder)}, runner.Flag{Name: "run-id", Value: id})
	line := newCommandLine(io.Discard)
	_, _, err := line.parse(append([]string{line.run.FullCommand()}, line.arguments(flags)...))
	line.settings.Target.FoundBy = d.line.arenaRun.Target.FoundBy
	return line, err
}

// open makes the folder, or opens that of the arena to go on with.
func (d *arenaDriver) open() error {
	if d.line.arenaPlan.resume != "" {
		return d.reopen()
	}
	var err error
	if d.folder, err = runner.MakeFolder(d.line.arenaRun.Out, d.result.Arena); err != nil {
		return err
	}
	if err := d.keep(); err != nil {
		d.undo()
		return runner.BadOut(err)
	}
	return nil
}

// drive measures the cells that have no run yet, and writes the result.
func (d *arenaDriver) drive(ctx context.Context) error {
	err := d.measureAll(ctx)
	ended := time.Now().UTC()
	d.result.EndedAt = &ended
	switch {
	case errors.Is(err, runner.ErrInterrupted):
		d.result.State, d.result.Reason = arena.Interrupted, err.Error()
	case err != nil:
		d.result.State, d.result.Reason = arena.Failed, printable(err.Error())
	default:
		d.result.State, d.result.Reason = arena.Complete, ""
	}
	if err != nil && d.fresh && d.measured() == 0 {
		d.undo()
		return err // nothing was measured, so the error and its exit code are those of the run
	}
	if err != nil {
		d.env.Log.Info("go on with the same flags and", "flag", "--resume="+d.result.Arena)
	}
	return errors.Join(err, d.keep(), d.present())
}

// measured returns how many cells have a run with figures.
func (d *arenaDriver) measured() int {
	return d.result.Count(arena.Valid) + d.result.Count(arena.Invalid)
}

func (d *arenaDriver) measureAll(ctx context.Context) error {
	for i := range d.result.Cells {
		m := &d.result.Cells[i]
		if m.Over() {
			continue
		}
		if ctx.Err() != nil || d.warm && !d.cool(ctx, *m) {
			return runner.ErrInterrupted
		}
		err := d.measure(ctx, m)
		d.report(*m)
		if err = errors.Join(err, d.keep()); err != nil {
			return err
		}
	}
	return nil
}

// measure makes the run of a cell. Its figures go to its own folder and not to the terminal. An error ends the arena.
func (d *arenaDriver) measure(ctx context.Context, m *arena.Measured) error {
	id, err := d.freeName(*m)
	if err != nil {
		return err
	}
	warmup := d.line.arenaPlan.warmup
	line, err := d.cell(*m, id, warmup == warmupEach || warmup == warmupFirst && !d.warm)
	if err != nil {
		return err
	}
	settings, err := line.checkRun()
	if err != nil {
		return err
	}
	env := quiet(d.env, settings.log, d.page)
	env.Series = d.series(*m)
	env.Log.Info("arena", "cell", m.String(), "number", m.Number, "of", len(d.result.Cells))
	made, err := makeRun(ctx, settings, env)
	switch {
	case errors.Is(err, workload.ErrDoesNotFit):
		m.Status, m.Problem = arena.DoesNotFit, printable(err.Error())
		return nil
	case errors.Is(err, runner.ErrInterrupted) || ctx.Err() != nil && err != nil:
		m.Status, m.Run = arena.CellInterrupted, made.Run
		return runner.ErrInterrupted
	case err != nil:
		m.Status, m.Run, m.Problem = arena.CellFailed, made.Run, printable(err.Error())
		return err
	}
	d.warm = true
	m.Run, m.Status, m.Problem, m.InvalidReasons = made.Run, arena.Valid, "", nil
	sum := made.Summary()
	if g := sum.SLO; g != nil {
		m.SLOMet = &g.Met
	}
	if !sum.Valid {
		m.Status = arena.Invalid
	}
	var gone error
	for _, reason := range sum.InvalidReasons {
		m.InvalidReasons = append(m.InvalidReasons, string(reason.Code))
		switch reason.Code {
		case summary.CodePromptLimit: // a server that does not report its context has refused the prompt
			m.Status, m.Problem = arena.DoesNotFit, printable(reason.Detail)
		case summary.CodeModelDropped:
			gone = errors.New("the server has gone: " + printable(reason.Detail))
		}
	}
	shown := runner.NewSeriesRun(m.String(), string(m.Status), sum)
	shown.PP, shown.TG = d.figures(*m)
	d.shown = append(d.shown, shown)
	return gone
}

// report shows that a cell has ended.
func (d *arenaDriver) report(m arena.Measured) {
	values := []any{"number", m.Number, "of", len(d.result.Cells), "cell", m.String(), "status", string(m.Status)}
	if len(m.InvalidReasons) > 0 {
		values = append(values, "why", strings.Join(m.InvalidReasons, ", "))
	}
	if m.Problem != "" {
		values = append(values, "problem", m.Problem)
	}
	pp, tg := d.figures(m)
	for _, of := range []struct {
		name string
		rate *float64
	}{{"pp", pp}, {"tg", tg}} {
		if of.rate != nil {
			values = append(values, of.name, format.Digits(*of.rate)+" t/s")
		}
	}
	d.env.Log.Info("cell", values...)
}

// series returns the arena before a cell.
func (d *arenaDriver) series(m arena.Measured) *runner.Series {
	var counts []string
	for _, status := range []arena.Status{arena.Valid, arena.Invalid, arena.DoesNotFit} {
		if n := d.result.Count(status); n > 0 {
			counts = append(counts, fmt.Sprintf("%d %s", n, strings.ReplaceAll(string(status), "_", " ")))
		}
	}
	return &runner.Series{
		Kind: runner.SeriesArena, Name: d.result.Arena, Number: m.Number, Of: len(d.result.Cells), Point: m.String(), EndsAt: d.endsAt(time.Now()),
		Results: strings.Join(counts, ", "), Runs: d.shown[max(0, len(d.shown)-runner.MostSeriesRuns):],
	}
}

// freeName returns the name of a cell's run. A folder of that name is of a run that was cut off: it is set aside.
func (d *arenaDriver) freeName(m arena.Measured) (string, error) {
	base := fmt.Sprintf("%s-%02d-%s", d.result.Arena, m.Number, m.Slug())
	exists := func(name string) bool {
		_, err := os.Stat(d.folder.Path(name))
		return err == nil
	}
	name := base
	for try := 2; exists(name) || exists(name+campaign.AbortedSuffix); try++ {
		if exists(name) {
			if err := campaign.SetAside(string(d.folder), name); err != nil {
				return "", err
			}
		}
		name = base + "-" + strconv.Itoa(try)
	}
	return name, nil
}

// keep writes the result so far.
func (d *arenaDriver) keep() error { return d.folder.WriteJSON(rundir.ArenaFile, d.result) }

// judge turns the results of the cells into an outcome.
func (d *arenaDriver) judge() error {
	missed, met := 0, 0
	for _, m := range d.result.Cells {
		switch {
		case m.SLOMet == nil:
		case *m.SLOMet:
			met++
		default:
			missed++
		}
	}
	file := filepath.Join(string(d.folder), rundir.ArenaFile)
	switch n := len(d.result.Cells); {
	case d.measured() == 0:
		return usage(fmt.Errorf("none of %d cells fits the server: see %s", n, file))
	case d.result.Count(arena.Invalid) > 0:
		return outcome{exitInvalid, fmt.Errorf("%d of %d cells are invalid: see %s", d.result.Count(arena.Invalid), n, file)}
	case missed > 0 && met == 0:
		return outcome{exitMissed, fmt.Errorf("no cell keeps --slo %s", d.line.arenaRun.SLO)}
	}
	return nil
}

// undo removes the folder of an arena that measured nothing.
func (d *arenaDriver) undo() {
	if d.fresh {
		_ = os.RemoveAll(string(d.folder))
	}
}
