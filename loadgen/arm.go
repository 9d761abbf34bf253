package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/campaign"
	"github.com/umascope/umascope/loadgen/campaign/arm"

	"github.com/umascope/umascope/loadgen/campaign/plan"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/runner"
)

const armHelp = `Use one arm of a plan by hand: up, status, logs, down.

  uma-load arm up native --plan plan.yaml --model llama8b
  uma-load arm status native --plan plan.yaml --model llama8b
  uma-load run --url http://127.0.0.1:8000
  uma-load arm logs native --plan plan.yaml --model llama8b -f
  uma-load arm down native --plan plan.yaml --model llama8b

It is what a campaign does with it, without gates and page cache; the state lies where the campaign has it, OUT/PLAN/arms/MODEL/ARM. The model may be left out if the plan has one only. What an invocation that was killed left running is found and ended by arm down.`

const (
	armUpHelp = "Write the arm's files and start its processes.\n\n  uma-load arm up native --plan plan.yaml\n  uma-load arm up native --plan plan.yaml --model llama8b\n\nEach is started when the one before it is ready. Returns when all are, and leaves them running.\n\nExit codes: 1 if one did not get ready, with the ends of the logs and nothing left running; 2 if it cannot be started here."

	armDownHelp = "End the arm's processes, and take its files away.\n\n  uma-load arm down native --plan plan.yaml\n\nThe last one that was started goes first. Nothing to end is no error.\n\nExit codes: 1 if something could not be ended, which is named."

	armStatusHelp = "Show what the arm's processes do.\n\n  uma-load arm status native --plan plan.yaml\n\nExit codes: 0 if all are alive and ready, or the arm is down; 1 if not."

	armLogsHelp = "Print the ends of the logs of the arm's last start.\n\n  uma-load arm logs native --plan plan.yaml\n  uma-load arm logs native --plan plan.yaml -f"
)

// defaultOut is the folder that holds campaign folders when --out is not given.
const defaultOut = "runs"

// armLine is a sub-command of arm on the command line.
type armLine struct {
	name, planFile, model, out string

	process string
	lines   int
	follow  bool
}

// armVerbs are the sub-commands of arm.
func armVerbs(app *kingpin.Application) []verb {
	group := app.Command("arm", armHelp)
	l := &armLine{}
	sub := func(name, help string) *kingpin.CmdClause {
		sub := group.Command(name, help)
		sub.Arg("name", "Arm of the plan.").Required().StringVar(&l.name)
		terminal.Flag(sub, "plan", "Plan file.", "", &l.planFile, terminal.Text).Required().PlaceHolder("FILE")
		terminal.Flag(sub, "model", "Model of the plan; the only one, if not given.", "", &l.model, terminal.Text).PlaceHolder("NAME")
		terminal.Flag(sub, "out", "Folder of campaign folders.", defaultOut, &l.out, terminal.Text)
		return sub
	}
	up, down, status, logs := sub("up", armUpHelp), sub("down", armDownHelp), sub("status", armStatusHelp), sub("logs", armLogsHelp)
	armLogFlags(logs, l)
	return []verb{
		{up, func(ctx context.Context, p Program) error { return l.up(ctx, p.Stdout, p.Stderr) }},
		{down, func(ctx context.Context, p Program) error {
			return l.down(ctx, p.Stdout, terminal.LogAt("warn").Logger(p.Stderr))
		}},
		{status, func(ctx context.Context, p Program) error { return l.status(ctx, p.Stdout) }},
		{logs, func(ctx context.Context, p Program) error { return l.logs(ctx, p.Stdout) }},
	}
}

func armLogFlags(clause *kingpin.CmdClause, l *armLine) {
	terminal.Flag(clause, "lines", "Lines of each log.", "40", &l.lines, terminal.AtLeast(0)).Short('n')
	clause.Flag("follow", "Go on printing what comes, until interrupted.").Short('f').BoolVar(&l.follow)
	terminal.Flag(clause, "process", "Only that of this process.", "", &l.process, terminal.Text).PlaceHolder("NAME")
}

// find reads the plan. It returns the arm with its placeholders filled in, the memory that the model needs, and the
// arm's folder.
func (l *armLine) find() (*plan.Cell, string, error) {
	planned, err := plan.Read(l.planFile)
	if err != nil {
		return nil, "", err
	}
	model := l.model
	if model == "" && len(planned.Models) == 1 {
		model = planned.Models[0].Name
	}
	if model == "" {
		var names []string
		for _, m := range planned.Models {
			names = append(names, m.Name)
		}
		return nil, "", fmt.Errorf("--model: the plan has %s: name one", strings.Join(names, ", "))
	}
	out, err := filepath.Abs(l.out)
	if err != nil {
		return nil, "", err
	}
	dir := campaign.ArmFolder(filepath.Join(out, planned.Name), model, l.name)
	cell, err := planned.Render(model, l.name, map[string]string{plan.ValueFolder: dir})
	return cell, dir, err
}

// up starts the arm's processes and leaves them running.
func (l *armLine) up(ctx context.Context, stdout, stderr io.Writer) error {
	cell, dir, err := l.find()
	if err != nil {
		return usage(err)
	}
	if err := readyToStart(ctx, cell, dir); err != nil {
		return runner.Unusable(ctx, err)
	}
	running, err := arm.Up(ctx, cell.Arm, dir, arm.Options{Log: terminal.LogAt("warn").Logger(stderr)})
	if failure, ok := errors.AsType[*arm.Failure](err); ok {
		return errors.Join(failure, failure.Write(stderr))
	}
	if err != nil {
		return runner.Unusable(ctx, l.withCommands(err, dir))
	}
	running.Leave()
	return showArm(ctx, stdout, cell.Arm, dir)
}

// withCommands adds commands to the error of an arm that is up or that another process holds: those that show the arm
// and stop it.
func (l *armLine) withCommands(err error, dir string) error {
	held, isHeld := errors.AsType[*arm.LockedError](err)
	if !isHeld && !errors.Is(err, arm.ErrUp) {
		return err
	}
	ofCampaign := filepath.Join(dir, "..", "..", "..") // campaign.ArmFolder, three levels up
	if pid, _ := campaign.Holder(ofCampaign); isHeld && pid == held.Holder.PID {
		return fmt.Errorf("%w; %s", err, campaign.Commands(ofCampaign))
	}
	return fmt.Errorf("%w; %s shows it, %s ends it", err, l.command("status"), l.command("down"))
}

// command is the command line of another sub-command of this arm.
func (l *armLine) command(verb string) string {
	text := fmt.Sprintf("uma-load arm %s %s --plan %s", verb, l.name, l.planFile)
	if l.model != "" {
		text += " --model " + l.model
	}
	if l.out != defaultOut {
		text += " --out " + l.out
	}
	return text
}

// readyToStart returns why an arm cannot be started here. For an arm that is up, it returns only that.
func readyToStart(ctx context.Context, cell *plan.Cell, dir string) error {
	left, err := arm.Leftovers(ctx, cell.Arm, dir)
	if err != nil || len(left) > 0 {
		return err // Up names the processes that are left, if they prevent the start
	}
	for _, found := range arm.Check(ctx, cell.Arm, arm.Needs{Dir: dir, ExpectedBytes: cell.Model.ExpectedBytes}) {
		if found.Result == arm.Fails {
			return fmt.Errorf("arm %s: %s", cell.Arm.Name, found)
		}
	}
	_, err = arm.Root(ctx, []plan.Arm{cell.Arm})
	return err
}

func (l *armLine) down(ctx context.Context, stdout io.Writer, log *slog.Logger) error {
	cell, dir, err := l.find()
	if err != nil {
		return usage(err)
	}
	if err := arm.Down(ctx, cell.Arm, dir, log); err != nil {
		return fmt.Errorf("arm %s: %w", l.name, l.withCommands(err, dir))
	}
	_, err = fmt.Fprintf(stdout, "arm %s is down\n", printable(l.name))
	return err
}

func (l *armLine) status(ctx context.Context, stdout io.Writer) error {
	cell, dir, err := l.find()
	if err != nil {
		return usage(err)
	}
	return showArm(ctx, stdout, cell.Arm, dir)
}

// showArm prints the state of the arm's processes. A process that is not running is an error.
func showArm(ctx context.Context, stdout io.Writer, spec plan.Arm, dir string) error {
	rows, err := arm.Look(ctx, spec, dir)
	if err != nil {
		return usage(err)
	}
	if !slices.ContainsFunc(rows, func(r arm.Row) bool { return r.State != arm.StateStopped }) {
		_, err := fmt.Fprintf(stdout, "arm %s is down\n", printable(spec.Name))
		return err
	}
	if err := printRows(stdout, rows); err != nil {
		return err
	}
	for _, row := range rows {
		if row.State != arm.StateAlive || row.Note != "" {
			return fmt.Errorf("arm %s: %s is %s", spec.Name, row.Process, stateOfRow(row))
		}
	}
	return nil
}

func stateOfRow(r arm.Row) string { return strings.TrimSuffix(r.State+": "+r.Note, ": ") }

func printRows(w io.Writer, rows []arm.Row) error {
	table := render.Table{Header: []string{"PROCESS", "WHERE", "PID", "SINCE", "READY AFTER", "STATE"}}
	for _, r := range rows {
		pid, ready := "-", "-"
		if r.PID > 0 {
			pid = strconv.Itoa(r.PID)
		}
		if r.ReadyAt != nil {
			ready = r.ReadyAt.Sub(r.Since).Round(100 * time.Millisecond).String()
		}
		table.Add(r.Process, printable(r.Where), pid, r.Since.Local().Format(time.DateTime), ready, printable(stateOfRow(r)))
	}
	return render.TextTable(w, table)
}

func (l *armLine) logs(ctx context.Context, stdout io.Writer) error {
	_, dir, err := l.find()
	if err != nil {
		return usage(err)
	}
	tails, err := arm.Tails(dir, l.lines)
	if err != nil {
		return usage(err)
	}
	if l.process != "" {
		tails = slices.DeleteFunc(tails, func(t arm.Tail) bool { return t.Process != l.process })
	}
	if len(tails) == 0 {
		return usage(fmt.Errorf("arm %s: no process %s has ever been started in %s", l.name, l.process, dir))
	}
	if err := arm.WriteTails(stdout, tails); err != nil || !l.follow {
		return err
	}
	return arm.Follow(ctx, stdout, tails)
}
