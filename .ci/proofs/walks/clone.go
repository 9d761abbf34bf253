package main

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// clone is a checkout in which a walk is typed. The log has the output of its commands.
type clone struct{ folder, log string }

// apply applies the diffs of a walk and compares the files that they change with the files that the page lists.
func (c clone) apply(w walk) error {
	for _, s := range w.steps {
		if s.diff == "" {
			continue
		}
		git := exec.Command("git", "-C", c.folder, "apply", "--whitespace=nowarn", "-")
		git.Stdin = strings.NewReader(s.diff)
		if out, err := git.CombinedOutput(); err != nil {
			return fmt.Errorf("the diff of line %d does not apply: %s", s.line, firstLine(string(out)))
		}
	}
	out, err := exec.Command("git", "-C", c.folder, "status", "--porcelain", "--untracked-files=all").Output()
	if err != nil {
		return err
	}
	var changed []string
	for line := range strings.Lines(string(out)) {
		changed = append(changed, strings.TrimSpace(line[3:]))
	}
	slices.Sort(changed)
	stated := slices.Sorted(slices.Values(w.files))
	for _, path := range stated {
		if !slices.Contains(changed, path) {
			return fmt.Errorf("it lists %s, and no diff changes it", path)
		}
	}
	for _, path := range changed {
		if !slices.Contains(stated, path) {
			return fmt.Errorf("a diff changes %s, which it does not list", path)
		}
	}
	return nil
}

// run types a command and compares the output with the page.
func (c clone) run(s step) error {
	shell := exec.Command("bash", "-eo", "pipefail", "-c", s.command)
	shell.Dir = c.folder
	out, err := shell.CombinedOutput()
	log, openErr := os.OpenFile(c.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if openErr != nil {
		return openErr
	}
	defer log.Close()
	if _, err := fmt.Fprintf(log, "$ %s\n%s", s.command, out); err != nil {
		return err
	}
	if err != nil {
		return fmt.Errorf("%s: %w: %s", s.command, err, cause(string(out)))
	}
	if line := missing(s.shown, string(out)); line != "" {
		return fmt.Errorf("%s does not print %q: it prints %q", s.command, line, firstLine(string(out)))
	}
	return nil
}

var (
	failed  = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)
	message = regexp.MustCompile(`(?m)^\s*\S+\.go:\d+(?::\d+)?: .*$`)
)

// cause returns the line of an output that shows best why a command failed: the first message of the compiler or of a test.
func cause(output string) string {
	line := strings.TrimSpace(message.FindString(output))
	test := failed.FindStringSubmatch(output)
	switch {
	case line == "":
		return lastLine(output)
	case test != nil:
		return test[1] + ": " + line
	}
	return line
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}
