package loadgen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/umascope/umascope/loadgen/arena"
	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/cell"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/sweep"
	"github.com/umascope/umascope/loadgen/workload"
)

// arenaDriver makes the runs of an arena.
type arenaDriver struct {
	*series
	flags   *arenaSettings
	profile arena.Profile
	// warm is true if the server has had a cell from this invocation.
	warm bool
	rows map[string][]cell.Row // of runs that have ended, by name
}

// measureArena carries out the verb arena.
func (l *commandLine) measureArena(ctx context.Context, env runner.Environment) error {
	d, err := newArenaDriver(l, env)
	if err != nil {
		return usage(err)
	}
	if d.flags.dryRun {
		return d.dryRun(ctx)
	}
	if err := checkExports(d.flags.exports); err != nil {
		return usage(err)
	}
	if err := d.checkCooling(ctx); err != nil {
		return err
	}
	if err := d.carryOut(ctx, d.present); err != nil {
		return err
	}
	return d.exitCode()
}

// newArenaDriver checks the flags of every cell before the first run.
func newArenaDriver(line *commandLine, env runner.Environment) (*arenaDriver, error) {
	run, flags := line.arenaRun, line.arenaPlan
	if flags.dryRun && flags.resume != "" {
		return nil, errResumeDry
	}
	profile, err := flags.plan(run.Seed)
	if err != nil {
		return nil, err
	}
	for _, note := range profile.Notes {
		env.Log.Warn(note)
	}
	d := &arenaDriver{flags: flags, profile: profile, rows: map[string][]cell.Row{}}
	if d.series, err = newSeries(rundir.KindArena, line, line.arena, run, env, flags.resume); err != nil {
		return nil, err
	}
	d.planner = d
	return d, d.read()
}

// scenarioName returns the name of a cell's scenario, which begins with its number.
func scenarioName(i int, c arena.Cell) string { return fmt.Sprintf("%02d-%s", i+1, c.Slug()) }

// cell returns the cell of a scenario.
func (d *arenaDriver) cell(scenario string) (c arena.Cell) {
	for i, one := range d.profile.Cells {
		if scenarioName(i, one) == scenario {
			return one
		}
	}
	return c
}

func (d *arenaDriver) own() []string { return ofArena() }

func (d *arenaDriver) point(s plan.Scenario) string { return d.cell(s.Name).String() }

// prepare leaves the warm-up out where --warmup asks for it.
func (d *arenaDriver) prepare(o *campaign.Order) {
	if d.flags.warmup == warmupNone || d.flags.warmup == warmupFirst && d.warm {
		o.Scenario.Run["warmup"] = "0"
	}
}

func (d *arenaDriver) complete(*settings) {}

func (d *arenaDriver) plan(given []plan.Flag) (plan.Single, error) {
	single := plan.Single{Name: d.id, Arm: d.arm(), Values: d.values(), Flags: given, Cooldown: d.flags.cool.pause, GPUCelsius: d.flags.cool.celsius}
	for i, c := range d.profile.Cells {
		flags := append(d.flags.cellFlags(given, d.profile, c),
			plan.Flag{Name: "label", Value: "arena=" + d.id},
			plan.Flag{Name: "seed", Value: strconv.FormatUint(sweep.Over{Name: "arena"}.Seed(d.runs.Seed, sweep.Value{Text: c.Slug()}, 0), 10)})
		single.Scenarios = append(single.Scenarios, plan.Scenario{Name: scenarioName(i, c), Run: plan.Differing(flags, given)})
	}
	return single, nil
}

// next returns the next cell, unless the last one failed.
func (d *arenaDriver) next(made []campaign.SlotFacts) campaign.Choice {
	n := len(made)
	switch {
	case n > 0 && made[n-1].Status == campaign.Failed:
		return campaign.Choice{State: campaign.Broken, Reason: made[n-1].Problem}
	case n == len(d.planned.Scenarios):
		return campaign.Choice{State: campaign.Complete}
	}
	return campaign.Choice{Scenario: &d.planned.Scenarios[n]}
}

// result returns the result of a cell. A cell that does not fit the context of the server is skipped. If the server has
// gone, the cell gets another run after a resume.
func (d *arenaDriver) result(o campaign.Order, r campaign.Result, err error, sum *summary.Summary) campaign.Result {
	if errors.Is(err, workload.ErrDoesNotFit) {
		_ = os.RemoveAll(filepath.Join(o.Dir, o.Run)) // it has no request
		return campaign.Result{Status: campaign.Skipped, Problem: printable(err.Error())}
	}
	if err != nil {
		return r
	}
	d.warm = true
	for _, reason := range sum.InvalidReasons {
		switch reason.Code {
		case summary.CodePromptLimit: // a server that does not report its context has refused the prompt
			r.Status, r.Problem = campaign.Skipped, "does not fit: "+printable(reason.Detail)
		case summary.CodeModelDropped:
			r.Status, r.Problem = campaign.Failed, "the server has gone: "+printable(reason.Detail)
		}
	}
	values := []any{"cell", d.point(o.Scenario), "status", string(r.Status)}
	pp, tg := d.rates(o.Run)
	for _, of := range []struct {
		name string
		rate *float64
	}{{"pp", pp}, {"tg", tg}} {
		if of.rate != nil {
			values = append(values, of.name, format.Digits(*of.rate)+" t/s")
		}
	}
	d.env.Log.Info("cell", values...)
	return r
}

// checkCooling refuses to wait for a temperature that no exporter shows.
func (d *arenaDriver) checkCooling(ctx context.Context) error {
	if d.flags.cool.celsius == 0 {
		return nil
	}
	of, err := d.planned.Render(plan.SingleModel, d.arm(), nil)
	if err != nil {
		return err
	}
	now := machineSense{exporter: d.env.Exporter, proc: "/proc"}.ask(ctx, of)
	if ctx.Err() != nil {
		return runner.ErrInterrupted
	}
	if now.Celsius == nil {
		return usage(errors.New("--cool: no exporter shows the temperature of a GPU (--telemetry names one); a time such as 30s needs none"))
	}
	return nil
}

// exitCode turns the results of the cells into an outcome.
func (d *arenaDriver) exitCode() error {
	missed, met := 0, 0
	for _, s := range d.invocation.Facts().Slots {
		sum := d.invocation.Summary(s)
		switch {
		case sum == nil || sum.SLO == nil || s.Status != campaign.Finished && s.Status != campaign.Invalid:
		case sum.SLO.Met:
			met++
		default:
			missed++
		}
	}
	file, n, counts := filepath.Join(d.dir, campaign.TableFile), len(d.profile.Cells), d.invocation.Outcome().Counts
	switch {
	case d.measured() == 0:
		return usage(fmt.Errorf("none of %d cells fits the server: see %s", n, file))
	case counts[campaign.Invalid] > 0:
		return outcome{exitInvalid, fmt.Errorf("%d of %d cells are invalid: see %s", counts[campaign.Invalid], n, file)}
	case missed > 0 && met == 0:
		return outcome{exitMissed, fmt.Errorf("no cell keeps --slo %s", d.runs.SLO)}
	}
	return nil
}

// show adds the rates of the cells and the estimated end.
func (d *arenaDriver) show(shown *runner.Series) {
	shown.EndsAt = d.endsAt()
	slots := d.invocation.Facts().Slots
	for i := range shown.Runs { // cells end in their order, and the last ones are shown
		of := slots[shown.Number-1-len(shown.Runs)+i]
		shown.Runs[i].PP, shown.Runs[i].TG = d.rates(of.Last())
	}
}

// notMeasured returns a line for each cell without a valid run.
func (d *arenaDriver) notMeasured() []string {
	var lines []string
	for _, s := range d.invocation.Facts().Slots {
		if s.Status != campaign.Finished {
			line := d.pointOf(s.Number) + ": " + string(s.Status)
			lines = append(lines, strings.TrimSuffix(line+": "+s.Problem, ": "))
		}
	}
	return lines
}
