package runner

import (
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/workload"
)

// engine serves a simulated engine; step is the time of a token.
func engine(t *testing.T, step time.Duration) (url string) {
	t.Helper()
	_, url, stop, err := sim.Serve(sim.Immediate(step))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return url
}

// surroundings are a folder of runs, for one called r1, and an environment with a live page.
func surroundings(t *testing.T) (Keep, Environment) {
	t.Helper()
	log := slog.New(slog.DiscardHandler)
	page, err := OpenLivePage(ListenAddress{HostPort: "127.0.0.1:0"}, Network{}, log)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(page.Close)
	keep := Keep{Out: t.TempDir(), RunID: "r1", Capture: CaptureSettings{Interval: 100 * time.Millisecond}, Labels: map[string]string{"arm": "default", "host": "spark1"}}
	// The machine that runs the tests is shared, and may well be late.
	keep.Validity = []string{"client_lag=off", "client_stall=off", "stream_buffered=off"}
	if keep.Limits, err = summary.ParseLimits(keep.Validity); err != nil {
		t.Fatal(err)
	}
	return keep, Environment{Stdout: io.Discard, Stderr: io.Discard, Console: NewConsole(io.Discard, ProgressNone), Log: log, Page: page}
}

// runOf is a run of the flags of a load, in a folder of runs.
func runOf(t *testing.T, url string, flags ...string) (m *measurement, out string) {
	t.Helper()
	var load Load
	app := kingpin.New("load", "")
	server.Flags(app, &load.Target, supported.Engines())
	server.ReadyFlags(app, &load.Target)
	workload.Flags(app, &load.Settings)
	if _, err := app.Parse(append([]string{"--url", url, "--wait-ready=1m"}, flags...)); err != nil {
		t.Fatal(err)
	}
	if err := load.Resolve(load.Target.Endpoint); err != nil {
		t.Fatal(err)
	}
	keep, env := surroundings(t)
	return newMeasurement(keep, load, env), keep.Out
}

// read reads a file of JSON.
func read[T any](t *testing.T, path string) T {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var value T
	if err := json.Unmarshal(text, &value); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return value
}
