package loadgen

import (
	"io"
	"regexp"
	"strings"
	"testing"
)

// TestTheCommandsOfTheReadmeAreOnes parses the commands of both READMEs: their verbs and flags exist. What runs of campaigns do is
// tried by their own page.
func TestTheCommandsOfTheReadmeAreOnes(t *testing.T) {
	typed := 0
	for _, match := range regexp.MustCompile("(?m)(?:^|`)(?:go run ./cmd/)?uma-load ([a-z]+ [^`\\n]*)").FindAllStringSubmatch(text(t, "../README.md")+text(t, "README.md"), -1) {
		line, _, _ := strings.Cut(match[1], "  #")
		line, _, _ = strings.Cut(line, " > ")
		if _, _, err := newCommandLine(io.Discard).parse(strings.Fields(line)); err != nil {
			t.Errorf("uma-load %s: %v", line, err)
		}
		typed++
	}
	if typed < 15 {
		t.Errorf("%d commands were found", typed)
	}
}
