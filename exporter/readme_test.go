package exporter

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestTheReadmeShowsWhatExplainPrints: the lines of the block are printed for the constructed Spark, in that order; … stands for
// lines that the page leaves out.
func TestTheReadmeShowsWhatExplainPrints(t *testing.T) {
	page, err := os.ReadFile("../README.md")
	must(t, err)
	_, block, found := strings.Cut(string(page), "```text\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("README.md has no output of explain")
	}
	var printed, complained bytes.Buffer
	if code := Run(t.Context(), []string{"explain", "--replay", "hosts/gb10-load.txtar"}, &printed, &complained); code != 0 {
		t.Fatalf("exit %d: %s", code, complained.String())
	}
	rest := printed.String()
	for part := range strings.SplitSeq(block, "…\n") {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Fatalf("explain does not print\n%s\nin\n%s", part, printed.String())
		}
		rest = after
	}
}
