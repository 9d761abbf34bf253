package loadgen

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/subprocess"
)

// planLine is the plan that a command line names, with the runs that it selects.
type planLine struct {
	planFile, out string
	only          plan.Filter
	onlyText      []string
	iterations    int
	notify        string

	planned  *plan.Plan
	text     []byte
	sha      string
	notifier campaign.Notifier
}

// planFlags declares the flags that select a plan and its runs.
func planFlags(clause *kingpin.CmdClause, l *planLine) {
	clause.Arg("plan", "Plan file.").Required().StringVar(&l.planFile)
	terminal.Flag(clause, "out", "Folder of campaign folders; this one's is called like the plan.", "runs", &l.out, terminal.Text)
	terminal.Flags(clause, "only", "Make only the runs of model=NAME, arm=NAME or scenario=NAME; several with commas between.", &l.onlyText, terminal.Text, terminal.AsGiven).PlaceHolder("model=NAME,arm=NAME")
	terminal.Flag(clause, "iterations", "Make only so many runs of each model, arm and scenario.", "", &l.iterations, terminal.AtLeast(1)).PlaceHolder("N")
	terminal.Flag(clause, "notify-url", "Send a notice when the campaign ends, stops or stalls: an address that takes JSON, or one of ntfy or Slack (ntfy+https://..., slack+https://...). "+subprocess.NotifyVariable+" may have it instead, which keeps it out of the list of processes.", "", &l.notify, terminal.Text).
		Envar(subprocess.NotifyVariable).PlaceHolder("URL")
}

// read reads the plan and makes every check that does not need the machine.
func (l *planLine) read() error {
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

// dir returns the folder of the campaign.
func (l *planLine) dir() (string, error) {
	if !terminal.PlainName(l.planned.Name) {
		return "", fmt.Errorf("%s: name: %q: want letters, digits, . _ and -, not beginning with a dot, at most 128", l.planFile, l.planned.Name)
	}
	return filepath.Abs(filepath.Join(l.out, l.planned.Name))
}

// arguments returns the arguments of a command line that carries out the same campaign. The notification URL goes
// through the environment, since every user can read command lines.
func (l *planLine) arguments() []string {
	args := []string{"campaign", "run", l.planFile, "--out=" + l.out}
	for _, only := range l.onlyText {
		args = append(args, "--only="+only)
	}
	if l.iterations > 0 {
		args = append(args, "--iterations="+strconv.Itoa(l.iterations))
	}
	return args
}

// cells returns the selected arms with their models, with their placeholders filled in.
func (l *planLine) cells(dir string, only plan.Filter) ([]*plan.Cell, error) {
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
