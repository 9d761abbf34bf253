package main

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/collector"
)

// values are the samples of a machine's page by series.
func values(t *testing.T, s *spark) map[string]string {
	t.Helper()
	recorder := httptest.NewRecorder()
	s.ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	all := map[string]string{}
	for line := range strings.Lines(recorder.Body.String()) {
		if i := strings.LastIndex(line, " "); i > 0 && !strings.HasPrefix(line, "#") && strings.HasPrefix(line, "uma_") {
			all[line[:i]] = line[i:]
		}
	}
	return all
}

// different counts the series of both whose values differ.
func different(a, b map[string]string) (n int) {
	for series, value := range a {
		if other, is := b[series]; is && other != value {
			n++
		}
	}
	return n
}

// TestMachinesDifferAndMove: none is a copy of another, and none stands still. Most series of a machine are sizes, limits
// and states, which do neither.
func TestMachinesDifferAndMove(t *testing.T) {
	var pages []map[string]string
	for n := range 2 {
		s, err := newSpark(n, collector.SourceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer s.seen.GPU.Close()
		before := values(t, s)
		s.last = s.last.Add(-20 * time.Second)
		after := values(t, s)
		t.Logf("machine %d: %d of %d values moved", n, different(before, after), len(before))
		if moved := different(before, after); moved < 70 {
			t.Errorf("machine %d: %d of %d values moved in 20 seconds", n, moved, len(before))
		}
		pages = append(pages, after)
	}
	t.Logf("%d of %d values differ between two machines", different(pages[0], pages[1]), len(pages[0]))
	if n := different(pages[0], pages[1]); n < 70 {
		t.Errorf("%d of %d values differ between two machines", n, len(pages[0]))
	}
}

// TestOnlyPlacesOfTheConfigurationAreChanged, and the interval if another one is asked for.
func TestOnlyPlacesOfTheConfigurationAreChanged(t *testing.T) {
	original, err := os.ReadFile("../../../compose/prometheus/prometheus.yml")
	if err != nil {
		t.Fatal(err)
	}
	for interval, want := range map[time.Duration][]string{
		5 * time.Second:  {"alerts/*.yaml", "exporter.yml", "load.yml", "results.yml", "engine.yml", "targets: [\"127.0.0.1:1\"]"},
		15 * time.Second: {"scrape_interval: 15s", "evaluation_interval: 15s"},
	} {
		s := &stage{wish: wish{checkout: "../../..", interval: interval}, folder: t.TempDir(), address: "127.0.0.1:1"}
		if err := s.configure(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(filepath.Join(s.folder, "prometheus.yml"))
		if err != nil {
			t.Fatal(err)
		}
		before, after := strings.Split(string(original), "\n"), strings.Split(string(text), "\n")
		if len(before) != len(after) {
			t.Fatalf("%d lines became %d", len(before), len(after))
		}
		changed := ""
		for i := range before {
			if before[i] != after[i] {
				changed += after[i] + "\n"
			}
		}
		for _, one := range want {
			if !strings.Contains(changed, one) {
				t.Errorf("at %s, %q was not changed:\n%s", interval, one, changed)
			}
		}
		if n, most := strings.Count(changed, "\n"), 8; n > most {
			t.Errorf("at %s, %d lines were changed, want %d at most:\n%s", interval, n, most, changed)
		}
	}
}

func TestWhatTheKernelSaysIsRead(t *testing.T) {
	if got := kilobytes("Name: x\nVmHWM:\t  2048 kB\nVmRSS:\t  1024 kB\n", "VmRSS:"); got != 1<<20 {
		t.Errorf("VmRSS is %d", got)
	}
	if got := kilobytes("Name: x\n", "VmRSS:"); got != 0 {
		t.Errorf("what is not there is %d", got)
	}
	first, err := busy()
	if err != nil || first <= 0 {
		t.Fatal(first, err)
	}
}
