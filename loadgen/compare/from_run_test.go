package compare_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
)

// finished returns a complete and valid run without figures.
func finished(id string) summary.Run {
	started := time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)
	ended := started.Add(time.Minute)
	return summary.Run{
		Manifest: rundir.Manifest{
			Schema: rundir.ManifestSchema, Run: id, Scenario: "standard", State: rundir.StateComplete, StartedAt: started, EndedAt: &ended,
			Labels: map[string]string{"arm": "a", "host": "spark1"},
		},
		Summary: summary.Summary{
			Schema: summary.Schema, Run: id, Scenario: "standard", Labels: map[string]string{"arm": "a", "host": "spark1"}, Valid: true,
		},
	}
}

// observedRun is a run of our own with telemetry of its host.
func observedRun() summary.Run {
	r := finished("r1")
	d := func(v float64) *summary.Distribution { return &summary.Distribution{N: 100, P50: &v, P95: new(2 * v)} }
	live := summary.Origin{Source: "spark1", Mode: metric.ModeLive}
	s := &r.Summary
	s.Model = summary.Model{ID: "m", Fingerprint: "f"}
	s.BootID = "boot1"
	s.Requests = map[openai.Status]int{openai.StatusOK: 99, openai.StatusHTTP: 1}
	s.Throughput = summary.Throughput{OutputTokensPerSecond: new(120.), RequestsPerSecond: new(0.9)}
	s.Latency = &summary.Latency{TTFT: &summary.Clocks{Send: d(.1), Intended: d(.2)}, TPOT: &summary.Clocks{Send: d(.01)}, E2E: &summary.Clocks{Intended: d(3)}}
	s.Memory = &summary.Memory{
		Origin: live, OccupiedWithoutKV: new(70. * gib), FreeAtKVSizing: new(49. * gib), EngineReported: &rundir.EngineReport{Peak: new(69. * gib), KV: new(44. * gib), Source: "a log"},
		LedgerAt: &summary.Ledgers{Start: map[string]float64{ledger.Free: 100 * gib, ledger.PageCache: 5 * gib}},
	}
	s.KV = &summary.KV{CapacityBytes: new(44. * gib), Source: "a page"}
	s.Thermal = &summary.Thermal{Origin: live, StartCelsius: new(40.), MaxCelsius: new(61.), EndCelsius: new(60.), ThrottleSeconds: map[string]float64{metric.ReasonSWPowerCap: 12}}
	s.Energy = &summary.Energy{Origin: live, Joules: 600}
	s.Phases = map[string]summary.PhaseSummary{
		"warmup":  {Start: 0, End: 5, Deltas: map[string]summary.Delta{metric.VmstatSwappedInBytesTotal.Def().Name: {Delta: 9 << 30}}},
		"measure": {Start: 5, End: 15, Measured: true, Deltas: map[string]summary.Delta{metric.VmstatSwappedInBytesTotal.Def().Name: {Delta: 4096}}},
	}
	s.Signals.SSDRehydrate = evidence.Signal{Grade: evidence.Proven}
	m := &r.Manifest
	m.Server = rundir.Server{Engine: "vllm", Version: "0.24", Settings: map[string]string{"block_size": "16"}}
	m.Client = rundir.Client{Hostname: "spark1", Kernel: "6.17", Arch: "arm64", Governor: "performance",
		Programs: []rundir.OwnProgram{{Program: "uma-exporter", Processes: 1, CPURatio: .015, ResidentBytes: 32 << 20}, {Program: "uma-view"}}}
	m.Flags = map[string]string{"rate": "2", "out": "runs", "label": "[arm=a]", "run-id": "x", "expect": "kv=cpu_disk"}
	m.Container = &rundir.Container{Image: "i:1", Digests: []string{"sha256:b", "sha256:a"}, HostConfig: map[string]json.RawMessage{"ShmSize": json.RawMessage("{ \"a\": 1 }")}}
	m.Machines = []rundir.Machine{{
		Source: "spark1", Mode: metric.ModeLive, Host: map[string]string{"kernel": "6.17-nv", "arch": "aarch64", "product": "DGX"},
		GPUs:      []map[string]string{{"name": "GB10", "driver_version": "580", "vbios": "v1", "cuda_version": "13"}},
		GPULimits: []rundir.GPULimit{{SMClockHertz: new(2.4e9)}},
	}}
	m.Storage = []rundir.Storage{{Of: rundir.StorageOfRun, FileSystem: "xfs"}, {Of: rundir.StorageOfKV, FileSystem: "ext4", Options: []string{"rw"}, Drives: []rundir.Drive{{Model: "SSD", LinkSpeed: "16.0 GT/s"}}}}
	return r
}

func TestARunIsComparedByWhatWasMeasured(t *testing.T) {
	o := compare.FromRun(observedRun())
	want := map[string]float64{
		figure.OutputTokensPerSecond: 120, "requests_per_second": .9, "failed_ratio": .01,
		"time_to_first_token_p50_seconds": .2, "time_to_first_token_p95_seconds": .4, "time_to_first_token_send_p50_seconds": .1,
		"time_per_output_token_p50_seconds": .01, "time_per_output_token_p95_seconds": .02,
		"request_duration_p50_seconds": 3, "request_duration_p95_seconds": 6,
		figure.MemoryOccupiedWithoutKV: 70 * gib, figure.KVCapacity: 44 * gib, figure.MemoryOccupiedWhenReady: 114 * gib, "free_at_kv_sizing_bytes": 49 * gib,
		"engine_reported_peak_bytes": 69 * gib, "engine_reported_kv_bytes": 44 * gib,
		"gpu_start_celsius": 40, "gpu_end_celsius": 60, "gpu_max_celsius": 61, "energy_joules": 600, "gpu_power_mean_watts": 60,
	}
	if !maps.Equal(o.Metrics, want) {
		t.Errorf("%v\nwant %v", o.Metrics, want)
	}
	if len(o.EngineReported) != 0 || o.Mode != metric.ModeLive || o.Engine != "vllm" || o.Model != "m" || o.Host != "spark1" || o.Signals["ssd_rehydrate"] != "proven" {
		t.Errorf("%+v", o)
	}
	if o.KV.OccupiedWithoutKVBytes == nil || *o.KV.OccupiedWithoutKVBytes != 70*gib || *o.KV.FreeAtSizingBytes != 49*gib || o.Ledger.Start[ledger.Free] != 100*gib {
		t.Errorf("%+v, %+v", o.KV, o.Ledger)
	}
}

// TestEveryMetricOfTheTableCanBeFilled: a name that no run could ever have is a mistake in one of the two.
func TestEveryMetricOfTheTableCanBeFilled(t *testing.T) {
	own, foreign := finished("r1"), finished("r2")
	d := &summary.Distribution{N: 9, P50: new(1.), P95: new(1.), P99: new(1.)}
	both := &summary.Clocks{Send: d, Intended: d}
	one := new(1.)
	through := summary.Throughput{DurationSeconds: one, RequestsPerSecond: one, OutputTokensPerSecond: one, InputTokensPerSecond: one}
	own.Summary.Requests = map[openai.Status]int{openai.StatusOK: 1}
	own.Summary.Throughput, own.Summary.SteadyState = through, &summary.SteadyState{Throughput: through}
	own.Summary.SLO = &summary.SLOResult{Requests: 1, RequestsPerSecond: one}
	own.Summary.Latency = &summary.Latency{TTFT: both, TTFO: both, TPOT: both, ITL: both, E2E: both, QueueDelay: d}
	own.Summary.Memory = &summary.Memory{
		OccupiedWithoutKV: one, UnavailablePeak: one, CUDAFreeMin: one, FreeAtKVSizing: one, GPUHeldPeak: one,
		EngineReported: &rundir.EngineReport{Peak: one, NonTorch: one, KV: one, KVTokens: one, Weights: one, Compute: one},
	}
	own.Summary.KV = &summary.KV{CapacityBytes: one, CapacityTokens: one}
	own.Summary.Thermal = &summary.Thermal{StartCelsius: one, MaxCelsius: one, EndCelsius: one}
	own.Summary.Energy = &summary.Energy{Joules: 1, JoulesPerOutputToken: one}
	own.Summary.Work = &summary.Work{GPUUtilizationMean: one, Drives: map[string]summary.DriveBytes{"nvme0n1": {Read: one, Written: one}}}
	own.Summary.Phases = map[string]summary.PhaseSummary{"measure": {End: 1, Measured: true}}
	foreign.Summary.Tool = &rundir.ToolReport{}
	for _, q := range enginelog.Quantities() {
		for _, statistic := range []string{"", "mean", "p50", "p95", "p99"} {
			foreign.Summary.Tool.Values = append(foreign.Summary.Tool.Values, enginelog.NewValue(q.Name, statistic, 1))
		}
	}
	filled := compare.FromRun(own).Metrics
	maps.Copy(filled, compare.FromRun(foreign).Metrics)
	for _, m := range figure.Compared() {
		if _, there := filled[m.Name]; !there {
			t.Errorf("%s is in the table and never filled", m.Name)
		}
		delete(filled, m.Name)
	}
	if len(filled) > 0 {
		t.Errorf("filled and not in the table: %v", slices.Sorted(maps.Keys(filled)))
	}
}

func TestFiguresReportedByAnEngineAreMarkedWhereNothingWasMeasured(t *testing.T) {
	r := finished("r1")
	r.Manifest.Imported = &rundir.Imported{Format: "benchmark-spark"}
	r.Manifest.Server.Engine = "trtllm"
	imported := summary.Origin{Source: "trtllm-bench", Mode: "imported"}
	r.Summary.Memory = &summary.Memory{Origin: imported, EngineReported: &rundir.EngineReport{Peak: new(70. * gib), KV: new(44. * gib)}}
	r.Summary.KV = &summary.KV{CapacityBytes: new(44. * gib)}
	r.Summary.Thermal = &summary.Thermal{Origin: imported, EndCelsius: new(60.)}
	r.Summary.Tool = &rundir.ToolReport{Values: []spec.Reported{enginelog.NewValue(spec.OutputTokensPerSecond, "", 120), enginelog.NewValue(spec.TTFTSeconds, "p50", 2)}}
	o := compare.FromRun(r)
	want := map[string]float64{
		figure.MemoryOccupiedWithoutKV: 70 * gib, figure.KVCapacity: 44 * gib, figure.MemoryOccupiedWhenReady: 114 * gib, "gpu_end_celsius": 60,
		figure.ToolOutputTokensPerSecond: 120, "tool_reported_time_to_first_token_p50_seconds": 2,
	}
	if !maps.Equal(o.Metrics, want) {
		t.Errorf("%v\nwant %v", o.Metrics, want)
	}
	if marked := []string{figure.KVCapacity, figure.MemoryOccupiedWhenReady, figure.MemoryOccupiedWithoutKV}; !slices.Equal(o.EngineReported, marked) {
		t.Errorf("%q, want %q", o.EngineReported, marked)
	}
	if o.Imported != "benchmark-spark" || o.Mode != "" || o.KV.OccupiedWithoutKVBytes == nil || o.Engine != "trtllm" {
		t.Errorf("%+v", o)
	}
}

func TestFiguresOfSeveralPartsAreNoFigureOfTheRun(t *testing.T) {
	r := finished("r1")
	part := func(of string, value float64) spec.Reported {
		v := enginelog.NewValue(spec.RequestsPerSecond, "", value)
		v.Of = of
		return v
	}
	r.Summary.Tool = &rundir.ToolReport{Values: []spec.Reported{part("concurrency 1", 1)}}
	if got := compare.FromRun(r).Metrics["tool_reported_requests_per_second"]; got != 1 {
		t.Errorf("of one part: %v", got)
	}
	r.Summary.Tool.Values = append(r.Summary.Tool.Values, part("concurrency 2", 2))
	if got, there := compare.FromRun(r).Metrics["tool_reported_requests_per_second"]; there {
		t.Errorf("of two parts: %v", got)
	}
}

// TestFactsAreConditionsThatCanDifferBetweenArms: conditions with how much of a difference is none, and of flags those
// that change what is measured.
func TestFactsAreConditionsThatCanDifferBetweenArms(t *testing.T) {
	got := map[string]compare.Fact{}
	for _, f := range compare.FromRun(observedRun()).Facts {
		if _, twice := got[f.Item]; twice {
			t.Errorf("%s stands there twice", f.Item)
		}
		got[f.Item] = f
	}
	for item, value := range map[string]string{
		"engine": "vllm 0.24", "engine setting block_size": "16", "model": "m", "model fingerprint": "f",
		"container image": "i:1", "container image digest": "sha256:a, sha256:b", "container ShmSize": `{"a":1}`,
		"kernel": "6.17-nv", "architecture": "aarch64", "machine": "DGX", "GPU": "GB10", "GPU driver": "580", "VBIOS": "v1", "CUDA of the driver": "13", "GPU clock limit": "2400 MHz",
		"telemetry": "live", "boot": "boot1", "CPU governor": "performance", "flag --rate": "2", "file system below the KV cache": "ext4 rw", "drive below the KV cache": "SSD 16.0 GT/s",
	} {
		if got[item].Value != value {
			t.Errorf("%s: %q, want %q", item, got[item].Value, value)
		}
	}
	for item, want := range map[string]compare.Fact{
		"MemFree at start": {Number: new(100. * gib), Tolerance: gib}, "page cache at start": {Number: new(5. * gib), Tolerance: gib},
		"GPU temperature at start": {Number: new(40.), Tolerance: 2}, "clocks held by sw power cap": {Number: new(12.), Tolerance: 1},
		"read back from swap":              {Number: new(4096.), Tolerance: 1 << 20},
		"CPU of uma-exporter, of one core": {Number: new(1.5), Tolerance: 5}, "memory of uma-exporter": {Number: new(32. * (1 << 20)), Tolerance: 256 << 20}, "CPU of uma-view, of one core": {Number: new(0.), Tolerance: 5},
	} {
		if f := got[item]; f.Number == nil || *f.Number != *want.Number || f.Tolerance != want.Tolerance || f.Unit == "" {
			t.Errorf("%s: %+v", item, f)
		}
	}
	for _, item := range []string{"flag --out", "flag --label", "flag --run-id", "file system below the run"} {
		if f, there := got[item]; there {
			t.Errorf("%+v says nothing of what was measured", f)
		}
	}
}

// Two arms of one server on a GPU differed in its context alone (-c 65536 and -c 131072 of llama.cpp, for 8 slots): of the
// arguments of a process only the names are kept, so that the comparison showed no difference between the arms.
func TestFieldsThatAServerRefusedAreFact(t *testing.T) {
	for want, fields := range map[string]rundir.Acceptance{
		"temperature, top_p": {Accepted: []string{}, Refused: []rundir.Refusal{{Field: "top_p"}, {Field: "temperature"}}},
		"none":               {Accepted: []string{"ignore_eos"}},
		"":                   {Accepted: []string{}, Unknown: "the server did not answer"},
	} {
		r := finished("r1")
		r.Manifest.Server.Fields = fields
		got := ""
		for _, f := range compare.FromRun(r).Facts {
			if f.Item == "request fields left out" {
				got = f.Value
			}
		}
		if got != want {
			t.Errorf("%+v: %q, want %q", fields, got, want)
		}
	}
}

func TestTheContextThatAServerAllowsIsFact(t *testing.T) {
	r := finished("r1")
	r.Manifest.Server.MaxTokens = 8192
	allowed := compare.Fact{Item: "most tokens of a request", Value: "8192"}
	if !slices.ContainsFunc(compare.FromRun(r).Facts, func(f compare.Fact) bool { return f.Item == allowed.Item && f.Value == allowed.Value }) {
		t.Errorf("%+v is not in %+v", allowed, compare.FromRun(r).Facts)
	}
}

// TestWhatACampaignDidAroundARunIsFact: processes by their options, what gates and
// checks saw.
func TestWhatACampaignDidAroundARunIsFact(t *testing.T) {
	r := finished("r1")
	r.Manifest.Campaign = &rundir.Campaign{
		Processes: []rundir.ArmMember{{Name: "serve", Program: "vllm", Options: []string{"--model", "-p"}, Container: "c1", Host: "spark2"}},
		Files:     []rundir.ArmFile{{Path: "/etc/x/engine.yaml"}},
		Collected: []rundir.Collected{{Name: "pip", SHA256: "fedcba9876543210"}},
		PageCache: &rundir.PageCache{Policy: "evict", AfterBytes: new(uint64(4096))},
		Gates:     []rundir.Gate{{Name: "mem_free", Value: new(9e10), Unit: "bytes"}, {Name: "cooldown", Value: new(300.), Unit: "seconds"}, {Name: "gpu_celsius", Unit: "celsius"}},
		Checks:    []rundir.Check{{Name: "matmul", When: "before", Value: new(-50.), Unit: "TFLOPS"}, {Name: "none", When: "after"}},
	}
	want := map[string]string{
		"process serve": "vllm --model -p in c1 on spark2", "collected pip": "fedcba987654", "page cache before the engine": "evict",
		"files in the page cache before the engine": "4096 bytes", "gate mem_free": "9e+10 bytes", "check matmul before": "-50 TFLOPS",
	}
	got := map[string]string{}
	for _, f := range compare.FromRun(r).Facts {
		got[f.Item] = f.Value
		if f.Item == "check matmul before" && (f.Number == nil || f.Tolerance != 1) {
			t.Errorf("%+v", f)
		}
	}
	if !maps.Equal(got, want) {
		t.Errorf("%v\nwant %v", got, want)
	}
}

func TestFactsOfTheClientAreNotThoseOfAnotherHost(t *testing.T) {
	r := observedRun()
	r.Manifest.Machines, r.Manifest.Client.Hostname = nil, "laptop"
	for _, f := range compare.FromRun(r).Facts {
		if f.Item == "kernel" || f.Item == "CPU governor" || f.Item == "architecture" || f.Item == "CPU of uma-exporter, of one core" {
			t.Errorf("%+v is of the client", f)
		}
	}
	r.Manifest.Client.Hostname = "spark1"
	if !slices.ContainsFunc(compare.FromRun(r).Facts, func(f compare.Fact) bool { return f.Item == "kernel" && f.Value == "6.17" }) {
		t.Error("the kernel of the host itself is missing")
	}
}

func TestSwapIsUnknownWhereAPhaseHasNoFigure(t *testing.T) {
	r := observedRun()
	for name, deltas := range map[string]map[string]summary.Delta{"reset": {metric.VmstatSwappedInBytesTotal.Def().Name: {Reset: true}}, "absent": nil} {
		r.Summary.Phases["again"] = summary.PhaseSummary{Measured: true, Deltas: deltas}
		if slices.ContainsFunc(compare.FromRun(r).Facts, func(f compare.Fact) bool { return f.Item == "read back from swap" }) {
			t.Errorf("%s: what one phase read back is told as that of all", name)
		}
	}
}

// TestWhatAScenarioIsThereToShow: from which tier something comes back depends on those that are on.
func TestWhatAScenarioIsThereToShow(t *testing.T) {
	for _, c := range []struct {
		scenario, expect string
		want             []string
	}{
		{"standard", "", nil}, {"reuse_verify", "off", []string{"reuse"}}, {"rehydrate_replay", "cpu_disk", []string{"ssd_rehydrate"}},
		{"rehydrate_replay", "", []string{"ssd_rehydrate"}}, {"eviction_replay", "cpu_only", nil}, {"eviction_replay", "off", nil}, {"eviction_replay", "kv=cpu_disk", []string{"ssd_rehydrate"}},
	} {
		r := finished("r1")
		r.Summary.Scenario, r.Manifest.Flags = c.scenario, map[string]string{"expect": c.expect}
		if got := compare.FromRun(r).Expected; !slices.Equal(got, c.want) {
			t.Errorf("%s %s: %q, want %q", c.scenario, c.expect, got, c.want)
		}
	}
}

// TestRunsOfARoundArePairs: of the same campaign, model, scenario and round, whatever the arm.
func TestRunsOfARoundArePairs(t *testing.T) {
	run := func(labels map[string]string) string {
		r := finished("r1")
		r.Summary.Labels = labels
		return compare.FromRun(r).Pair
	}
	a := run(map[string]string{"campaign": "c", "model": "m", "round": "1", "arm": "a"})
	if b := run(map[string]string{"campaign": "c", "model": "m", "round": "1", "arm": "b"}); a == "" || a != b {
		t.Errorf("%q, %q", a, b)
	}
	for _, other := range []map[string]string{{"campaign": "c", "model": "m", "round": "2"}, {"campaign": "d", "model": "m", "round": "1"}, {"campaign": "c", "model": "n", "round": "1"}} {
		if got := run(other); got == a || got == "" {
			t.Errorf("%v: %q", other, got)
		}
	}
	own := run(map[string]string{"campaign": "c", "pair": "m/s/1", "round": "1", "arm": "a"})
	if own == "" || own != run(map[string]string{"campaign": "c", "pair": "m/s/1", "round": "1", "arm": "b"}) || own == run(map[string]string{"campaign": "d", "pair": "m/s/1"}) {
		t.Errorf("by the campaign's own word: %q", own)
	}
	if got := run(map[string]string{"round": "1"}); got != "" {
		t.Errorf("without a campaign: %q", got)
	}
}

func TestARunThatFoundItsEngineUpIsMarked(t *testing.T) {
	for _, kept := range []bool{false, true} {
		r := finished("r1")
		r.Manifest.Campaign = &rundir.Campaign{EngineKept: kept}
		if got := compare.FromRun(r).EngineKept; got != kept {
			t.Errorf("kept %v: %v", kept, got)
		}
	}
}

func TestARecordedCommandIsOfTheEngineWhoseLogWasRead(t *testing.T) {
	r := finished("r1")
	r.Manifest.Command = &rundir.Command{Program: "trtllm-bench", Extractor: "trtllm", Version: "1.1", Options: []string{"--model"}}
	r.Summary.Labels["model"] = "deepseek"
	if o := compare.FromRun(r); o.Engine != "trtllm" || o.Model != "deepseek" || o.Facts[2].Value != "trtllm 1.1" {
		t.Errorf("%+v", o)
	}
	r.Manifest.Command.Extractor = enginelog.None
	if o := compare.FromRun(r); o.Engine != "" {
		t.Errorf("%q", o.Engine)
	}
}

// TestATrtllmBenchIsOneToolHoweverItsFiguresCameHere: recorded, imported from its log or from a table.
func TestATrtllmBenchIsOneToolHoweverItsFiguresCameHere(t *testing.T) {
	for extractor, want := range map[string]string{"trtllm": "trtllm", "trtllm-log": "trtllm", "benchmark-spark": "trtllm", "aiperf": "aiperf"} {
		r := finished("r1")
		r.Summary.Tool = &rundir.ToolReport{Extractor: extractor}
		if got := compare.FromRun(r).Tool; got != "" {
			t.Errorf("%s without figures: %q", extractor, got)
		}
		r.Summary.Tool.Values = []spec.Reported{enginelog.NewValue(spec.Requests, "", 1)}
		if got := compare.FromRun(r).Tool; got != want {
			t.Errorf("%s: %q, want %q", extractor, got, want)
		}
	}
}

func TestModeIsOfTelemetryAlone(t *testing.T) {
	r := finished("r1")
	r.Summary.Memory = &summary.Memory{Origin: summary.Origin{Mode: "unknown"}}
	if mode := compare.FromRun(r).Mode; mode != "" {
		t.Errorf("of an engine's word: %q", mode)
	}
	r.Summary.Thermal = &summary.Thermal{Origin: summary.Origin{Mode: metric.ModeSimulated}}
	if mode := compare.FromRun(r).Mode; mode != metric.ModeSimulated {
		t.Errorf("%q", mode)
	}
}

// An engine on two machines: its energy is that of both, its memory that of each, and either may be what is unfair.
func TestARunOnTwoMachinesIsComparedByBoth(t *testing.T) {
	r := observedRun()
	live := summary.Origin{Source: "spark2", Mode: metric.ModeLive}
	s := &r.Summary
	s.Labels["host"] = "spark1"
	s.Together = &summary.Together{Hosts: []string{"spark1", "spark2"}, Joules: new(1300.), JoulesPerOutputToken: new(1.3)}
	s.Machines = []summary.Machine{
		{Origin: summary.Origin{Source: "spark1", Mode: metric.ModeLive}, Memory: s.Memory},
		{Origin: live, Memory: &summary.Memory{Origin: live, LedgerAt: &summary.Ledgers{Start: map[string]float64{ledger.Free: 80 * gib}, Ready: map[string]float64{ledger.Anon: gib}}},
			Thermal: &summary.Thermal{Origin: live, StartCelsius: new(58.)}},
		{Origin: summary.Origin{Source: "client", Mode: metric.ModeLive}, Memory: &summary.Memory{LedgerAt: &summary.Ledgers{Ready: map[string]float64{ledger.Anon: gib}}}},
	}
	r.Manifest.Machines = append(r.Manifest.Machines, rundir.Machine{Source: "spark2", Host: map[string]string{"kernel": "6.11"}, GPUs: []map[string]string{{"driver_version": "570"}}})
	o := compare.FromRun(r)
	if o.Metrics["energy_joules"] != 1300 || o.Metrics["joules_per_output_token"] != 1.3 || o.Metrics["gpu_power_mean_watts"] != 130 {
		t.Errorf("%v", o.Metrics)
	}
	if len(o.Ledgers) != 1 || o.Ledgers["spark2"].Ready[ledger.Anon] != gib {
		t.Errorf("ledgers %v", o.Ledgers)
	}
	facts := map[string]string{}
	for _, f := range o.Facts {
		facts[f.Item] = f.Value
	}
	for item, want := range map[string]string{
		"measured machines": "spark1, spark2", "kernel": "6.17-nv", "spark2: kernel": "6.11", "GPU driver": "580", "spark2: GPU driver": "570", "spark2: GPU temperature at start": "58 C",
	} {
		if facts[item] != want {
			t.Errorf("%s is %q, want %q", item, facts[item], want)
		}
	}
	if s.Together.Joules, s.Together.JoulesPerOutputToken = nil, nil; len(compare.FromRun(r).Metrics) == 0 || hasMetric(compare.FromRun(r), "energy_joules") {
		t.Error("the energy of one machine passes for that of the engine")
	}
}

func hasMetric(o compare.Run, name string) bool {
	_, has := o.Metrics[name]
	return has
}

// A run whose memory grows stands in the fairness of a comparison beside one whose memory does not; a verdict that could not
// be seen does not.
func TestGrowthOfMemoryIsAFactOfARun(t *testing.T) {
	r := summary.Run{}
	r.Summary.Growth = []summary.Growth{{Quantity: "unattributed", Verdict: summary.Grows}, {Quantity: "gpu_held", Verdict: summary.GrowthNotObservable}}
	var grown []compare.Fact
	for _, f := range compare.FromRun(r).Facts {
		if strings.HasPrefix(f.Item, "growth of") {
			grown = append(grown, f)
		}
	}
	if len(grown) != 1 || grown[0].Item != "growth of unattributed memory at equal load" || grown[0].Value != "grows" {
		t.Errorf("%+v", grown)
	}
}

// FuzzFromRun: a folder is refused in one line that names it, or is a run whose figures are numbers and that
// a comparison can be told of.
func FuzzFromRun(f *testing.F) {
	const manifest = `{"schema":"umascope.manifest/1","run":"r1","labels":{"host":"h"},"flags":{"rate":"2"},"machines":[{"source":"h","gpus":[{"vbios":"v"}]}]}`
	for _, more := range []string{
		`"tool_reported":{"values":[{"name":"ttft_seconds","statistic":"p50","value":1e308}]}`,
		`"memory":{"occupied_without_kv_bytes":1e308,"ledger_at":{"start":{"free":1}}},"kv":{"capacity_bytes":1e308}`,
		`"requests":{"ok":2,"http":1},"latency":{"ttft":{"intended":{"n":9,"p50":0.5}},"tpot":{"send":{"p99":null}}}`,
		`"energy":{"joules":9},"phases":{"measure":{"start":1,"end":1,"measured":true}},"thermal":{"throttle_seconds":{"x":1}}`,
	} {
		f.Add(manifest, `{"schema":"umascope.summary/2","run":"r1",`+more+`}`)
	}
	path := filepath.Join(f.TempDir(), "r1")
	if err := os.MkdirAll(path, 0o755); err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, manifest, sum string) {
		for name, text := range map[string]string{rundir.ManifestFile: manifest, rundir.SummaryFile: sum} {
			if err := os.WriteFile(filepath.Join(path, name), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		r, err := summary.Open(path)
		if err != nil {
			if !strings.HasPrefix(err.Error(), path+": ") {
				t.Errorf("%v", err)
			}
			return
		}
		o := compare.FromRun(r)
		if o.ID == "" || o.ID != r.Manifest.Run || o.Path != path {
			t.Errorf("%+v", o)
		}
		if _, err := json.Marshal(o); err != nil { // NaN and infinity are none
			t.Errorf("%v", err)
		}
		for _, name := range o.EngineReported {
			if _, there := o.Metrics[name]; !there {
				t.Errorf("%s is reported and not there", name)
			}
		}
	})
}
