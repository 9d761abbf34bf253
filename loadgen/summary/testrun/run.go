package testrun

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Run is the contents of a run folder before its summary is computed.
type Run struct {
	Manifest rundir.Manifest
	Phases   []rundir.Span
	Records  []openai.Record
	// Telemetry is the path of a telemetry file; empty for a run without one.
	Telemetry string
}

// New returns a valid run that measured these requests for 10 s, without telemetry.
func New(records ...openai.Record) Run {
	return Run{
		Manifest: rundir.Manifest{
			Schema: rundir.ManifestSchema, Run: "r", Scenario: "standard", State: rundir.StateComplete,
			Labels: map[string]string{"arm": "default", "host": "spark"}, Server: rundir.Server{Model: "m"},
			Judging: &rundir.Judging{
				Streaming: true, Unmeasured: []string{"warmup"}, Complete: true,
				Client: rundir.ClientHealth{Watched: true, StampedArrivals: true}, Model: rundir.ModelFindings{Checked: true},
			},
		},
		Phases:  []rundir.Span{{Name: "warmup"}, {Name: "measure", EndNS: 10e9}},
		Records: records,
	}
}

// Example returns a run of that length with a measured and a constructed machine, typical requests and an SLO.
func Example(t *testing.T, total time.Duration) Run {
	t.Helper()
	r := New(Loaded(total)...)
	r.Manifest.Run, r.Manifest.Server.Model = "20261101T120000Z-default-4f1c", "openai/gpt-oss-120b"
	r.Manifest.Labels["host"] = "spark-1"
	r.Manifest.Judging.SLO = "ttft=500ms,tpot=30ms"
	r.follow(t, total, map[string]Page{
		"spark-1":   {Mode: "live", Rest: Rest, Silent: func(s float64) bool { return s > 20.5 && s < 22.5 }},
		"gb10-load": {Mode: "constructed", Rest: func(s float64) float64 { return 2 * GiB * math.Cos(s/9) }},
	}, "spark-1", "gb10-load")
	return r
}

// OneMachine returns a run of 15 s on one host, with its page.
func OneMachine(t *testing.T, page Page, records ...openai.Record) Run {
	t.Helper()
	r := New(records...)
	r.follow(t, 15*time.Second, map[string]Page{"spark": page.filled()}, "spark")
	return r
}

// TwoMachines returns a run of 15 s on two machines, each with its page; spark-1 is its host.
func TwoMachines(t *testing.T, first, second Page, records ...openai.Record) Run {
	t.Helper()
	if second.Replace == nil {
		second.Replace = strings.NewReplacer("GPU-1", "GPU-9") // no two machines have the same
	}
	r := New(records...)
	r.Manifest.Labels["host"] = "spark-1"
	r.follow(t, 15*time.Second, map[string]Page{"spark-1": first.filled(), "spark-2": second.filled()}, "spark-2", "spark-1")
	return r
}

// filled returns the page with defaults for unset fields.
func (p Page) filled() Page {
	if p.Mode == "" {
		p.Mode = "live"
	}
	if p.Rest == nil {
		p.Rest = Rest
	}
	return p
}

// follow gives the run 5 s of warm-up, the rest of its time to measure, and the telemetry of pages.
func (r *Run) follow(t *testing.T, total time.Duration, pages map[string]Page, order ...string) {
	t.Helper()
	r.Phases = []rundir.Span{{Name: "warmup", EndNS: 5e9}, {Name: "measure", StartNS: 5e9, EndNS: total.Nanoseconds()}}
	path, stats := sample(t, pages, []telemetry.Phase{{Name: "warmup"}, {Name: "measure", AtNS: 5e9}}, total, order...)
	r.Telemetry, r.Manifest.Telemetry, r.Manifest.Judging.TelemetryRequested = path, &stats, true
}

// Recorded returns a command of 20 s whose telemetry begins 5 s before: it loads its engine, in which the KV cache is
// allocated at once, and measures.
func Recorded(t *testing.T, mode string, phases ...telemetry.Phase) Run {
	t.Helper()
	free, family := LoadingEngine(true), metric.MemoryCUDAFreeBytes.Def().Name
	page := Page{Mode: mode, Rest: Rest, Per: func(at float64) string { return fmt.Sprintf("FREE %g\n", free(at-5)*GiB) },
		Replace: strings.NewReplacer(family, "healthy", "FREE", family)}
	r := New()
	r.Telemetry, _ = sample(t, map[string]Page{"spark": page}, phases, 25*time.Second, "spark")
	r.Manifest.Server = rundir.Server{}
	j := r.Manifest.Judging
	j.Unmeasured, j.Client, j.Tool = nil, rundir.ClientHealth{}, Tool()
	j.Engine = &rundir.EngineReport{KV: new(30 * GiB), KVTokens: new(250_000.), Peak: new(71 * GiB), Source: "the log of trtllm-bench"}
	r.Phases = nil
	for i, p := range phases {
		end := int64(25e9)
		if i+1 < len(phases) {
			end = phases[i+1].AtNS
		}
		r.Phases = append(r.Phases, rundir.Span{Name: p.Name, StartNS: p.AtNS, EndNS: end})
		if p.Name != "measure" {
			j.Unmeasured = append(j.Unmeasured, p.Name)
		}
	}
	return r
}

// Tool returns the report of a command: an engine with a KV cache of 30 GiB, and a throughput.
func Tool(values ...spec.Reported) *rundir.ToolReport {
	return &rundir.ToolReport{Program: "trtllm-bench", Extractor: "trtllm", Version: "1.1.0", Ranks: 1, Values: append([]spec.Reported{
		{Name: spec.KVBytes, Unit: spec.UnitBytes, Meaning: "KV cache", Value: 30 * GiB, From: "stdout:9", Text: "Allocated 30.00 GiB"},
		{Name: spec.PeakBytes, Unit: spec.UnitBytes, Meaning: "peak", Value: 71 * GiB, From: "stdout:8"},
		{Name: spec.TTFTSeconds, Unit: spec.UnitSeconds, Meaning: "time to first token", Statistic: "p99", Value: .25, From: "stdout:20"},
		{Name: spec.OutputTokensPerSecond, Unit: spec.UnitPerSecond, Meaning: "output tokens per second", Value: 119.5, From: "stdout:19"},
	}, values...)}
}

// Write writes the folder of the run and returns its path.
func (r Run) Write(t testing.TB) string {
	t.Helper()
	dir := rundir.Folder(t.TempDir())
	put := func(name string, text []byte, err error) {
		t.Helper()
		if err == nil {
			err = os.WriteFile(dir.Path(name), text, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	manifest, err := json.Marshal(r.Manifest)
	put(rundir.ManifestFile, manifest, err)
	phases, err := json.Marshal(rundir.Phases{Schema: rundir.PhasesSchema, Phases: r.Phases})
	put(rundir.PhasesFile, phases, err)
	if r.Manifest.Judging.Tool == nil {
		put(rundir.RequestsFile, []byte(JSONLines(t, r.Records...)), nil)
	}
	if r.Telemetry != "" {
		log, err := os.ReadFile(r.Telemetry)
		put(filepath.Base(r.Telemetry), log, err)
	}
	return string(dir)
}
