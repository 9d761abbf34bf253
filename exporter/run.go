package exporter

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/alecthomas/kingpin/v2"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1 // failed while running
	exitInput  = 2 // bad input or unusable environment
)

// inputError is an error of the command line or of the environment it names: exit code 2.
type inputError struct{ err error }

func (e inputError) Error() string { return e.err.Error() }
func (e inputError) Unwrap() error { return e.err }

// badInput names the flag, argument or file at fault.
func badInput(format string, args ...any) error { return inputError{fmt.Errorf(format, args...)} }

// Run is the program: it runs the command in args until it ends or ctx does, and returns the
// exit code. Results go to stdout; the log and one line on failure go to stderr.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	line, err := parse(args, stdout, stderr)
	if line.ended {
		return exitDone
	}
	if err != nil {
		return report(stderr, badInput("%w", err))
	}
	return report(stderr, line.run(ctx, stdout, stderr))
}

func (l *commandLine) run(ctx context.Context, stdout, stderr io.Writer) error {
	switch l.command {
	case "explain":
		return l.explain(ctx, stdout)
	case "fit":
		return l.fit(ctx, stdout)
	case "doctor":
		return l.doctor(ctx, stdout)
	case "record":
		return l.record(ctx, stdout)
	case "healthcheck":
		return healthcheck(ctx, l.healthURL, l.httpConfig, stdout)
	case "secure":
		return l.secure(stdout)
	case "completion":
		return l.completion(stdout)
	default:
		return l.serve(ctx, stdout, stderr)
	}
}

// report prints why the program ends, in one line, and returns its exit code.
func report(stderr io.Writer, err error) int {
	var input inputError
	switch {
	case err == nil:
		return exitDone
	case errors.As(err, &input):
		fmt.Fprintln(stderr, "uma-exporter: "+oneLine(err.Error()))
		return exitInput
	default:
		fmt.Fprintln(stderr, "uma-exporter: "+oneLine(err.Error()))
		return exitFailed
	}
}

func oneLine(text string) string { return printable(strings.ReplaceAll(text, "\n", "; ")) }

// completion prints a shell script that asks the program for completions.
func (l *commandLine) completion(stdout io.Writer) error {
	template := kingpin.BashCompletionTemplate
	if l.shell == "zsh" {
		template = kingpin.ZshCompletionTemplate
	}
	parsed, err := l.app.ParseContext(nil)
	if err != nil {
		return err
	}
	return l.app.UsageWriter(stdout).UsageForContextWithTemplate(parsed, 2, template)
}
