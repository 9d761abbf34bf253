package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/runner"
)

// campaignFolder returns the folder that was named, or else the campaign in the folder of runs that was written to
// last. Copies are not considered: the folder of a campaign is called like its plan.
func campaignFolder(named, out string) (string, error) {
	if named != "" {
		return named, nil
	}
	found, _ := os.ReadDir(out) // a folder that cannot be read has no campaign
	newest, when := "", time.Time{}
	for _, entry := range found {
		dir := filepath.Join(out, entry.Name())
		if info, err := os.Stat(filepath.Join(dir, campaign.JournalFile)); err == nil && info.ModTime().After(when) && !isCopy(dir) {
			newest, when = dir, info.ModTime()
		}
	}
	if newest == "" {
		return "", fmt.Errorf("no campaign is below %s: name its folder", out)
	}
	return newest, nil
}

// isCopy reports whether the folder of a campaign is not called like its plan, and another beside it is.
func isCopy(dir string) bool {
	facts, err := campaign.ReadFacts(dir)
	if err != nil || facts.Campaign == filepath.Base(dir) {
		return false
	}
	original, err := campaign.ReadFacts(filepath.Join(filepath.Dir(dir), facts.Campaign))
	return err == nil && original.StartedAt.Equal(facts.StartedAt)
}

// folderFlags declares the flags that select a campaign.
func folderFlags(clause *kingpin.CmdClause) (dir, out *string) {
	dir, out = new(string), new(string)
	clause.Arg("folder", "Folder of the campaign; the one below --out that was written to last, if not given.").StringVar(dir)
	terminal.Flag(clause, "out", "Folder of campaign folders.", "runs", out, terminal.Text)
	return dir, out
}

const campaignStatusHelp = `Show the progress of a campaign.

  uma-load campaign status
  uma-load campaign status runs/native-container

Slots by model, arm and scenario, what runs now, how long the rest takes by the runs so far, what went wrong, the last line of the logs, and whether it stalls.`

func campaignStatusVerb(campaignClause *kingpin.CmdClause) verb {
	clause := campaignClause.Command("status", campaignStatusHelp)
	dir, out := folderFlags(clause)
	return verb{clause, func(_ context.Context, p Program) error {
		found, err := campaignFolder(*dir, *out)
		if err != nil {
			return usage(err)
		}
		look, err := campaign.LookAt(found)
		if err != nil {
			return usage(err)
		}
		if err := look.Print(p.Stdout); err != nil {
			return err
		}
		_ = printNotRepeatable(p.Stdout, found) // there is no comparison before two arms have runs
		return nil
	}}
}

const campaignStopHelp = `Stop a campaign, to resume it later.

  uma-load campaign stop
  uma-load campaign stop runs/native-container --after-run

Its run ends with a complete folder and its arm comes down. campaign run goes on with it.

Exit codes: 1 if it still runs after --timeout, 2 if none runs.`

func campaignStopVerb(campaignClause *kingpin.CmdClause) verb {
	clause := campaignClause.Command("stop", campaignStopHelp)
	dir, out := folderFlags(clause)
	afterRun := clause.Flag("after-run", "Let the run that is made come to its end.").Bool()
	var timeout time.Duration
	terminal.Flag(clause, "timeout", "How long to wait until it has stopped; 0s does not wait.", "10m", &timeout, terminal.Duration)
	return verb{clause, func(ctx context.Context, p Program) error {
		found, err := campaignFolder(*dir, *out)
		if err != nil {
			return usage(err)
		}
		return stopCampaign(ctx, p.Stdout, found, *afterRun, timeout)
	}}
}

// stopCampaign asks the process that holds the campaign to stop, and waits until it has.
func stopCampaign(ctx context.Context, stdout io.Writer, dir string, afterRun bool, most time.Duration) error {
	pid, err := campaign.Stop(dir, afterRun)
	if err != nil {
		return usage(err)
	}
	if pid == 0 {
		return usage(fmt.Errorf("%s: no campaign runs there", dir))
	}
	fmt.Fprintf(stdout, "asked process %d to stop\n", pid)
	if afterRun && most > 0 {
		fmt.Fprintln(stdout, "it does when its run is over")
		return nil
	}
	for began := time.Now(); time.Since(began) < most; {
		holder, err := campaign.Holder(dir)
		if err != nil {
			return err
		}
		if holder == 0 {
			fmt.Fprintln(stdout, "stopped")
			return nil
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return runner.ErrInterrupted
		}
	}
	if most == 0 {
		return nil
	}
	return fmt.Errorf("process %d still runs after %s; kill -INT %d cuts its run off", pid, most, pid)
}

const campaignPlansHelp = `List the ready plans, or print one.

  uma-load campaign plans
  uma-load campaign plans native-container > plan.yaml`

func campaignPlansVerb(campaignClause *kingpin.CmdClause) verb {
	clause := campaignClause.Command("plans", campaignPlansHelp)
	name := clause.Arg("name", "Plan to print.").HintOptions(plan.ReadyNames()...).String()
	return verb{clause, func(_ context.Context, p Program) error {
		if *name == "" {
			var table render.Table
			for _, name := range plan.ReadyNames() {
				table.Add(name, plan.ReadyTitle(name))
			}
			return render.TextTable(p.Stdout, table)
		}
		text, err := plan.ReadyText(*name)
		if err != nil {
			return usage(err)
		}
		_, err = p.Stdout.Write(text)
		return err
	}}
}

// errNoArms is the reason why a campaign has no comparison.
var errNoArms = errors.New("no two arms have a run")
