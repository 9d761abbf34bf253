package exporter

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
)

// comingFrom returns the pages for users of other tools, and the one about those that look at machines.
func comingFrom(t *testing.T) (pages, monitors string) {
	t.Helper()
	parts, err := filepath.Glob("../loadgen/coming_from/*.md")
	must(t, err)
	for _, path := range append(parts, "../loadgen/COMING_FROM.md") {
		text, err := os.ReadFile(path)
		must(t, err)
		pages += string(text)
		if path == "../loadgen/coming_from/nvidia-smi.md" {
			monitors = string(text)
		}
	}
	if monitors == "" {
		t.Fatal("no page is about nvidia-smi")
	}
	return pages, monitors
}

var codeSpan = regexp.MustCompile("`([^`\n]+)`")

// TestTheCommandsOfThePageForOthersAreAccepted: those in the text are parsed, of those to be typed the ones
// that end by themselves are typed.
func TestTheCommandsOfThePageForOthersAreAccepted(t *testing.T) {
	page, monitors := comingFrom(t)
	accepted := func(words []string) {
		t.Helper()
		if _, err := parse(words, io.Discard, io.Discard); err != nil {
			t.Errorf("uma-exporter %s: %v", strings.Join(words, " "), err)
		}
	}
	parsed, typed := 0, 0
	for _, span := range codeSpan.FindAllStringSubmatch(page, -1) {
		if line, ours := strings.CutPrefix(span[1], "uma-exporter "); ours {
			accepted(strings.Fields(line))
			parsed++
		}
	}
	for _, line := range regexp.MustCompile("(?m)^uma-exporter (.*)$").FindAllStringSubmatch(monitors, -1) {
		typed++
		if strings.HasPrefix(line[1], "--process ") { // serves until it is ended
			accepted(strings.Fields(strings.ReplaceAll(line[1], "'", "")))
			continue
		}
		words, _, _ := strings.Cut(line[1], " > ")
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), strings.Fields(words), &stdout, &stderr); code != 0 || !strings.Contains(strings.ToLower(stdout.String()), "memory") {
			t.Errorf("%s: exit %d: %s%s", line[0], code, stdout.String(), stderr.String())
		}
	}
	if parsed < 4 || typed < 4 {
		t.Errorf("%d commands were parsed and %d typed", parsed, typed)
	}
}

// TestThePageForOthersNamesFlagsThatThereAre: beside a column of another tool stands what is ours.
func TestThePageForOthersNamesFlagsThatThereAre(t *testing.T) {
	_, monitors := comingFrom(t)
	line, err := parse([]string{"explain"}, io.Discard, io.Discard)
	must(t, err)
	known := map[string]bool{}
	var add func([]*kingpin.CmdModel)
	add = func(commands []*kingpin.CmdModel) {
		for _, c := range commands {
			for _, f := range c.Flags {
				known["--"+f.Name] = true
			}
			add(c.Commands)
		}
	}
	add(line.app.Model().Commands)
	seen := 0
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \| (.*) \|$`).FindAllStringSubmatch(monitors, -1) {
		for _, name := range regexp.MustCompile("`(--[a-z.-]+)").FindAllStringSubmatch(row[2], -1) {
			if seen++; !known[name[1]] {
				t.Errorf("no verb has %s", name[1])
			}
		}
	}
	if seen < 4 {
		t.Errorf("%d flags were found", seen)
	}
}
