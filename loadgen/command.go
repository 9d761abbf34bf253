// Package loadgen drives OpenAI-compatible servers and keeps what happened: it plans requests,
// sends them by the clock or slot by slot, and writes one run folder that everything else is
// computed from. It is the command uma-load; the parts that know something on their own are
// the packages below it.
package loadgen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// Exit codes.
const (
	exitDone    = 0
	exitFailed  = 1 // failed while running
	exitUsage   = 2 // bad input or unusable environment
	exitInvalid = 3 // the run finished but its figures must not be used
	exitMissed  = 4 // finished and valid, but --slo was not met
)

// Program is one invocation of uma-load.
type Program struct {
	Stdout, Stderr io.Writer
	// Cut, once closed, ends what a done context only lets drain: requests in flight are
	// cancelled at once. Either way the run folder is complete. Nil never cuts.
	Cut <-chan struct{}
}

// Run parses the arguments, without the program's name, does what they say and returns the exit
// code. When the context is done, no further request is sent and those in flight have the grace
// to end.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	return Program{Stdout: stdout, Stderr: stderr}.Run(ctx, args)
}

// Run is the function Run with everything that an invocation may have.
func (p Program) Run(ctx context.Context, args []string) int {
	line := newCommandLine(p.Stdout)
	verb, done, err := line.parse(args)
	if done {
		return exitDone
	}
	if err != nil {
		return p.report(usage(err))
	}
	return p.report(p.execute(ctx, line, verb))
}

func (p Program) execute(ctx context.Context, line *commandLine, verb string) error {
	switch verb {
	case line.check.FullCommand():
		return check(ctx, *line.target, line.json, p.Stdout)
	case line.completion.FullCommand():
		return line.script(p.Stdout)
	case line.healthcheck.FullCommand():
		return healthcheck(ctx, line.web.address)
	default:
		return p.measure(ctx, line)
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
	code := exitFailed
	if o := (outcome{}); errors.As(err, &o) {
		code = o.code
	}
	fmt.Fprintln(p.Stderr, "uma-load: "+printable(strings.ReplaceAll(err.Error(), "\n", "; ")))
	return code
}

// commandLine is what the program accepts.
type commandLine struct {
	app                                 *kingpin.Application
	run, check, completion, healthcheck *kingpin.CmdClause

	settings *settings
	target   *target // of check
	json     bool
	shell    string
	web      web // of healthcheck

	ended bool // the flag library has printed what was asked for
}

func newCommandLine(stdout io.Writer) *commandLine {
	l := &commandLine{app: kingpin.New("uma-load", "Drives OpenAI-compatible servers and measures them.\n\n"+
		"Exit codes: 0 done; 1 failed while running; 2 bad input or unusable environment; 3 the run finished but is INVALID, as it says; 4 it is valid but --slo was not met."), target: &target{}}
	l.app.UsageWriter(unlessEnded{stdout, l}).ErrorWriter(unlessEnded{stdout, l}).Terminate(func(int) { l.ended = true })
	l.app.Version(buildVersion().String())
	l.app.HelpFlag.Short('h')

	l.run = l.app.Command("run", "Measure a server and write a run folder.")
	l.settings = runFlags(l.run)

	l.check = l.app.Command("check", "Ask a server what it is and what it accepts.")
	targetFlags(l.check, l.target)
	l.check.Flag("json", "Print JSON.").BoolVar(&l.json)

	l.completion = l.app.Command("completion", "Print a completion script for a shell.")
	l.completion.Arg("shell", "bash or zsh.").Required().EnumVar(&l.shell, "bash", "zsh")

	l.healthcheck = l.app.Command("healthcheck", "Ask a run on this machine whether it is alive: exit 0 if it is.")
	webFlags(l.healthcheck, &l.web)
	return l
}

// unlessEnded drops what the flag library writes after it has printed what was asked for: it
// expects to be ended by its own terminate function, and goes on to a usage page.
type unlessEnded struct {
	io.Writer
	line *commandLine
}

func (u unlessEnded) Write(text []byte) (int, error) {
	if u.line.ended {
		return len(text), nil
	}
	return u.Writer.Write(text)
}

// parse returns the verb; done when the flag library has printed help or a version.
func (l *commandLine) parse(args []string) (verb string, done bool, err error) {
	if len(args) == 0 {
		return "", false, errors.New("no command; try uma-load --help")
	}
	verb, err = l.app.Parse(joinNegative(args))
	return verb, l.ended, err
}

// joinNegative turns "--rate -1" into "--rate=-1": the flag library takes "-1" for a flag and
// complains of a missing value, which hides the mistake.
func joinNegative(args []string) []string {
	var joined []string
	for i, arg := range args {
		negative := len(arg) > 1 && arg[0] == '-' && arg[1] >= '0' && arg[1] <= '9'
		if negative && i > 0 && strings.HasPrefix(args[i-1], "--") && !strings.Contains(args[i-1], "=") {
			joined[len(joined)-1] += "=" + arg
			continue
		}
		joined = append(joined, arg)
	}
	return joined
}

// script prints the completion script.
func (l *commandLine) script(w io.Writer) error {
	template := kingpin.BashCompletionTemplate
	if l.shell == "zsh" {
		template = kingpin.ZshCompletionTemplate
	}
	context, err := l.app.ParseContext(nil)
	if err != nil {
		return err
	}
	l.app.UsageWriter(w)
	return l.app.UsageForContextWithTemplate(context, 2, template)
}

// build is the version of this program.
type build struct {
	Version   string `json:"version"`
	Revision  string `json:"revision"`
	GoVersion string `json:"go"`
}

func (b build) String() string {
	return fmt.Sprintf("uma-load %s (%s, %s)", b.Version, b.Revision, b.GoVersion)
}

// buildVersion reads what the Go tool recorded in the binary.
func buildVersion() build {
	b := build{Version: "unknown", Revision: "unknown", GoVersion: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version, b.GoVersion = info.Main.Version, info.GoVersion
	modified := false
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = setting.Value
		case "vcs.modified":
			modified = setting.Value == "true"
		}
	}
	if modified {
		b.Revision += "+modified"
	}
	return b
}

// logger prints warnings and progress for people.
func (p Program) logger(level string) *slog.Logger {
	var least slog.Level
	// The flag accepts only names that slog knows.
	_ = least.UnmarshalText([]byte(level))
	return slog.New(slog.NewTextHandler(p.Stderr, &slog.HandlerOptions{Level: least}))
}

// apiKey reads the key from its file or the environment; "" is none.
func (t target) apiKey() (string, error) {
	if t.apiKeyFile == "" {
		return os.Getenv("OPENAI_API_KEY"), nil
	}
	text, err := os.ReadFile(t.apiKeyFile)
	if err != nil {
		return "", usage(fmt.Errorf("--api-key-file: %w", err))
	}
	return strings.TrimSpace(string(text)), nil
}
