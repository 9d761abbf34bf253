package main

import (
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/umascope/umascope/cmd/terminal"
)

func TestHelpHasExamplesThatAreAcceptedAndFitsATerminal(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	previews := 0
	for _, example := range terminal.Verbs(application(&flags{}))[0].Examples {
		args := strings.Fields(example)[1:]
		if len(args) > 0 && args[0] == previewName {
			previews++
			if _, _, err := parsePreview(args[1:], io.Discard, io.Discard); err != nil {
				t.Errorf("%s: %v", example, err)
			}
			continue
		}
		var asked flags
		if _, err := application(&asked).Parse(args); err != nil || asked.what != "" && !strings.Contains(names(), asked.what) {
			t.Errorf("%s: %+v, %v", example, asked, err)
		}
	}
	if previews == 0 {
		t.Error("the help does not show the preview")
	}
	for _, args := range [][]string{{"--help"}, {"preview", "--help"}} {
		code, page, _ := runIn(t, args...)
		if code != exitDone || !strings.Contains(page, "  uma-gen "+strings.TrimSuffix(args[0], "--help")) {
			t.Errorf("%v: exit %d, without an example:\n%s", args, code, page)
		}
		for line := range strings.Lines(page) {
			if utf8.RuneCountInString(strings.TrimSpace(line)) > 80 {
				t.Errorf("%v: too wide: %s", args, line)
			}
		}
	}
}

func TestVersionIsPrinted(t *testing.T) {
	if code, out, _ := runIn(t, "--version"); code != exitDone || !strings.HasPrefix(out, "uma-gen ") || !strings.Contains(out, ", go1.") {
		t.Errorf("exit %d: %q", code, out)
	}
}
