package loadgen

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

func TestAVerboseRunTellsEveryRequestAndKeepsNoMoreThanAnother(t *testing.T) {
	url := engine(t, 100*time.Microsecond)
	args := []string{"--url", url, "--requests=5", "--warmup=0", "--output-tokens=4", "--log.level=error"}
	line := regexp.MustCompile(`(?m)^measure \d: ok, .*$`)
	_, _, _, quiet := invoke(t, t.Context(), args...)
	_, _, _, verbose := invoke(t, t.Context(), append(args, "--verbose")...)
	_, path, _, talkative := invoke(t, t.Context(), append(args, "--print-content")...)
	if line.MatchString(quiet) || len(line.FindAllString(verbose, -1)) != 5 || len(line.FindAllString(talkative, -1)) != 5 {
		t.Errorf("quiet: %s\nverbose: %s\ntalkative: %s", quiet, verbose, talkative)
	}
	if strings.Contains(verbose, "answered: ") || strings.Count(talkative, "  asked: Words:") != 5 || len(regexp.MustCompile(`(?m)^  answered: \S`).FindAllString(talkative, -1)) != 5 {
		t.Errorf("verbose: %s\ntalkative: %s", verbose, talkative)
	}
	if _, err := os.Stat(filepath.Join(path, rundir.OutputsFile)); err == nil {
		t.Error("outputs nobody asked for were kept")
	}
}
