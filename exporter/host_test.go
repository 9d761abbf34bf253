package exporter

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"

	"github.com/umascope/umascope/exporter/nvml"
	"github.com/umascope/umascope/exporter/sim"
)

// TestEnginesAreLookedForOnTheRunningMachineOnly holds that no other host can reach its listeners, nor its endpoints
// where it is a copy or a simulation.
func TestEnginesAreLookedForOnTheRunningMachineOnly(t *testing.T) {
	copied := t.TempDir()
	must(t, os.WriteFile(filepath.Join(copied, "meminfo"), []byte("MemTotal: 4 kB\nMemFree: 2 kB\n"), 0o600))
	calls := filepath.Join(t.TempDir(), "calls")
	file, err := os.Create(calls)
	must(t, err)
	recorder := nvml.Record(nvml.Live(), file)
	recorder.Init()
	recorder.Shutdown()
	must(t, errors.Join(recorder.Err(), file.Close()))
	for name, c := range map[string]struct {
		args  []string
		looks bool
	}{
		"this machine":      {nil, true},
		"a recording":       {[]string{"--replay=hosts/h200-load.txtar"}, false},
		"a copy of /proc":   {[]string{"--path.procfs=" + copied}, false},
		"a recorded driver": {[]string{"--nvml.replay=" + calls}, false},
	} {
		line, err := parse(append([]string{"doctor"}, c.args...), io.Discard, io.Discard)
		must(t, err)
		opened, err := line.openHost(true)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if looks := opened.Loopback != nil; looks != c.looks || line.options.Sources.NoDiscovery {
			t.Errorf("%s: looks for engines: %v", name, looks)
		}
		must(t, opened.close())
	}
	simulated, err := sim.New(sim.Config{})
	must(t, err)
	defer simulated.Close()
	if simulated.Collect().Loopback != nil {
		t.Error("a simulated host looks for engines of this machine")
	}
	line, err := parse([]string{"doctor", "--no-discovery"}, io.Discard, io.Discard)
	must(t, err)
	if !line.options.Sources.NoDiscovery {
		t.Error("--no-discovery is ignored")
	}
}
