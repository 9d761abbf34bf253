// Package loadgen is the command uma-load. It plans requests to OpenAI-compatible servers, sends them by the clock or
// slot by slot, and writes one run folder, from which every figure is computed. The packages below it do the separate
// parts.
package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/runner"
	"github.com/umascope/umascope/loadgen/sweep"
)

// Exit codes.
const (
	exitDone    = 0
	exitFailed  = 1 // failed while running
	exitUsage   = 2 // bad input or unusable environment
	exitInvalid = 3 // the run finished, but is invalid; a comparison that --fail-on asks about is confounded
	exitMissed  = 4 // finished and valid, but --slo was not met
)

// Program is one invocation of uma-load.
type Program struct {
	Stdout, Stderr io.Writer
	// Cut, when closed, cancels the requests in flight at once; a done context lets them drain. The run folder is
	// complete either way. A nil Cut never cancels.
	Cut <-chan struct{}
	// Exporter is the URL of an exporter's page. A run follows it if no flag names an exporter and it answers. Empty
	// means none.
	Exporter string
	// Executable is the path of the program, used to start guardians of arms. Empty starts no guardians.
	Executable string
	// Network is how runs reach servers, and how their live page is reached.
	Network runner.Network
}

// LocalExporter is the default URL of an exporter on this machine.
const LocalExporter = "http://127.0.0.1:10420/metrics"

// Run parses the arguments (without the program's name), carries them out and returns the exit code. It follows only
// the exporters that the arguments name. When the context is done, it sends no further request, and the requests in
// flight get the grace period to end.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return Program{Stdout: stdout, Stderr: stderr}.Run(ctx, args)
}

// Run is like the function Run, with the settings of the Program.
func (p Program) Run(ctx context.Context, args []string) int {
	line := newCommandLine(p.Stdout)
	name, done, err := line.parse(args)
	if done {
		return exitDone
	}
	if err == nil {
		err = checkSystem(name, runtime.GOOS)
	}
	if err == nil {
		line, err = p.withServer(ctx, line, name)
	}
	if err != nil {
		return p.report(usage(err))
	}
	one := slices.IndexFunc(line.verbs, func(v verb) bool { return v.clause.FullCommand() == name })
	return p.report(line.verbs[one].do(ctx, p))
}

// environment returns the environment of a run that has the terminal to itself. It has no live page yet.
func (p Program) environment(log terminal.Log, progress runner.ProgressFormat) runner.Environment {
	console := runner.NewConsole(p.Stderr, progress)
	return runner.Environment{
		Network: p.Network, Stdout: p.Stdout, Stderr: p.Stderr, Console: console, Log: log.Logger(console), Cut: p.Cut, Exporter: p.Exporter,
	}
}

// outcome is an error with its exit code.
type outcome struct {
	code int
	err  error
}

func (o outcome) Error() string { return o.err.Error() }

func (o outcome) Unwrap() error { return o.err }

// usage marks bad input or an unusable environment.
func usage(err error) error { return outcome{exitUsage, err} }

// report prints the error as one line and returns the exit code.
func (p Program) report(err error) int {
	if err == nil {
		return exitDone
	}
	fmt.Fprintln(p.Stderr, "uma-load: "+printable(strings.ReplaceAll(err.Error(), "\n", "; ")))
	return exitCode(err)
}

// exitCode returns the exit code for an error.
func exitCode(err error) int {
	if o, is := errors.AsType[outcome](err); is {
		return o.code
	}
	if failed, is := errors.AsType[runner.CommandError](err); is {
		return failed.Exit.Code
	}
	if _, is := errors.AsType[runner.InputError](err); is {
		return exitUsage
	}
	return exitFailed
}

// commandLine declares the verbs and flags of the program.
type commandLine struct {
	app        *kingpin.Application
	run, sweep *kingpin.CmdClause
	arena      *kingpin.CmdClause

	args      []string
	check     *checkLine
	settings  *settings
	sweepRun  *settings // of each run of sweep
	sweepOver *sweep.Settings
	arenaRun  *settings // of each run of arena
	arenaPlan *arenaSettings
	record    recordLine
	verbs     []verb

	ended bool // kingpin has printed the help or the version
}

func newCommandLine(stdout io.Writer) *commandLine {
	l := &commandLine{app: kingpin.New("uma-load", aboutProgram), check: &checkLine{}}
	l.app.UsageWriter(unlessEnded{stdout, l}).ErrorWriter(unlessEnded{stdout, l}).Terminate(func(int) { l.ended = true })
	l.app.Version(buildVersion().String())
	guide().Apply(l.app)

	l.run = l.app.Command("run", runHelp)
	l.settings = runFlags(l.run)

	l.sweep = l.app.Command("sweep", sweepHelp)
	l.sweepOver = sweep.Flags(l.sweep)
	l.sweepRun = runFlags(l.sweep)

	l.arena = l.app.Command("arena", arenaHelp)
	l.arenaPlan, l.arenaRun = arenaFlags(l.arena)

	l.record = recordFlags(l.app)
	l.verbs = append(verbs(l.app, l.check),
		verb{l.run, func(ctx context.Context, p Program) error {
			return l.measureRun(ctx, p.environment(l.settings.log, l.settings.progress))
		}},
		verb{l.sweep, func(ctx context.Context, p Program) error {
			return l.measureSweep(ctx, p.environment(l.sweepRun.log, l.sweepRun.progress))
		}},
		verb{l.arena, func(ctx context.Context, p Program) error {
			return l.measureArena(ctx, p.environment(l.arenaRun.log, l.arenaRun.progress))
		}},
		verb{l.record.verb, func(ctx context.Context, p Program) error {
			return l.measureCommand(ctx, p.environment(l.record.settings.log, runner.ProgressNone))
		}},
	)
	return l
}

// unlessEnded drops what kingpin writes after it has printed the help or the version. kingpin expects that its
// terminate function ends the process, and otherwise goes on to a usage page.
type unlessEnded struct {
	io.Writer
	line *commandLine
}

// Write returns no errors: kingpin panics on a write error, and a pager that closes the help early is not a failure.
func (u unlessEnded) Write(text []byte) (int, error) {
	if !u.line.ended {
		_, _ = u.Writer.Write(text)
	}
	return len(text), nil
}

// parse returns the verb. done is true when kingpin has printed the help or a version.
func (l *commandLine) parse(args []string) (verb string, done bool, err error) {
	if len(args) == 0 {
		return "", false, errors.New("no command; for example: uma-load check --url http://127.0.0.1:8000; uma-load --help lists all verbs")
	}
	l.args = joinNegative(args)
	verb, err = l.app.Parse(l.args)
	return verb, l.ended, terminal.Mend(l.app, l.args, err)
}

// joinNegative turns "--rate -1" into "--rate=-1". kingpin takes "-1" for a flag and reports a missing value, which
// hides the mistake.
func joinNegative(args []string) []string {
	var joined []string
	for i, arg := range args {
		if arg == "--" {
			return append(joined, args[i:]...) // the rest belongs to another program
		}
		negative := len(arg) > 1 && arg[0] == '-' && arg[1] >= '0' && arg[1] <= '9'
		if negative && i > 0 && strings.HasPrefix(args[i-1], "--") && !strings.Contains(args[i-1], "=") {
			joined[len(joined)-1] += "=" + arg
			continue
		}
		joined = append(joined, arg)
	}
	return joined
}

// linkedVersion and linkedRevision are set by the linker in builds from sources without version control, such as the
// image (compose/load.Dockerfile).
var linkedVersion, linkedRevision string

// buildVersion returns the version that is recorded in the binary.
func buildVersion() rundir.Program {
	b := terminal.ReadBuild(linkedVersion, linkedRevision)
	if b.Modified {
		b.Revision += "+modified"
	}
	return rundir.Program{Version: b.Version, Revision: b.Revision, GoVersion: b.GoVersion}
}

// linger keeps the last values scrapeable for the duration, unless the context or cut ends it.
func linger(ctx context.Context, cut <-chan struct{}, how time.Duration, log *slog.Logger) {
	if how == 0 {
		return
	}
	log.Info("live metrics stay", "for", how)
	select {
	case <-time.After(how):
	case <-ctx.Done():
	case <-cut:
	}
}
