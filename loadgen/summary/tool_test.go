package summary

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/summary/testrun"

	"github.com/umascope/umascope/loadgen/telemetry"
)

func TestARecordedCommandIsJudgedWithoutRequests(t *testing.T) {
	s := summarize(t, recorded(t, "live", testrun.ToolPhases()...))
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

func TestTheKVCacheIsReadFromTheEnginesLogWhereNoPageHasIt(t *testing.T) {
	s := summarize(t, recorded(t, "live", testrun.ToolPhases()...))
	if s.KV == nil || !near(s.KV.CapacityBytes, 30*testrun.GiB) || s.KV.Source != "the log of trtllm-bench" {
		t.Fatalf("%+v", s.KV)
	}
	// At ready, all but 50 GiB are taken, 30 of them for the KV cache.
	if got := *s.Memory.OccupiedWithoutKV; got < 39.69*testrun.GiB || got > 39.71*testrun.GiB {
		t.Errorf("%v GiB occupied without KV cache", got/testrun.GiB)
	}
	if !near(s.Memory.FreeAtKVSizing, 80*testrun.GiB) || !near(s.Memory.EngineReported.Peak, 71*testrun.GiB) || s.Memory.LedgerAt.Start["anon"] == 0 || s.Memory.LedgerAt.Ready["anon"] == 0 {
		t.Errorf("%+v, ledger %+v", s.Memory, s.Memory.LedgerAt)
	}
}

// TestTheLogHasTheBytesOfAKVCacheThatThePageHasInTokens is vLLM's case: its page has no bytes that hold with every option.
func TestTheLogHasTheBytesOfAKVCacheThatThePageHasInTokens(t *testing.T) {
	const page = `uma_engine_kv_capacity_tokens{source="127.0.0.1:8000/metrics",model="m"} 250000` + "\n"
	for line, want := range map[string]float64{"(250000).": 30 * testrun.GiB, "(125000).": 0} { // the other is the log of another start
		in := machine(t, testrun.Page{Extra: page})
		in.Engine = EngineOf(engineLog(t, "[TensorRT-LLM][INFO] [MemUsageChange] Allocated 30.00 GiB for max tokens in paged KV cache "+line), "the log of the engine")
		s := summarize(t, in, testrun.Steady(40)...)
		if s.KV == nil || !near(s.KV.CapacityTokens, 250000) || (s.Memory.OccupiedWithoutKV != nil) != (want > 0) {
			t.Fatalf("%s: %+v", line, s.KV)
		}
		if want > 0 && (!near(s.KV.CapacityBytes, want) || s.KV.Source != "the log of the engine") || want == 0 && s.KV.CapacityBytes != nil {
			t.Errorf("%s: %+v", line, s.KV)
		}
	}
}

func TestAMachineOfAnotherTimeHasAnotherKVCache(t *testing.T) {
	s := summarize(t, recorded(t, "constructed", testrun.ToolPhases()...))
	if s.KV != nil || s.Memory.OccupiedWithoutKV != nil || !near(s.Memory.EngineReported.KV, 30*testrun.GiB) {
		t.Errorf("%+v, memory %+v", s.KV, s.Memory)
	}
}

func TestTheReportOfOneRankIsNotTheEngines(t *testing.T) {
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
	if s.Memory.LedgerAt.Ready != nil || s.Memory.LedgerAt.Start == nil || s.Memory.OccupiedWithoutKV != nil {
		t.Errorf("%+v", s.Memory.LedgerAt)
	}
}

func TestACommandThatWasCutOffIsIncomplete(t *testing.T) {
	in := recorded(t, "live", testrun.ToolPhases()...)
	in.Stopped = "the command ended with exit code 7"
	if got := codes(summarize(t, in)); !slices.Equal(got, []Code{CodeIncomplete}) {
		t.Errorf("%v", got)
	}
}
