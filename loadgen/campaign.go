package loadgen

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/arm"
	"github.com/umascope/umascope/loadgen/campaign/plan"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
)

const campaignHelp = `Make the runs of a plan, arms interleaved so that drift cancels.

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

Where systemd delegates a cgroup, each arm gets one of its own, so that exporters show its memory and I/O like a container's: in the unit of campaign install, or in a scope in which campaign run restarts itself (systemd-run --scope -p Delegate=yes; --user unless root). Elsewhere the processes of an arm are process groups. All runs of a campaign are placed alike.

Exit codes: 0 if every slot has a valid run; 1 if the campaign was stopped or could not go on; 2 if the plan, the machine or the folder cannot be used; 3 if it is complete, with slots that have no valid run.`

// campaignVerbs are the sub-commands of campaign.
func campaignVerbs(app *kingpin.Application) []verb {
	clause := app.Command("campaign", campaignHelp)
	return []verb{
		campaignRunVerb(clause), campaignStatusVerb(clause), campaignStopVerb(clause), campaignInstallVerb(clause), campaignPlansVerb(clause), powerVerb(clause),
	}
}

// campaignLine holds the flags of campaign run.
type campaignLine struct {
	planLine
	dryRun, detach bool
	retry, changed bool
	repeatOutliers bool
	web            runner.ListenAddress
	linger         time.Duration
	log            terminal.Log
	progress       runner.ProgressFormat
}

func campaignRunVerb(campaignClause *kingpin.CmdClause) verb {
	l := &campaignLine{}
	clause := campaignClause.Command("run", campaignRunHelp)
	planFlags(clause, &l.planLine)
	clause.Flag("dry-run", "Print the runs in their order, how long they take, what they need, and the preflight; start nothing.").BoolVar(&l.dryRun)
	clause.Flag("detach", "Go on in the background, in a session of its own, with "+campaign.LogFile+" in the folder of the campaign for what it says.").BoolVar(&l.detach)
	clause.Flag("retry", "Make runs again in slots that are over without a valid one.").BoolVar(&l.retry)
	clause.Flag("plan-changed", "Go on with a plan that has changed; a slot whose run would differ is refused.").BoolVar(&l.changed)
	clause.Flag("repeat-outliers", "Repeat, as new rounds, rounds with a run more than 5 % from the median of its arm; no run is replaced.").BoolVar(&l.repeatOutliers)
	webFlags(clause, &l.web)
	terminal.Flag(clause, "web.linger", "How long the page and the metrics stay after the last run; the page is the comparison then.", "0s", &l.linger, terminal.Duration)
	progressFlag(clause, &l.progress)
	l.log.Flags(clause, defaultLogLevel)
	return verb{clause, func(ctx context.Context, p Program) error { return l.run(ctx, p) }}
}

// run carries out campaign run.
func (l *campaignLine) run(ctx context.Context, p Program) error {
	env := p.environment(l.log, l.progress)
	if err := l.read(); err != nil {
		return usage(err)
	}
	dir, err := l.dir()
	if err != nil {
		return usage(err)
	}
	if l.repeatOutliers && l.planned.Order == plan.Sequential {
		return usage(errors.New("--repeat-outliers: the order sequential has no rounds that could be repeated with every arm"))
	}
	if l.dryRun {
		return l.printEstimate(ctx, env, dir)
	}
	log := env.Log
	arms := arm.Options{Guardian: p.guardian(), Log: log}
	if !l.detach { // the process in the background places its arms
		arms.Cgroups = placeArms(ctx, dir, p.Executable, log)
	}
	checked, err := l.checkMachine(ctx, dir, machineSense{exporter: env.Exporter, proc: "/proc"})
	if err != nil {
		return usage(err)
	}
	if err := checked.Refuse(env.Stderr); err != nil {
		return usage(err)
	}
	checked.LogWaits(log)
	c := &campaign.Campaign{
		Kind: rundir.KindCampaign, Plan: l.planned, Text: l.text, SHA256: l.sha, Only: l.only, Dir: dir, Changed: l.changed, Log: log, Notify: l.notifier,
		RepeatOutliers: l.repeatOutliers || l.planned.RepeatOutliers, Decides: decidesOf(l.planned), Compared: wasCompared(dir),
	}
	if l.retry {
		c.Retry = []campaign.Status{campaign.Invalid, campaign.Failed, campaign.Skipped}
	}
	if l.detach {
		return l.startDetached(ctx, env.Stdout, c)
	}
	c.Placement = arms.Cgroups.Placement()
	page, err := runner.OpenLivePage(l.web, env.Network, log)
	if err != nil {
		return usage(err)
	}
	defer page.Close()
	runs := &campaignRuns{env: env, page: page, planned: l.planned, dir: dir}
	c.Operations = operations(runs, arms)
	c.Operations.Outliers = func() ([]campaign.Outlier, error) { return outliersOf(l.planned, dir) }
	invocation, err := c.Open()
	if err != nil {
		return usage(err)
	}
	defer invocation.Close()
	runs.invocation = invocation
	fmt.Fprintf(env.Stdout, "campaign %s: %d slots, %d already ended\nfolder: %s%c\n", l.planned.Name, invocation.Slots(), invocation.Resumed(), dir, os.PathSeparator)
	printDecides(env.Stdout, c.Decides)
	log.Info("campaign", "name", l.planned.Name, "live", page.URL(), "notifies", cmp.Or(l.notifier.String(), "none"))
	outcome, err := invocation.Run(ctx)
	err = l.conclude(env.Stdout, env.Stderr, dir, outcome, err)
	if comparison := filepath.Join(dir, comparisonPageFile); wasCompared(dir) {
		page.Report(comparison)
	}
	linger(ctx, env.Cut, l.linger, log)
	return err
}

// conclude prints the findings of the runs and turns the campaign's outcome into an exit code.
func (l *campaignLine) conclude(stdout, stderr io.Writer, dir string, o campaign.Outcome, err error) error {
	fmt.Fprintf(stdout, "\ncampaign %s\n", printable(o.String()))
	if compared := compareArms(stdout, l.planned, dir); compared != nil {
		fmt.Fprintln(stderr, "uma-load: the arms are not compared:", printable(compared.Error()))
	}
	switch {
	case err != nil:
		return err
	case o.State != campaign.Complete:
		return fmt.Errorf("campaign %s; campaign run goes on where it ended", o)
	case !o.Sound():
		return outcome{exitInvalid, fmt.Errorf("campaign %s: campaign status %s shows why", o, dir)}
	default:
		return nil
	}
}

// operations returns the functions that do the campaign's work. arms are its means to start arms.
func operations(runs *campaignRuns, arms arm.Options) campaign.Operations {
	sense := machineSense{exporter: runs.env.Exporter, proc: "/proc"}
	return campaign.Operations{
		Name:    func(s plan.Slot) string { return rundir.NewID(time.Now(), fmt.Sprintf("%03d-%s", s.Number, s.Arm)) },
		Measure: runs.measure, Machine: sense.ask, Command: runCommand, PageCache: treatPageCache, Boot: runner.ThisMachine().BootID,
		Up: func(ctx context.Context, spec plan.Arm, dir string) (campaign.Engine, error) {
			return raiseArm(ctx, spec, dir, arms, runs.env.Stderr)
		},
		Leftovers: func(ctx context.Context, spec plan.Arm, dir string) ([]string, error) {
			left, err := arm.Leftovers(ctx, spec, dir)
			var names []string
			for _, one := range left {
				names = append(names, printable(one.String()))
			}
			return names, err
		},
		Down: func(ctx context.Context, spec plan.Arm, dir string) error { return arm.Down(ctx, spec, dir, arms.Log) },
	}
}

// raiseArm starts an arm. It prints the ends of the arm's logs if the arm does not start.
func raiseArm(ctx context.Context, spec plan.Arm, dir string, o arm.Options, stderr io.Writer) (campaign.Engine, error) {
	running, err := arm.Up(ctx, spec, dir, o)
	if failure := (*arm.Failure)(nil); errors.As(err, &failure) {
		var ends strings.Builder // a detached campaign keeps what it prints
		_ = failure.Write(&ends)
		fmt.Fprint(stderr, openai.NewRedactor(spec.Secrets()).Text(ends.String()))
	}
	if err != nil {
		return campaign.Engine{}, err
	}
	return campaign.Engine{State: running.State(), Lost: running.Context(), Down: running.Down, Images: running.Images(ctx)}, nil
}

// printEstimate prints the time that a campaign would take.
func (l *campaignLine) printEstimate(ctx context.Context, env runner.Environment, dir string) error {
	stdout := env.Stdout
	slots, err := l.planned.Select(l.only)
	if err != nil {
		return usage(err)
	}
	facts := plan.Facts{MemTotalBytes: memTotal()}
	if found, err := runner.StorageOf(existing(dir)); err == nil {
		facts.FreeBytes = found.FreeBytes
	}
	if look, err := campaign.LookAt(dir); err == nil {
		facts.Measured, facts.BytesOfRun = look.Measured, look.BytesOfRun(dir)
		all := len(slots)
		slots = slices.DeleteFunc(slots, func(s plan.Slot) bool { return look.Over(s, l.planned.OnInvalid.Repeat) })
		fmt.Fprintf(stdout, "%d of %d slots are over; these are left\n", all-len(slots), all)
	}
	estimate, err := l.planned.Estimate(slots, facts)
	if err != nil {
		return usage(err)
	}
	if err := campaign.WriteEstimate(stdout, estimate); err != nil {
		return err
	}
	printDecides(stdout, decidesOf(l.planned))
	checked, err := l.checkMachine(ctx, dir, machineSense{exporter: env.Exporter, proc: "/proc"})
	if err != nil {
		return usage(err)
	}
	fmt.Fprintln(stdout)
	return checked.Print(stdout)
}
