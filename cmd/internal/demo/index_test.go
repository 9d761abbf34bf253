package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// begun is a demo in a folder of its own that has no result yet.
func begun(t *testing.T) *shown {
	t.Helper()
	out := t.TempDir()
	return &shown{
		out: out, folder: filepath.Join(out, "demo-1"), begun: time.Now(), ended: time.Now(),
		campaigns: campaignsOf(showOptions{}), trials: trialsOf(),
	}
}

// reported returns the page that a demo writes.
func reported(t *testing.T, s *shown) string {
	t.Helper()
	if err := (Program{}).writeReport(s); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.out, reportName))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func contains(t *testing.T, page string, wanted ...string) {
	t.Helper()
	for _, want := range wanted {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
}

func TestThePageLinksWhatUmaLoadWroteAndGivesItsResults(t *testing.T) {
	s := begun(t)
	c := compared(t, 3, 0)
	c.dir, c.page = filepath.Join(s.folder, "equal"), filepath.Join(s.folder, "equal-comparison.html")
	s.campaigns = []*shownCampaign{c}
	run := summary.Run{Folder: rundir.Folder(filepath.Join(s.folder, "rehydrate"))}
	run.Summary.Valid, run.Summary.Signals.SSDRehydrate.Grade = true, evidence.Proven
	s.trials[0].run = &run
	s.heat = &shownHeat{event: events()[2], host: heatHost, from: s.begun, fired: s.begun.Add(8 * time.Second), until: s.begun.Add(9 * time.Second)}
	s.alerts = []string{"ContainerLimitUncovered", heatAlert}
	contains(t, reported(t, s),
		"Simulated.", "container minus native: &#43;11.0 GiB (ABBA: worse)", "inside the interval", "(n = 4 and 3 starts)",
		`href="./demo-1/equal-comparison.html"`, `href="./demo-1/equal/report.html"`, `href="./demo-1/rehydrate/report.html"`, `href="./demo-1"`,
		"blocks back from the drive: proven", "Alert GPUHot fired on spark-heat 8s after the room got hot.", "ContainerLimitUncovered, GPUHot", "uma-demo --seed 0")
}

func TestADifferenceOutsideOfItsIntervalIsRed(t *testing.T) {
	s := begun(t)
	c := compared(t, 0, 0)
	for i := range c.accounts {
		c.accounts[i].occupiedWithoutKVBytes *= int64(i + 1)
	}
	s.campaigns = []*shownCampaign{c}
	contains(t, reported(t, s), `<tr class="bad"`, "outside the interval")
}

func TestAnInterruptedDemoHasAPageThatNamesItsGaps(t *testing.T) {
	s := begun(t)
	s.interrupted = true
	s.campaigns[0].fault = "no space left on device"
	s.problems = []string{"<script>"}
	contains(t, reported(t, s), "This page is partial", "no space left on device", notMade, "No comparison was made.", "&lt;script&gt;")
}

func TestLinksOfThePageAreRelativeAndLeadNowhereElse(t *testing.T) {
	s := begun(t)
	for path, want := range map[string]string{
		filepath.Join(s.folder, "blocks", "report.html"): "./demo-1/blocks/report.html",
		s.out:                           "./.",
		"/etc/passwd":                   "",
		filepath.Join(s.out, "..", "x"): "",
		"":                              "",
	} {
		if got := s.address(path); got != want {
			t.Errorf("%q leads to %q, want %q", path, got, want)
		}
	}
}
