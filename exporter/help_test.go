package exporter

import (
	"bytes"
	"io"
	"os/exec"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/umascope/umascope/cmd/terminal"
)

func TestEveryVerbHasExamplesThatAreAccepted(t *testing.T) {
	line, err := parse([]string{"doctor"}, io.Discard, io.Discard)
	must(t, err)
	for _, verb := range terminal.Verbs(line.app) {
		examples := verb.Examples
		if verb.Name == "" {
			for _, first := range guide().First {
				first, _, _ = strings.Cut(first, "  #")
				examples = append(examples, first)
			}
		}
		own := false
		for _, example := range examples {
			out, err := exec.Command("sh", "-c", `printf '%s\0' `+example).Output() // the words that a shell makes of it
			if err != nil {
				t.Fatalf("%s: %v", example, err)
			}
			args := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")[1:]
			parsed, err := parse(args, io.Discard, io.Discard)
			if err != nil {
				t.Errorf("%s: %v", example, err)
			}
			own = own || verb.Name == "" || parsed.command == verb.Name
		}
		if !own {
			t.Errorf("uma-exporter %s: its help has no example of it", verb.Name)
		}
	}
}

// TestEveryFlagIsExplainedInTwoLines: a page of many flags is looked through, not read.
func TestEveryFlagIsExplainedInTwoLines(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	for verb, least := range map[string]int{"serve": 40, "explain": 20, "fit": 25, "doctor": 20} {
		var page bytes.Buffer
		if code := Run(t.Context(), []string{verb, "--help"}, &page, &page); code != exitDone {
			t.Fatalf("%s: exit %d", verb, code)
		}
		all := terminal.LinesOfFlags(page.String())
		if len(all) < least {
			t.Errorf("%s: %d flags were found in\n%s", verb, len(all), page.String())
		}
		for flag, lines := range all {
			if (lines == 0 || lines > 2) && flag != "--gpu.memory-architecture" { // which lists what there is
				t.Errorf("uma-exporter %s --help: %d lines explain %s", verb, lines, flag)
			}
		}
	}
}

func TestEveryPageOfHelpFitsATerminal(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	line, err := parse([]string{"doctor"}, io.Discard, io.Discard)
	must(t, err)
	for _, verb := range terminal.Verbs(line.app) {
		var page bytes.Buffer
		if code := Run(t.Context(), append(strings.Fields(verb.Name), "--help"), &page, &page); code != exitDone {
			t.Fatalf("%s: exit %d", verb.Name, code)
		}
		for line := range strings.Lines(page.String()) {
			if wide := utf8.RuneCountInString(strings.TrimSpace(line)); wide > 80 {
				t.Errorf("uma-exporter %s --help: %d columns: %s", verb.Name, wide, line)
			}
		}
		if verb.Name == "" && strings.Contains(page.String(), "Others:") {
			t.Errorf("the first page has verbs without a group:\n%s", page.String())
		}
	}
}
