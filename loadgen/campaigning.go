package loadgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/arm"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/command"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/live"
	"github.com/umascope/umascope/loadgen/option"
	"github.com/umascope/umascope/loadgen/storage"
)

const campaignHelp = `Make the runs of a plan, in an order that time cannot explain.

  uma-load campaign plans native-container > plan.yaml
  uma-load campaign run plan.yaml --dry-run
  uma-load campaign run plan.yaml --detach
  uma-load campaign status
  uma-load campaign stop --after-run

A plan says which arms there are (their processes, files and labels), which models and scenarios, how often and in which order.

The folder of the campaign, OUT/NAME, has the plan as it was, journal.jsonl with all that happened, a folder for each run, and the logs of the arms. After a crash, a kill or a reboot the same campaign run goes on where it ended; the run that was cut off is made again in its slot.`

const campaignRunHelp = `Make the runs of a plan that are missing.

  uma-load campaign run plan.yaml --dry-run
  uma-load campaign run plan.yaml
  uma-load campaign run plan.yaml --only model=llama8b,arm=native --iterations 2
  uma-load campaign run plan.yaml --detach \
      --notify-url ntfy+https://ntfy.sh/my-topic

An interrupt ends the run that is made, with its folder complete and its arm down; a second one cuts it off. The same command goes on later.

Exit codes: 0 if every slot has a valid run; 1 if the campaign was stopped or could not go on; 2 if the plan, the machine or the folder cannot be used; 3 if it is complete, with slots that have no valid run.`

// campaignVerbs are the sub-commands of campaign.
func campaignVerbs(app *kingpin.Application) []verb {
	clause := app.Command("campaign", campaignHelp)
	return []verb{
		campaignRunVerb(clause), campaignStatusVerb(clause), campaignStopVerb(clause), campaignInstallVerb(clause), campaignPlansVerb(clause), powerVerb(clause),
	}
}

// campaignLine is the verb campaign run on the command line.
type campaignLine struct {
	planFile, out  string
	only           plan.Filter
	onlyText       []string
	iterations     int
	dryRun, detach bool
	retry, changed bool
	notify         string
	web            live.Address
	linger         time.Duration
	logLevel       string

	planned  *plan.Plan
	text     []byte
	sha      string
	notifier campaign.Notifier
}

func campaignRunVerb(campaignClause *kingpin.CmdClause) verb {
	l := &campaignLine{}
	clause := campaignClause.Command("run", campaignRunHelp)
	planFlags(clause, l)
	clause.Flag("dry-run", "Print the runs in their order, how long they take, what they need, and which gates cannot open; start nothing.").BoolVar(&l.dryRun)
	clause.Flag("detach", "Go on in the background, in a session of its own, with "+campaign.LogFile+" in the folder of the campaign for what it says.").BoolVar(&l.detach)
	clause.Flag("retry", "Make runs again in slots that are over without a valid one.").BoolVar(&l.retry)
	clause.Flag("plan-changed", "Go on although the plan is not the one that the campaign began with. Slots that have runs must be the same in both.").BoolVar(&l.changed)
	webFlags(clause, &l.web)
	option.Flag(clause, "web.linger", "How long the live metrics stay after the last run.", "0s", &l.linger, option.Duration)
	option.Flag(clause, "log-level", "Least severe messages to print: debug, info, warn or error.", "info", &l.logLevel, option.OneOf("debug", "info", "warn", "error"))
	return verb{clause, func(ctx context.Context, p Program) error { return p.campaign(ctx, l) }}
}

// planFlags are the flags that say which runs of which plan.
func planFlags(clause *kingpin.CmdClause, l *campaignLine) {
	clause.Arg("plan", "Plan file.").Required().StringVar(&l.planFile)
	option.Flag(clause, "out", "Folder of campaign folders; this one's is called like the plan.", "runs", &l.out, option.Text)
	option.Flags(clause, "only", "Make only the runs of model=NAME, arm=NAME or scenario=NAME; several with commas between.", &l.onlyText, option.Text, option.AsGiven).PlaceHolder("model=NAME,arm=NAME")
	option.Flag(clause, "iterations", "Make only so many runs of each model, arm and scenario.", "", &l.iterations, option.AtLeast(1)).PlaceHolder("N")
	option.Flag(clause, "notify-url", "Tell somebody when the campaign ends, stops or stalls: an address that takes JSON, or one of ntfy or Slack (ntfy+https://..., slack+https://...). "+command.NotifyVariable+" may have it instead, which keeps it out of the list of processes.", "", &l.notify, option.Text).
		Envar(command.NotifyVariable).PlaceHolder("URL")
}

// read reads the plan and checks everything about it that can be checked without the machine.
func (l *campaignLine) read() error {
	var err error
	if l.planned, err = plan.Read(l.planFile); err != nil {
		return err
	}
	if l.text, err = os.ReadFile(l.planFile); err != nil {
		return err
	}
	l.sha = planSum(l.text, l.planned)
	if err := checkNames(l.planned); err != nil {
		return err
	}
	if l.only, err = plan.ParseOnly(strings.Join(l.onlyText, ",")); len(l.onlyText) > 0 && err != nil {
		return fmt.Errorf("--only: %w", err)
	} else if len(l.onlyText) == 0 {
		l.only = plan.Filter{}
	}
	if l.iterations > l.planned.Iterations {
		return fmt.Errorf("--iterations: the plan has %d of them: with %d, slots would change their numbers", l.planned.Iterations, l.iterations)
	}
	l.only.Iterations = l.iterations
	slots, err := l.planned.Select(l.only)
	if err != nil {
		return fmt.Errorf("--only: %w", err)
	}
	if l.notifier, err = campaign.NewNotifier(l.notify); err != nil {
		return fmt.Errorf("--notify-url: %w", err)
	}
	if err := checkOrders(l.planned, slots); err != nil {
		return fmt.Errorf("%s: %w", l.planFile, err)
	}
	return nil
}

// dir is the folder of the campaign.
func (l *campaignLine) dir() (string, error) {
	if !option.PlainName(l.planned.Name) {
		return "", fmt.Errorf("%s: name: %q: want letters, digits, . _ and -, not beginning with a dot, at most 128", l.planFile, l.planned.Name)
	}
	return filepath.Abs(filepath.Join(l.out, l.planned.Name))
}

// campaign runs the verb campaign run.
func (p Program) campaign(ctx context.Context, l *campaignLine) error {
	if err := l.read(); err != nil {
		return usage(err)
	}
	dir, err := l.dir()
	if err != nil {
		return usage(err)
	}
	if l.dryRun {
		return p.dryRun(ctx, l, dir)
	}
	log := newLogger(p.Stderr, l.logLevel)
	if err := l.checkMachine(ctx, dir); err != nil {
		return usage(err)
	}
	c := &campaign.Campaign{
		Plan: l.planned, Text: l.text, SHA256: l.sha, Only: l.only, Dir: dir, Retry: l.retry, Changed: l.changed, Log: log, Notify: l.notifier,
	}
	if l.detach {
		return p.detach(ctx, l, c)
	}
	page, err := live.OpenPage(l.web, log)
	if err != nil {
		return usage(err)
	}
	defer page.Close()
	c.Hands = p.hands(page, log)
	invocation, err := c.Open()
	if err != nil {
		return usage(err)
	}
	defer invocation.Close()
	fmt.Fprintf(p.Stdout, "campaign %s: %d slots, %d already ended\nfolder: %s%c\n", l.planned.Name, invocation.Slots(), invocation.Resumed(), dir, os.PathSeparator)
	log.Info("campaign", "name", l.planned.Name, "live", page.URL(), "notifies", cmp.Or(l.notifier.String(), "none"))
	outcome, err := invocation.Run(ctx)
	err = p.conclude(l, dir, outcome, err)
	linger(ctx, p.Cut, l.linger, log)
	return err
}

// conclude prints what the runs say, and turns what the campaign came to into an exit code.
func (p Program) conclude(l *campaignLine, dir string, o campaign.Outcome, err error) error {
	fmt.Fprintf(p.Stdout, "\ncampaign %s\n", printable(o.String()))
	if compared := p.compareArms(l, dir); compared != nil {
		fmt.Fprintln(p.Stderr, "uma-load: the arms are not compared:", printable(compared.Error()))
	}
	switch {
	case err != nil:
		return err
	case o.State != campaign.Complete:
		return fmt.Errorf("campaign %s; campaign run goes on where it ended", o)
	case !o.Sound():
		return outcome{exitInvalid, fmt.Errorf("campaign %s: campaign status %s says why", o, dir)}
	default:
		return nil
	}
}

// hands are what the campaign does its work with.
func (p Program) hands(page *live.Page, log *slog.Logger) campaign.Hands {
	runs := &campaignRuns{program: p, page: page}
	sense := machineSense{exporter: p.Exporter, proc: "/proc"}
	return campaign.Hands{
		Name:    func(s plan.Slot) string { return folder.NewID(time.Now(), fmt.Sprintf("%03d-%s", s.Number, s.Arm)) },
		Measure: runs.measure, Machine: sense.ask, Command: runCommand, PageCache: treatPageCache, Boot: thisMachine().BootID,
		Up: func(ctx context.Context, spec plan.Arm, dir string) (campaign.Engine, error) {
			return p.raiseArm(ctx, spec, dir, log)
		},
		Leftovers: func(ctx context.Context, spec plan.Arm, dir string) ([]string, error) {
			left, err := arm.Leftovers(ctx, spec, dir)
			var names []string
			for _, one := range left {
				names = append(names, printable(one.String()))
			}
			return names, err
		},
		Down: func(ctx context.Context, spec plan.Arm, dir string) error { return arm.Down(ctx, spec, dir, log) },
	}
}

// raiseArm brings an arm up. Of one that does not come up, the ends of its logs are printed.
func (p Program) raiseArm(ctx context.Context, spec plan.Arm, dir string, log *slog.Logger) (campaign.Engine, error) {
	running, err := arm.Up(ctx, spec, dir, log)
	if failure := (*arm.Failure)(nil); errors.As(err, &failure) {
		_ = failure.Write(p.Stderr) // they are in the logs too
	}
	if err != nil {
		return campaign.Engine{}, err
	}
	engine := campaign.Engine{Lost: running.Context(), Down: running.Down}
	state := running.State()
	for _, f := range state.Files {
		engine.Files = append(engine.Files, folder.ArmFile{Path: f.Path, SHA256: f.SHA256})
	}
	for _, one := range state.Processes {
		engine.Members = append(engine.Members, folder.ArmMember{Name: one.Name, Program: one.Program, Options: one.Options, Container: one.Container, Host: one.Host})
		engine.Logs = append(engine.Logs, campaign.Log{Process: one.Name, Path: one.Log, From: one.LogFrom})
	}
	return engine, nil
}

// cells are the arms with models that are selected, with their texts filled in.
func (l *campaignLine) cells(dir string, only plan.Filter) ([]*plan.Cell, error) {
	slots, err := l.planned.Select(only)
	if err != nil {
		return nil, err
	}
	var all []*plan.Cell
	seen := map[[2]string]bool{}
	for _, s := range slots {
		key := [2]string{s.Model, s.Arm}
		if seen[key] {
			continue
		}
		seen[key] = true
		cell, err := l.planned.Render(s.Model, s.Arm, map[string]string{plan.ValueFolder: campaign.ArmFolder(dir, s.Model, s.Arm)})
		if err != nil {
			return nil, err
		}
		all = append(all, cell)
	}
	return all, nil
}

// dryRun prints what a campaign would take.
func (p Program) dryRun(ctx context.Context, l *campaignLine, dir string) error {
	slots, err := l.planned.Select(l.only)
	if err != nil {
		return usage(err)
	}
	facts := plan.Facts{MemTotalBytes: memTotal()}
	if found, err := storage.Of(existing(dir)); err == nil {
		facts.FreeBytes = found.FreeBytes
	}
	if look, err := campaign.LookAt(dir); err == nil {
		facts.Measured, facts.BytesOfRun = look.Measured, look.BytesOfRun(dir)
		all := len(slots)
		slots = slices.DeleteFunc(slots, func(s plan.Slot) bool { return look.Over(s, l.planned.OnInvalid.Repeat) })
		fmt.Fprintf(p.Stdout, "%d of %d slots are over; these are left\n", all-len(slots), all)
	}
	estimate, err := l.planned.Estimate(slots, facts)
	if err != nil {
		return usage(err)
	}
	if err := estimate.Write(p.Stdout); err != nil {
		return err
	}
	return p.printObstacles(ctx, l, dir)
}
