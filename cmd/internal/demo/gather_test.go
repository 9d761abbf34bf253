package demo

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// made is a demo of which nothing but its folder was made.
func made(t *testing.T) *shown {
	t.Helper()
	out := t.TempDir()
	return &shown{
		out: out, folder: filepath.Join(out, "demo-1"), begun: time.Now(), ended: time.Now(),
		campaigns: campaignsOf(showOptions{}), trials: trialsOf(),
	}
}

// reported is the page that a demo writes.
func reported(t *testing.T, s *shown) string {
	t.Helper()
	if err := (Program{}).writeReport(t.Context(), s); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(s.out, reportName))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAnInterruptedDemoHasAPageThatNamesItsGaps(t *testing.T) {
	s := made(t)
	s.interrupted = true
	s.campaigns[0].Fault = "no space left on device"
	text := reported(t, s)
	for _, want := range []string{"This page is partial", "no space left on device", "the demo was ended before it was made"} {
		if !strings.Contains(text, want) {
			t.Errorf("the page does not say %q", want)
		}
	}
}

func TestLinksOfThePageAreRelativeAndLeadNowhereElse(t *testing.T) {
	s := made(t)
	for path, want := range map[string]string{
		filepath.Join(s.folder, "blocks", "report.html"): "./demo-1/blocks/report.html",
		s.out:                           "./.",
		"/etc/passwd":                   "",
		filepath.Join(s.out, "..", "x"): "",
		"":                              "",
	} {
		if got := s.link("it", path).Address; got != want {
			t.Errorf("%q leads to %q, want %q", path, got, want)
		}
	}
}

func TestCommandsStandThereAsAPersonTypesThem(t *testing.T) {
	got := typed([]string{"run", "--label", "arm=a b", "--set", "it's", "--out", "/tmp/x", ""})
	if want := `uma-load run --label 'arm=a b' --set 'it'\''s' --out /tmp/x ''`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

func TestATrialThatCannotBeReadShowsItsReason(t *testing.T) {
	s := made(t)
	s.trials[0].folder = filepath.Join(s.folder, "none")
	if page := s.rehydration(); page.Run != nil || !strings.Contains(page.Fault, "none") {
		t.Errorf("%+v", page)
	}
}

func TestThePageCacheOfAnAccountIsListedByFile(t *testing.T) {
	a := account{
		arm: "container", occupiedWithoutKVBytes: 101 * gib, kvBytes: 17 * gib,
		cachedBytes: map[string]int64{weightsFile: 20 * gib, imageFile: 9 * gib, containerWeightsFile: 20 * gib, "/var/log/journal": gib, "/usr/lib": 2 * gib},
	}
	start := a.page()
	named := map[string]float64{}
	for _, p := range start.Cached {
		named[p.Name] = p.Bytes
	}
	if start.OccupiedWithoutKVBytes != 101*gib || start.KVBytes != 17*gib || total(start.Cached) != 52*gib {
		t.Errorf("%+v", start)
	}
	if named["other files"] != 3*gib || named["layers of the image"] != 9*gib {
		t.Errorf("%v", named)
	}
}
