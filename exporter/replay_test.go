package exporter

import (
	"bytes"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// runHere runs a command in this process and returns what it prints.
func runHere(t *testing.T, args ...string) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	if code := Run(t.Context(), args, &stdout, &stderr); code != 0 {
		t.Fatalf("%q: exit %d: %s", args, code, stderr.String())
	}
	return stdout.String()
}

// TestAReplayedMachineIsWhole compares the page of every machine's file with its golden page.
func TestAReplayedMachineIsWhole(t *testing.T) {
	eachHost(t, func(t *testing.T, name string) {
		file := filepath.Join("hosts", name+".txtar")
		page := runHere(t, "--once", "--gpu.pcie", "--replay", file)
		golden := readText(t, filepath.Join("testdata", name+".prom"))
		if got := string(normalise([]byte(page))); got != golden {
			t.Errorf("%s", firstDifference(got, golden))
		}
		mode := "mode REPLAY: "
		if strings.Contains(page, `uma_exporter_mode{mode="constructed"} 1`) {
			mode = "mode CONSTRUCTED: "
		}
		for _, verb := range []string{"explain", "doctor"} {
			if text := runHere(t, verb, "--replay", file); !strings.Contains(text, mode) {
				t.Errorf("%s is not labelled:\n%s", verb, text)
			}
		}
	})
}

// firstDifference shows the first line in which two texts differ.
func firstDifference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range a {
		if i >= len(b) || a[i] != b[i] {
			other := "nothing"
			if i < len(b) {
				other = b[i]
			}
			return "got  " + a[i] + "\nwant " + other
		}
	}
	return "the end is missing"
}

// TestThisMachineRecordedAndReplayed records the machine that the test runs on and reads the recording.
func TestThisMachineRecordedAndReplayed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "host.txtar")
	if printed := runHere(t, "record", file); !strings.Contains(printed, "--replay "+file) {
		t.Errorf("record does not show how it is read: %s", printed)
	}
	page := runHere(t, "--once", "--replay", file)
	pool := regexp.MustCompile(`(?m)^uma_memory_pool_bytes .*$`)
	if live := pool.FindString(runHere(t, "--once")); live == "" || pool.FindString(page) != live {
		t.Errorf("pool %q, live %q", pool.FindString(page), live)
	}
	wantIn(t, page, `uma_exporter_mode{mode="replay"} 1`, `uma_collector_state{collector="memory",state="ok"} 1`)
	if text := runHere(t, "explain", "--replay", file); !strings.Contains(text, "mode REPLAY") || !strings.Contains(text, "Memory pool") {
		t.Errorf("explain:\n%s", text)
	}
}

// TestARecordingHasNoKernelLog holds that doctor shows the kernel log of a recording neither as given nor as lacking.
func TestARecordingHasNoKernelLog(t *testing.T) {
	text := runHere(t, "doctor", "--collector.host.kernel-log", "--replay=hosts/gb10-idle.txtar")
	if strings.Contains(text, "kernel_log") {
		t.Error(text)
	}
}
