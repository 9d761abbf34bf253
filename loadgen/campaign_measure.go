package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/render/comparison"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/summary"
)

// campaignRuns makes the runs of a campaign. Each run has its own command line, and its manifest records that line, so
// that it can be repeated.
type campaignRuns struct {
	env     runner.Environment
	page    *runner.LivePage
	planned *plan.Plan
	dir     string
	// invocation carries out the campaign.
	invocation *campaign.Invocation
}

// environment returns the environment of a run, with the results so far.
func (c *campaignRuns) environment(log terminal.Log, o campaign.Order) runner.Environment {
	env := quiet(c.env, log, c.page)
	env.Engine, env.Series = &o.Engine, c.results(rundir.KindCampaign, o.Slot.Number, c.slotName)
	compared, _, _, err := compareCampaign(c.planned, c.dir)
	if err != nil { // the arms have no runs yet, or conclude reports why they cannot be compared
		return env
	}
	for _, v := range comparison.Verdicts(compared) {
		env.Series.Verdicts = append(env.Series.Verdicts, strings.TrimPrefix(v.Where+": "+v.Text, ": "))
	}
	return env
}

// results returns the campaign before a run, with the results of the last slots that have ended.
func (c *campaignRuns) results(kind string, number int, name func(campaign.SlotFacts) string) *runner.Series {
	shown := &runner.Series{Kind: kind, Name: c.planned.Name, Number: number, Of: len(c.planned.Schedule()), Results: c.invocation.Outcome().Tally()}
	if left, known := c.invocation.Left(); known {
		shown.EndsAt = new(time.Now().Add(left))
	}
	for _, s := range c.invocation.Facts().Slots {
		if slices.Contains([]campaign.Status{campaign.Finished, campaign.Invalid, campaign.Failed, campaign.Skipped}, s.Status) {
			shown.Runs = append(shown.Runs, runner.NewSeriesRun(name(s), string(s.Status), c.invocation.Summary(s)))
		}
	}
	shown.Runs = shown.Runs[max(0, len(shown.Runs)-runner.MostSeriesRuns):]
	return shown
}

// slotName names a slot among the others of its plan.
func (c *campaignRuns) slotName(s campaign.SlotFacts) string {
	name := []string{fmt.Sprint(s.Number), s.Arm}
	if len(c.planned.Scenarios) > 1 {
		name = append(name, s.Scenario)
	}
	if len(c.planned.Models) > 1 {
		name = append(name, s.Model)
	}
	return strings.Join(name, " ")
}

// ofCampaign returns the flags that describe the campaign and not its runs.
func ofCampaign() []string {
	return []string{"out", "run-id", "telemetry", "scrape", "web.listen-address", "web.allow-host", "web.config.file", "web.linger", "progress", "rank", "world", "start-at"}
}

// measure makes one run.
func (c *campaignRuns) measure(ctx context.Context, o campaign.Order) campaign.Result {
	line, err := orderLine(o)
	if err != nil {
		return failed(ctx, err)
	}
	if o.Scenario.Record != nil {
		return c.record(ctx, line, o)
	}
	settings, err := line.checkRun()
	if err != nil {
		return failed(ctx, err)
	}
	_, result, _ := c.run(ctx, settings, c.environment(settings.log, o), o)
	return result
}

// run makes one run with its settings.
func (c *campaignRuns) run(ctx context.Context, s *settings, env runner.Environment, o campaign.Order) (made runner.Result, result campaign.Result, err error) {
	s.Target.Pinned, s.Capture.Secrets = o.Pinned, o.Cell.Secrets()
	made, err = makeRun(ctx, s, env)
	sum := made.Summary()
	result = resultOf(ctx, err, sum)
	if sum != nil {
		result.Served = sum.Model.ID
	}
	return made, result, err
}

// record makes one run whose load is a command.
func (c *campaignRuns) record(ctx context.Context, line *commandLine, o campaign.Order) campaign.Result {
	settings, err := line.checkRecord()
	if err != nil {
		return failed(ctx, err)
	}
	settings.Capture.Secrets = o.Cell.Secrets()
	env := c.environment(settings.log, o)
	made, err := makeRecording(ctx, settings, env)
	if err != nil { // an exit code of the command itself is not a verdict
		return failed(ctx, err)
	}
	return resultOf(ctx, nil, made.Summary())
}

// resultOf returns the result of a run that was measured. A missed SLO is a finding, not a failure.
func resultOf(ctx context.Context, err error, sum *summary.Summary) campaign.Result {
	switch {
	case err != nil:
		result := failed(ctx, err)
		result.Torn = sum != nil && sum.Valid
		return result
	case !sum.Valid:
		return campaign.Result{Status: campaign.Invalid, Problem: printable(judge(*sum).Error())}
	default:
		return campaign.Result{Status: campaign.Finished, Proven: provenBy(*sum)}
	}
}

// failed returns the result of a run that did not end as planned.
func failed(ctx context.Context, err error) campaign.Result {
	r := campaign.Result{Status: campaign.Failed, Problem: printable(strings.ReplaceAll(err.Error(), "\n", "; "))}
	if errors.Is(err, runner.ErrInterrupted) || ctx.Err() != nil {
		r.Status = campaign.Aborted
	}
	for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
		if errors.Is(err, full) {
			r.Full, r.Problem = true, printable(firstThat(err.Error(), full.Error()))
		}
	}
	return r
}

// firstThat returns the first line of text that contains says. When a disk is full, every file of a run adds such a
// line.
func firstThat(text, says string) string {
	for line := range strings.Lines(text) {
		if strings.Contains(line, says) {
			return strings.TrimSpace(line)
		}
	}
	return says
}

// provenBy returns the names of the signals that a run proves.
func provenBy(sum summary.Summary) []string {
	var names []string
	for name, signal := range signalsOf(sum.Signals) {
		if signal.Grade == evidence.Proven {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// signalsOf returns the signals by their names in summary.json.
func signalsOf(s evidence.Signals) map[string]evidence.Signal {
	return map[string]evidence.Signal{"ssd_offload": s.SSDOffload, "ssd_rehydrate": s.SSDRehydrate, "reuse": s.Reuse, "output_match": s.OutputMatch}
}

// orderLine returns the command line of a run.
func orderLine(o campaign.Order) (*commandLine, error) {
	line := newCommandLine(io.Discard)
	verb := line.run
	if o.Scenario.Record != nil {
		verb = line.record.verb
	}
	args := append([]string{verb.FullCommand()}, argumentsOf(verb, orderFlags(o, verb))...)
	if record := o.Scenario.Record; record != nil {
		args = append(append(args, "--"), record.Argv...)
	}
	if _, _, err := line.parse(args); err != nil {
		return nil, err
	}
	if o.Scenario.Record == nil {
		return line, line.settings.sharing.refuse()
	}
	return line, nil
}

// orderFlags returns the flags of a run. Of the flags that a plan gives to all runs, record takes only those that it
// has.
func orderFlags(o campaign.Order, verb *kingpin.CmdClause) []plan.Flag {
	given := maps.Clone(o.Cell.Flags)
	own := o.Scenario.Run
	if record := o.Scenario.Record; record != nil {
		maps.DeleteFunc(given, func(name, _ string) bool { return verb.GetFlag(name) == nil })
		own = map[string]string{"extract": record.Extract}
		maps.Copy(own, record.Flags)
	}
	if given == nil {
		given = map[string]string{}
	}
	maps.Copy(given, own)
	var flags []plan.Flag
	add := func(name string, values ...string) {
		for _, value := range values {
			flags = append(flags, plan.Flag{Name: name, Value: value})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if name != "label" {
			add(name, valuesOf(verb, name, given[name])...)
		}
	}
	add("label", orderLabels(o.Labels, plan.Lines(given["label"]))...)
	add("telemetry", o.Cell.Telemetry...)
	add("scrape", o.Cell.Scrape...)
	add("out", o.Dir)
	add("run-id", o.Run)
	return flags
}

// valuesOf returns the values of a flag in a plan, which has a line for each if the flag may be repeated.
func valuesOf(verb *kingpin.CmdClause, name, text string) []string {
	if clause := verb.GetFlag(name); clause != nil {
		if repeated, ok := clause.Model().Value.(interface{ IsCumulative() bool }); !ok || !repeated.IsCumulative() {
			return []string{strings.TrimSuffix(text, "\n")}
		}
	}
	return plan.Lines(text)
}

// orderLabels returns labels in the form of flags. The campaign's labels come first.
func orderLabels(own map[string]string, given []string) []string {
	var all []string
	for _, one := range given {
		if name, _, _ := strings.Cut(one, "="); one != "" && own[name] == "" {
			all = append(all, one)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(own)) {
		if own[name] != "" {
			all = append(all, name+"="+own[name])
		}
	}
	return all
}

// argumentsOf returns flags as arguments of a verb's command line.
func argumentsOf(verb *kingpin.CmdClause, flags []plan.Flag) []string {
	var args []string
	for _, f := range flags {
		switch clause := verb.GetFlag(f.Name); {
		case clause == nil || !clause.Model().IsBoolFlag():
			args = append(args, "--"+f.Name+"="+f.Value)
		case f.Value == "true":
			args = append(args, "--"+f.Name)
		default:
			args = append(args, "--no-"+f.Name)
		}
	}
	return args
}

// checkOrders checks the command lines of a plan before its first run.
func checkOrders(planned *plan.Plan, slots []plan.Slot) error {
	seen := map[[3]string]bool{}
	for _, slot := range slots {
		key := [3]string{slot.Model, slot.Arm, slot.Scenario}
		if seen[key] {
			continue
		}
		seen[key] = true
		cell, err := planned.Render(slot.Model, slot.Arm, map[string]string{plan.ValueFolder: plan.ValueFolder})
		if err != nil {
			return err
		}
		scenario, _ := cell.Scenario(slot.Scenario)
		err = checkOrder(campaign.Order{Slot: slot, Run: "check", Dir: "runs", Cell: cell, Scenario: scenario, Labels: cell.Arm.Labels})
		if err != nil {
			return fmt.Errorf("arm %s, model %s, scenario %s: %w", slot.Arm, slot.Model, slot.Scenario, err)
		}
	}
	return nil
}

func checkOrder(o campaign.Order) error {
	line, err := orderLine(o)
	if err != nil {
		return err
	}
	if o.Scenario.Record != nil {
		_, err = line.checkRecord()
		return err
	}
	_, err = line.checkRun()
	return err
}

// flagNames returns the names of a verb's flags.
func flagNames(verb *kingpin.CmdClause) []string {
	var names []string
	for _, f := range verb.Model().Flags {
		names = append(names, f.Name)
	}
	return names
}

// checkNames checks the names in a plan that it takes from other packages: flags, signals, extractors and metrics.
func checkNames(planned *plan.Plan) error {
	line := newCommandLine(io.Discard)
	known := plan.Known{
		RunFlags: flagNames(line.run), RecordFlags: flagNames(line.record.verb), Own: ofCampaign(),
		Signals: slices.Sorted(maps.Keys(signalsOf(evidence.Signals{}))), Extractors: extractorNames(), Metric: checkMetric, Margin: checkMargin,
	}
	return planned.CheckNames(known)
}

// extractorNames returns the names of all extractors that read logs of commands.
func extractorNames() []string {
	var names []string
	for _, tool := range enginelog.Tools(supported.Engines()) {
		names = append(names, tool.Name)
	}
	return names
}
