package loadgen

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	// captureTimeout bounds one command, mostCaptured what is kept of its output.
	captureTimeout = 60 * time.Second
	mostCaptured   = 16 << 20

	folderCaptures = "captures"
)

// capture is a command whose output is kept before and after the load, in captures/NAME-WHEN.txt.
type capture struct{ name, command string }

// captureFacts say what became of a command. The command itself is not recorded: it may hold a key.
type captureFacts struct {
	Name string `json:"name"`
	// When is before or after.
	When     string `json:"when"`
	ExitCode int    `json:"exit_code"` // -1 if it was killed or could not be started
	// Seconds is how long it took, Cut whether its output was longer than what is kept.
	Seconds float64 `json:"seconds"`
	Cut     bool    `json:"cut,omitempty"`
}

func parseCapture(s string) (capture, error) {
	name, command, err := pair(s, "=", plainName)
	if err == nil && strings.TrimSpace(command) == "" {
		err = fmt.Errorf("%s has no command", name)
	}
	return capture{name, command}, err
}

// captureName hides the command.
func captureName(s string) string {
	name, _, _ := strings.Cut(s, "=")
	return name + "=<redacted>"
}

// When commands are run.
const (
	beforeLoad = "before"
	afterLoad  = "after"
)

// capture runs the commands of the run and notes what became of them.
func (r *run) capture(ctx context.Context, when string) error {
	facts, err := r.folder.runCaptures(ctx, r.settings.captures, when)
	r.manifest.Captures = append(r.manifest.Captures, facts...)
	return err
}

// runCaptures runs the commands one after the other. One that fails is a fact and not an error; an
// error is a file that cannot be written.
func (f folder) runCaptures(ctx context.Context, all []capture, when string) ([]captureFacts, error) {
	if len(all) == 0 {
		return nil, nil
	}
	if err := os.MkdirAll(f.path(folderCaptures), 0o755); err != nil {
		return nil, err
	}
	var facts []captureFacts
	for _, c := range all {
		one, err := c.run(ctx, f.path(folderCaptures+"/"+c.name+"-"+when+".txt"))
		if err != nil {
			return facts, fmt.Errorf("--capture: %s: %w", c.name, err)
		}
		one.When = when
		facts = append(facts, one)
	}
	return facts, nil
}

// run runs the command by a shell, output and errors into one file.
func (c capture) run(ctx context.Context, path string) (captureFacts, error) {
	ctx, cancel := context.WithTimeout(ctx, captureTimeout)
	defer cancel()
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return captureFacts{}, err
	}
	out := &limited{to: file, left: mostCaptured}
	command := exec.CommandContext(ctx, "/bin/sh", "-c", c.command)
	// What the command leaves running must not hold up the run.
	command.Stdout, command.Stderr, command.WaitDelay = out, out, time.Second
	start := time.Now()
	ran := command.Run()
	facts := captureFacts{Name: c.name, ExitCode: -1, Seconds: time.Since(start).Seconds(), Cut: out.cut}
	if command.ProcessState != nil {
		facts.ExitCode = command.ProcessState.ExitCode()
	}
	if failed := (*exec.ExitError)(nil); ran != nil && !errors.As(ran, &failed) && facts.ExitCode < 0 {
		_, err = fmt.Fprintf(file, "[%v]\n", ran)
	}
	return facts, errors.Join(err, file.Close())
}

// warnings are the commands that failed.
func captureWarnings(all []captureFacts) []string {
	var w []string
	for _, c := range all {
		if c.ExitCode != 0 {
			w = append(w, fmt.Sprintf("--capture %s, %s the load: exit %d", c.Name, c.When, c.ExitCode))
		}
	}
	return w
}
