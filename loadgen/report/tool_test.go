package report

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/extract"
	"github.com/umascope/umascope/loadgen/sheet"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// tool is what a command said: an engine with a KV cache of 30 GiB, and a throughput.
func tool(values ...extract.Value) *ToolReport {
	return &ToolReport{Program: "trtllm-bench", Extractor: "trtllm", Version: "1.1.0", Ranks: 1, Values: append([]extract.Value{
		{Name: extract.KVBytes, Unit: extract.Bytes, Meaning: "KV cache", Value: 30 * gib, From: "stdout:9", Text: "Allocated 30.00 GiB"},
		{Name: extract.PeakBytes, Unit: extract.Bytes, Meaning: "peak", Value: 71 * gib, From: "stdout:8"},
		{Name: extract.TTFTSeconds, Unit: extract.Seconds, Meaning: "time to first token", Statistic: "p99", Value: .25, From: "stdout:20"},
		{Name: extract.OutputTokensPerSecond, Unit: extract.PerSecond, Meaning: "output tokens per second", Value: 119.5, From: "stdout:19"},
	}, values...)}
}

// recorded is a command of 20 s that was followed from 5 s before: it loads its engine, in which the
// KV cache is taken at once, and measures.
func recorded(t *testing.T, mode string, phases ...telemetry.Phase) Input {
	t.Helper()
	free := loadingEngine(true)
	page := exporterPage{mode: mode, rest: nothing, per: func(at float64) string { return fmt.Sprintf("FREE %g\n", free(at-5)*gib) },
		replace: strings.NewReplacer("uma_memory_cuda_free_bytes", "healthy", "FREE", "uma_memory_cuda_free_bytes")}
	in := input()
	in.Telemetry, _ = sampledPhases(t, map[string]exporterPage{"spark": page}, phases, 25*time.Second)
	in.Phases, in.Warmup, in.Client = nil, nil, ClientHealth{}
	for i, p := range phases {
		end := int64(25e9)
		if i+1 < len(phases) {
			end = phases[i+1].AtNS
		}
		in.Phases = append(in.Phases, Phase{p.Name, p.AtNS, end})
		if p.Name != "measure" {
			in.Warmup = append(in.Warmup, p.Name)
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

func benchmark() []telemetry.Phase {
	return []telemetry.Phase{{Name: "before"}, {Name: "load", AtNS: 5e9}, {Name: "measure", AtNS: 15e9}}
}

func TestARecordedCommandIsJudgedWithoutRequests(t *testing.T) {
	s := summarize(t, recorded(t, "live", benchmark()...))
	if !s.Valid || s.Latency != nil || s.Throughput.RequestsPerSecond != nil || s.Phases["measure"].Latency != nil || len(s.Phases["measure"].Deltas) == 0 {
		t.Fatalf("%+v", s)
	}
	for _, check := range []string{"errors", "client", "stream"} {
		if slices.Contains(s.Checked, check) {
			t.Errorf("%s passes for checked: %v", check, s.Checked)
		}
	}
	for _, warning := range s.Warnings {
		if !strings.Contains(warning, "software power cap") { // of the machine
			t.Errorf("warns: %s", warning)
		}
	}
	if e := s.Energy; e == nil || e.JoulesPerOutputToken != nil {
		t.Errorf("energy %+v: tokens that others counted share no energy", e)
	}
	text, err := json.Marshal(s)
	if err != nil || !strings.Contains(string(text), `"latency":null`) {
		t.Errorf("%s (%v)", text, err)
	}
}

func TestTheEnginesLogTellsTheKVCacheWhereNoPageDoes(t *testing.T) {
	s := summarize(t, recorded(t, "live", benchmark()...))
	if s.KV == nil || !near(s.KV.CapacityBytes, 30*gib) || s.KV.Source != "the log of trtllm-bench" {
		t.Fatalf("%+v", s.KV)
	}
	// At ready, all but 50 GiB are taken, 30 of them for the KV cache.
	if got := *s.Memory.ExcludingKV; got < 39.69*gib || got > 39.71*gib {
		t.Errorf("%v GiB beside the KV cache", got/gib)
	}
	if !near(s.Memory.FreeAtKVSizing, 80*gib) || !near(s.Memory.EngineReported.Peak, 71*gib) || s.Memory.LedgerAt.Start["anon"] == 0 || s.Memory.LedgerAt.Ready["anon"] == 0 {
		t.Errorf("%+v, ledger %+v", s.Memory, s.Memory.LedgerAt)
	}
}

func TestAMachineOfAnotherTimeHasAnotherKVCache(t *testing.T) {
	s := summarize(t, recorded(t, "constructed", benchmark()...))
	if s.KV != nil || s.Memory.ExcludingKV != nil || !near(s.Memory.EngineReported.KV, 30*gib) {
		t.Errorf("%+v, memory %+v", s.KV, s.Memory)
	}
}

func TestWhatOneRankSaysIsNotTheEngines(t *testing.T) {
	const kv = "[MemUsageChange] Allocated 30.00 GiB for max tokens in paged KV cache (250000)."
	if e := EngineOf(engineLog(t, kv, "TP Size:  2"), "log"); e != nil {
		t.Errorf("of two ranks: %+v", e)
	}
	if e := EngineOf(engineLog(t, "TP Size:  1"), "log"); e != nil {
		t.Errorf("of one that said nothing: %+v", e)
	}
	if e := EngineOf(engineLog(t, kv), "log"); e == nil || !near(e.KVTokens, 250000) || e.Peak != nil || e.Source != "log" {
		t.Errorf("of one: %+v", e)
	}
}

func TestALogThatIsNotUnderstoodHasNoMomentOfReadiness(t *testing.T) {
	s := summarize(t, recorded(t, "live", telemetry.Phase{Name: "before"}, telemetry.Phase{Name: "measure", AtNS: 5e9}))
	if s.Memory.LedgerAt.Ready != nil || s.Memory.LedgerAt.Start == nil || s.Memory.ExcludingKV != nil {
		t.Errorf("%+v", s.Memory.LedgerAt)
	}
}

func TestACommandThatWasCutOffIsIncomplete(t *testing.T) {
	in := recorded(t, "live", benchmark()...)
	in.Stopped = "the command ended with exit code 7"
	if got := codes(summarize(t, in)); !slices.Equal(got, []Code{CodeIncomplete}) {
		t.Errorf("%v", got)
	}
}

func TestReportsShowWhatTheToolSaidApart(t *testing.T) {
	in := recorded(t, "live", benchmark()...)
	in.Tool = tool(extract.Value{Name: extract.Requests, Unit: extract.Count, Meaning: "requests | <b>\x1b[31m", Value: 50, Of: "D(1,1), concurrency 4", From: "file"})
	s := summarize(t, in)
	for name, render := range map[string]func(*strings.Builder) error{
		"text":     func(b *strings.Builder) error { return Text(b, s) },
		"markdown": func(b *strings.Builder) error { return Markdown(b, s) },
		"page":     func(b *strings.Builder) error { return HTML(b, Page{Title: "r", Summary: s, Telemetry: in.Telemetry}) },
	} {
		var b strings.Builder
		if err := render(&b); err != nil {
			t.Fatal(name, err)
		}
		text := b.String()
		for _, want := range []string{"trtllm-bench", "output tokens per second", "120 /s", "time to first token, p99", "250 ms", "stdout:19", "30 GiB", "concurrency 4"} {
			if !strings.Contains(text, want) {
				t.Errorf("%s: no %q in %s", name, want, text)
			}
		}
		for _, no := range []string{"KV cache by the engine", "\x1b", "TTFT", "0 ok", "requests per second", "Latency"} {
			if strings.Contains(text, no) {
				t.Errorf("%s: %q in %s", name, no, text)
			}
		}
		if name != "text" && strings.Contains(text, "<b>") {
			t.Errorf("%s: markup got through", name)
		}
	}
}

func TestTheSheetOfTheToolHasItsFiguresInBaseUnits(t *testing.T) {
	var b strings.Builder
	if err := sheet.CSV(&b, ToolSheet(Summary{Tool: tool()})); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(b.String(), "kv_bytes,,,3.221225472e+10,bytes,stdout:9,Allocated 30.00 GiB\n") || strings.Count(b.String(), "\n") != 5 {
		t.Errorf("%s", b.String())
	}
	b.Reset()
	if err := sheet.CSV(&b, ToolSheet(Summary{})); err != nil || strings.Count(b.String(), "\n") != 1 {
		t.Errorf("%s (%v)", b.String(), err)
	}
}

func TestATableThatIsNotThereLeavesNoGap(t *testing.T) {
	in := recorded(t, "live")
	in.Tool.Values = nil
	var b strings.Builder
	if err := Text(&b, summarize(t, in)); err != nil {
		t.Fatal(err)
	}
	if text := b.String(); strings.Contains(text, "\n\n\n") || strings.Count(text, "\n\n") == 0 {
		t.Errorf("%s", text)
	}
}
