//go:build proof

package demo

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// What a DGX Spark can do: the GPU draws at most its cap and what leaks when it is hot, of a supply of 140 W.
const (
	mostWatts   = 140
	leastWatts  = 3
	mostHertz   = 3.003e9
	mostCPUs    = 20
	mostCelsius = 105
	// pageSlack is by how much the time of a sample may be off that of its counters: a tick, and the making of a page.
	pageSlack = 500 * time.Millisecond
)

// finishedDemo is the folder that the environment names, or a quick demo.
func finishedDemo(t *testing.T) string {
	t.Helper()
	if folder := os.Getenv("UMASCOPE_DEMO"); folder != "" {
		return folder
	}
	folder := t.TempDir()
	var stdout, stderr bytes.Buffer
	if code := program(&stdout, &stderr).Run(t.Context(), []string{"--quick", "--out", folder}); code != exitDone {
		t.Logf("exit code %d: %s", code, &stderr) // a busy computer may lose a run: those that there are count
	}
	return folder
}

// TestNoFigureOfADemoIsImpossible reads every run of a finished demo: powers, clocks, busy shares and temperatures that
// the machine can have, energy that is the power over time, and ledgers that add up.
func TestNoFigureOfADemoIsImpossible(t *testing.T) {
	folder := finishedDemo(t)
	var paths []string
	for _, pattern := range []string{"*", "*/*"} { // trials, and runs of campaigns
		found, err := filepath.Glob(filepath.Join(folder, "demo-*", pattern, rundir.SummaryFile))
		if err != nil {
			t.Fatal(err)
		}
		paths = append(paths, found...)
	}
	for _, path := range paths {
		r, err := summary.Open(filepath.Dir(path))
		if err != nil {
			t.Error(err)
			continue
		}
		checkSummary(t, r)
		checkTelemetry(t, r)
	}
	if len(paths) < 5 {
		t.Fatalf("%d runs", len(paths))
	}
}

func checkSummary(t *testing.T, r summary.Run) {
	t.Helper()
	id := r.Summary.Run
	var measured float64 // seconds
	for _, p := range r.Summary.Phases {
		if p.Measured {
			measured += p.End - p.Start
		}
	}
	for _, m := range r.Summary.Machines {
		if e := m.Energy; e != nil && measured > 0 {
			if watts := e.Joules / measured; e.Joules > mostWatts*(measured+pageSlack.Seconds()) || watts < leastWatts {
				t.Errorf("%s: %.0f J in %.2f s are %.0f W", id, e.Joules, measured, watts)
			}
		}
		if h := m.Thermal; h != nil {
			for _, celsius := range []*float64{h.StartCelsius, h.MaxCelsius, h.EndCelsius} {
				if celsius != nil && (*celsius < 20 || *celsius > mostCelsius) {
					t.Errorf("%s: %v degrees", id, *celsius)
				}
			}
		}
		mem := m.Memory
		if mem == nil {
			continue
		}
		for moment, lines := range map[string]map[string]float64{"start": mem.LedgerAt.Start, "ready": mem.LedgerAt.Ready, "peak": mem.LedgerAt.Peak} {
			sum := 0.0
			for _, bytes := range lines {
				sum += bytes
			}
			if len(lines) > 0 && sum != *mem.Pool {
				t.Errorf("%s: the ledger at %s is of %.3f GiB, the pool of %.3f", id, moment, sum/gib, *mem.Pool/gib)
			}
		}
		if kv := r.Summary.KV; kv != nil && kv.CapacityBytes != nil && mem.OccupiedWithoutKV != nil && r.Manifest.Scenario == scenarioStandard {
			want := kvShare * (*mem.Pool - *mem.OccupiedWithoutKV)
			// Between the two moments the desktop takes or gives up to 2 GiB, and what the engine grows by is taken at most.
			if more := *kv.CapacityBytes - want; more < -2*gib || more > 2*gib+workspaceBytes+heapBytes {
				t.Errorf("%s: %.2f GiB of KV cache, %.2f by what was free", id, *kv.CapacityBytes/gib, want/gib)
			}
		}
	}
}

// checkTelemetry holds every sample against what the machine can do, and counters against gauges.
func checkTelemetry(t *testing.T, r summary.Run) {
	t.Helper()
	log, err := telemetry.Read(r.Path(rundir.TelemetryFile))
	if err != nil {
		t.Errorf("%s: %v", r.Summary.Run, err)
		return
	}
	for _, source := range log.Sources {
		for _, gauge := range []struct {
			of          metric.Definer
			least, most float64
		}{
			{metric.GPUPowerWatts, leastWatts, mostWatts}, {metric.GPUSMClockHertz, 0, mostHertz}, {metric.GPUUtilizationRatio, 0, 1},
			{metric.GPUTemperatureCelsius, 20, mostCelsius}, {metric.NVMeTemperatureCelsius, 20, mostCelsius},
		} {
			for _, s := range source.Find(gauge.of) {
				for p := range s.Points() {
					if p.Value < gauge.least || p.Value > gauge.most {
						t.Errorf("%s: %s is %v", r.Summary.Run, s.Key(), p.Value)
					}
				}
			}
		}
		for _, counter := range []struct {
			of   metric.Definer
			most float64 // a second
		}{
			{metric.GPUEnergyJoulesTotal, mostWatts}, {metric.GPUClockEventSecondsTotal, 1}, {metric.CPUSecondsTotal, mostCPUs}, {metric.NVMeIOTimeSecondsTotal, 1}, {metric.PressureStalledSecondsTotal, 1},
		} {
			for _, s := range source.Find(counter.of) {
				first, last, n := telemetry.Point{}, telemetry.Point{}, 0
				for p := range s.Points() {
					if n++; n == 1 {
						first = p
					}
					last = p
				}
				apart := time.Duration(last.AtNS - first.AtNS)
				if grown := last.Value - first.Value; grown > counter.most*(apart+pageSlack).Seconds() {
					t.Errorf("%s: %s has grown by %v in %v", r.Summary.Run, s.Key(), grown, apart)
				}
			}
		}
		checkEnergy(t, r.Summary.Run, source)
	}
}

// checkEnergy holds the counted energy against the integral of the powers that were sampled.
func checkEnergy(t *testing.T, run string, source *telemetry.SourceLog) {
	t.Helper()
	energy, power := source.Find(metric.GPUEnergyJoulesTotal), source.Find(metric.GPUPowerWatts)
	if len(energy) != 1 || len(power) != 1 {
		return // a page of the client
	}
	var sum, seconds float64
	var before *telemetry.Point
	for p := range power[0].Points() {
		if before != nil {
			apart := time.Duration(p.AtNS - before.AtNS).Seconds()
			sum, seconds = sum+apart*(p.Value+before.Value)/2, seconds+apart
		}
		before = &p
	}
	var counted []float64
	for p := range energy[0].Points() {
		counted = append(counted, p.Value)
	}
	if seconds < 3 || len(counted) < 2 {
		return // too short for its samples to be an integral
	}
	if joules := counted[len(counted)-1] - counted[0]; math.Abs(joules-sum) > 0.4*sum {
		t.Errorf("%s: %.0f J are counted in %.1f s, and %.0f J by the powers that were sampled", run, joules, seconds, sum)
	}
}
