package runner

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"strings"
	"time"

	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/subprocess"
)

const (
	// captureTimeout is the longest that one command may take, mostCaptured the most of its output that is kept, in
	// bytes.
	captureTimeout = 60 * time.Second
	mostCaptured   = 16 << 20
)

// captureCommand is a command whose output is kept before and after the load, in captures/NAME-WHEN.txt.
type captureCommand struct{ name, command string }

// parseCapture reads NAME=COMMAND, such as memory=free -b.
func parseCapture(s string) (captureCommand, error) {
	name, command, err := terminal.Pair(s, "=", terminal.PlainName)
	if err == nil && strings.TrimSpace(command) == "" {
		err = fmt.Errorf("%s has no command", name)
	}
	return captureCommand{name, command}, err
}

// captureName returns the name without the command, for records.
func captureName(s string) string {
	name, _, _ := strings.Cut(s, "=")
	return name + "=<redacted>"
}

// Times at which commands are run.
const (
	beforeLoad = "before"
	afterLoad  = "after"
)

// runCommands runs the commands one after the other and records their results. A command that fails is recorded and is
// not an error; an error is a file that cannot be written.
func (s *Capture) runCommands(ctx context.Context, when string) error {
	for _, c := range s.settings.Captures {
		one, err := c.run(ctx, s.folder, when, openai.NewRedactor(s.secrets()))
		if err != nil {
			return fmt.Errorf("--capture: %s: %w", c.name, err)
		}
		s.manifest.Captures = append(s.manifest.Captures, one)
	}
	return nil
}

// run runs the command in a shell and writes stdout and stderr into one file.
func (c captureCommand) run(ctx context.Context, f rundir.Folder, when string, secrets *openai.Redactor) (rundir.Capture, error) {
	ctx, cancel := context.WithTimeout(ctx, captureTimeout)
	defer cancel()
	out, err := f.NewLog(rundir.CapturesFolder+"/"+c.name+"-"+when+".txt", mostCaptured)
	if err != nil {
		return rundir.Capture{}, err
	}
	command := subprocess.Limited(ctx, "/bin/sh", "-c", c.command)
	kept := &redactedLog{to: out, secrets: secrets}
	command.Stdout, command.Stderr = kept, kept
	start := time.Now()
	ran := command.Run()
	_ = kept.Close() // the log keeps its error for Close
	facts := rundir.Capture{Name: c.name, When: when, ExitCode: -1, Seconds: time.Since(start).Seconds()}
	if command.ProcessState != nil {
		facts.ExitCode = command.ProcessState.ExitCode()
	}
	if failed := (*exec.ExitError)(nil); ran != nil && !errors.As(ran, &failed) && facts.ExitCode < 0 {
		fmt.Fprintf(out, "[%v]\n", ran) // Close returns the error if that failed
	}
	facts.Cut, err = out.Close()
	return facts, err
}

// captureWarnings returns a warning for each command that failed.
func captureWarnings(all []rundir.Capture) []string {
	var w []string
	for _, c := range all {
		if c.ExitCode != 0 {
			w = append(w, fmt.Sprintf("--capture %s, %s the load: exit %d", c.Name, c.When, c.ExitCode))
		}
	}
	return w
}
