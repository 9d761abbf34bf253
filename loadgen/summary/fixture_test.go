package summary

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/extract"
	"github.com/umascope/umascope/loadgen/folder"
	"github.com/umascope/umascope/loadgen/summary/testrun"
	"github.com/umascope/umascope/loadgen/telemetry"
)

func ptr[T any](v T) *T { return &v }

func input() Input {
	return Input{
		Run: "r", Scenario: "standard", Labels: map[string]string{"arm": "default", "host": "spark"},
		Model:  Model{ID: "m"},
		Phases: []folder.Span{{Name: "warmup", StartNS: 0, EndNS: 0}, {Name: "measure", StartNS: 0, EndNS: 10 * int64(time.Second)}},
		Judging: folder.Judging{
			Streaming: true, Unmeasured: []string{"warmup"}, Client: folder.ClientHealth{Watched: true}, Model: folder.ModelFindings{Checked: true},
		},
	}
}

func summarize(t *testing.T, in Input, records ...chat.Record) Summary {
	t.Helper()
	s, err := Summarize(in, testrun.Sequence(records...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func near(got *float64, want float64) bool { return got != nil && math.Abs(*got-want) < 1e-9 }

// exampleInput is a run of that length with a measured and a constructed machine.
func exampleInput(t *testing.T, total time.Duration) Input {
	t.Helper()
	in := input()
	in.Run, in.Model.ID = "20261101T120000Z-default-4f1c", "openai/gpt-oss-120b"
	in.Phases = []folder.Span{{Name: "warmup", StartNS: 0, EndNS: 5e9}, {Name: "measure", StartNS: 5e9, EndNS: total.Nanoseconds()}}
	in.TelemetryRequested = true
	in.Labels["host"] = "spark-1"
	in.Objectives = SLO{{"ttft", 500 * time.Millisecond}, {"tpot", 30 * time.Millisecond}}
	log, stats := testrun.Sampled(t, total, map[string]testrun.Page{
		"spark-1":   {Mode: "live", Rest: testrun.Rest, Silent: func(s float64) bool { return s > 20.5 && s < 22.5 }},
		"gb10-load": {Mode: "constructed", Rest: func(s float64) float64 { return 2 * testrun.GiB * math.Cos(s/9) }},
	}, "spark-1", "gb10-load")
	in.Telemetry, in.TelemetryStats = log, &stats
	return in
}

// two is a run on two machines, each with its page; spark-1 is its host.
func two(t *testing.T, first, second testrun.Page) Input {
	t.Helper()
	in := input()
	in.Labels["host"] = "spark-1"
	in.Phases = []folder.Span{{Name: "warmup", StartNS: 0, EndNS: 5e9}, {Name: "measure", StartNS: 5e9, EndNS: 15e9}}
	pages := map[string]testrun.Page{"spark-1": first, "spark-2": second}
	for name, page := range pages {
		if page.Mode == "" {
			page.Mode = "live"
		}
		if page.Rest == nil {
			page.Rest = testrun.Rest
		}
		if page.Replace == nil && name == "spark-2" {
			page.Replace = strings.NewReplacer("GPU-1", "GPU-9") // no two machines have the same
		}
		pages[name] = page
	}
	log, stats := testrun.Sampled(t, 15*time.Second, pages, "spark-2", "spark-1")
	in.Telemetry, in.TelemetryStats, in.TelemetryRequested = log, &stats, true
	return in
}

// tool is what a command said: an engine with a KV cache of 30 GiB, and a throughput.
func tool(values ...extract.Value) *folder.ToolReport {
	return &folder.ToolReport{Program: "trtllm-bench", Extractor: "trtllm", Version: "1.1.0", Ranks: 1, Values: append([]extract.Value{
		{Name: extract.KVBytes, Unit: extract.Bytes, Meaning: "KV cache", Value: 30 * testrun.GiB, From: "stdout:9", Text: "Allocated 30.00 GiB"},
		{Name: extract.PeakBytes, Unit: extract.Bytes, Meaning: "peak", Value: 71 * testrun.GiB, From: "stdout:8"},
		{Name: extract.TTFTSeconds, Unit: extract.Seconds, Meaning: "time to first token", Statistic: "p99", Value: .25, From: "stdout:20"},
		{Name: extract.OutputTokensPerSecond, Unit: extract.PerSecond, Meaning: "output tokens per second", Value: 119.5, From: "stdout:19"},
	}, values...)}
}

// recorded is a command of 20 s that was followed from 5 s before: it loads its engine, in which the
// KV cache is taken at once, and measures.
func recorded(t *testing.T, mode string, phases ...telemetry.Phase) Input {
	t.Helper()
	free := testrun.LoadingEngine(true)
	page := testrun.Page{Mode: mode, Rest: testrun.Rest, Per: func(at float64) string { return fmt.Sprintf("FREE %g\n", free(at-5)*testrun.GiB) },
		Replace: strings.NewReplacer("uma_memory_cuda_free_bytes", "healthy", "FREE", "uma_memory_cuda_free_bytes")}
	in := input()
	in.Telemetry, _ = testrun.SampledPhases(t, map[string]testrun.Page{"spark": page}, phases, 25*time.Second)
	in.Phases, in.Unmeasured, in.Client = nil, nil, folder.ClientHealth{}
	for i, p := range phases {
		end := int64(25e9)
		if i+1 < len(phases) {
			end = phases[i+1].AtNS
		}
		in.Phases = append(in.Phases, folder.Span{Name: p.Name, StartNS: p.AtNS, EndNS: end})
		if p.Name != "measure" {
			in.Unmeasured = append(in.Unmeasured, p.Name)
		}
	}
	in.Model, in.Tool = Model{}, tool()
	in.Engine = EngineOf(engineLog(t, "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 30.00 GiB for max tokens in paged KV cache (250000).",
		"[TRT-LLM] [I] Peak memory during memory usage profiling (torch + non-torch): 71.00 GiB"), "the log of trtllm-bench")
	return in
}

// engineLog is what TensorRT-LLM said.
func engineLog(t *testing.T, lines ...string) *extract.Reading {
	t.Helper()
	tool, err := extract.Find("trtllm")
	if err != nil {
		t.Fatal(err)
	}
	log := tool.Read()
	for i, line := range lines {
		log.Line("stdout", extract.Line{Number: i + 1, Text: line})
	}
	return log
}

// graded is the summary of a run without requests that has these signals.
func graded(t *testing.T, signals *evidence.Signals) Summary {
	t.Helper()
	s, err := Summarize(Input{Run: "r", Judging: folder.Judging{Evidence: signals}}, func(func(chat.Record, error) bool) {})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// machine is a run of 15 s on one host, whose page is altered.
func machine(t *testing.T, page testrun.Page) Input {
	t.Helper()
	in := input()
	in.Phases = []folder.Span{{Name: "warmup", StartNS: 0, EndNS: 5e9}, {Name: "measure", StartNS: 5e9, EndNS: 15e9}}
	if page.Mode == "" {
		page.Mode = "live"
	}
	if page.Rest == nil {
		page.Rest = testrun.Rest
	}
	log, stats := testrun.Sampled(t, 15*time.Second, map[string]testrun.Page{"spark": page}, "spark")
	in.Telemetry, in.TelemetryStats, in.TelemetryRequested = log, &stats, true
	return in
}
