package loadgen

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/umascope/umascope/cmd/terminal"
)

// shellWords are what a shell makes of a line.
func shellWords(t *testing.T, line string) []string {
	t.Helper()
	out, err := exec.Command("sh", "-c", `printf '%s\0' `+line).Output()
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
}

func TestEveryVerbHasExamplesThatAreAccepted(t *testing.T) {
	for _, verb := range terminal.Verbs(newCommandLine(io.Discard).app) {
		examples := verb.Examples
		if verb.Name == "" {
			for _, line := range guide().First {
				line, _, _ = strings.Cut(line, "  #")
				examples = append(examples, line)
			}
		}
		own := false
		for _, example := range examples {
			args := shellWords(t, example)[1:]
			found, _, err := newCommandLine(io.Discard).parse(args)
			if err != nil {
				t.Errorf("%s: %v", example, err)
			}
			own = own || verb.Name == "" || strings.HasPrefix(found+" ", verb.Name+" ")
		}
		if !own {
			t.Errorf("uma-load %s: its help has no example of it", verb.Name)
		}
	}
}

// TestEveryFlagOfARunIsExplainedInTwoLines: a page of 80 flags is looked through, not read. --scenario lists what there is.
func TestEveryFlagOfARunIsExplainedInTwoLines(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var page bytes.Buffer
	if code := Run(t.Context(), []string{"run", "--help-all"}, &page, &page); code != exitDone {
		t.Fatalf("exit %d", code)
	}
	all := terminal.LinesOfFlags(page.String())
	if len(all) < 70 {
		t.Fatalf("%d flags were found in\n%s", len(all), page.String())
	}
	for flag, lines := range all {
		if lines == 0 || lines > 2 && flag != "--scenario" {
			t.Errorf("%d lines explain %s", lines, flag)
		}
	}
}

func TestEveryPageOfHelpFitsATerminal(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	for _, verb := range terminal.Verbs(newCommandLine(io.Discard).app) {
		var page bytes.Buffer
		if code := Run(t.Context(), append(strings.Fields(verb.Name), "--help"), &page, &page); code != exitDone {
			t.Fatalf("%s: exit %d", verb.Name, code)
		}
		for line := range strings.Lines(page.String()) {
			if wide := utf8.RuneCountInString(strings.TrimSpace(line)); wide > 80 {
				t.Errorf("uma-load %s --help: %d columns: %s", verb.Name, wide, line)
			}
		}
		if n := strings.Count(page.String(), "\n"); n > 60 {
			t.Errorf("uma-load %s --help: %d lines", verb.Name, n)
		}
		if verb.Name == "" && (strings.Contains(page.String(), "Others:") || strings.Count(page.String(), "\n") > 50) {
			t.Errorf("the first page has verbs without a group, or more than a screen:\n%s", page.String())
		}
	}
}
