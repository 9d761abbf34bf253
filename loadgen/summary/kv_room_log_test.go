package summary

import (
	"math"
	"os"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/engine/vllm"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/roofline"
)

// readingOf reads a recorded log of vLLM.
func readingOf(t *testing.T, file string) *enginelog.Reading {
	t.Helper()
	text, err := os.ReadFile("../enginelog/testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	tool, err := enginelog.Find(supported.Engines(), "vllm")
	if err != nil {
		t.Fatal(err)
	}
	reading := tool.Read()
	lines := enginelog.NewLines(func(l enginelog.Line) { reading.Line("log", l) })
	if _, err := lines.Write(text); err != nil {
		t.Fatal(err)
	}
	lines.Flush()
	return reading
}

func TestTheRoomIsReadFromTheEnginesLog(t *testing.T) {
	for file, want := range map[string]evidence.Room{
		"vllm-0.26.0-kvbm-1.4.2.log": {DeviceTokens: 32768, DiskBytes: 7999586304, TokenBytes: 32768, BlockBytes: 524288, KVBM: true, Off: evidence.Tiers{DiskFilter: evidence.FilterOff}},
		// This log was recorded without the line of --num-gpu-blocks-override, so that its KV cache is too large.
		"vllm-0.26.0-tiering-fs.log": {DeviceTokens: 32768, HostBytes: 2.15e9, TokenBytes: 40.27 * (1 << 30) / 32768, Files: true, Off: evidence.Tiers{DiskFilter: evidence.FilterOff}},
	} {
		got := RoomOfLog(readingOf(t, file))
		if math.Abs(got.TokenBytes-want.TokenBytes) < 1 { // vLLM rounds its GiB
			got.TokenBytes = want.TokenBytes
		}
		if got != want {
			t.Errorf("%s: %+v, want %+v", file, got, want)
		}
	}
}

// The exporter's page had the sizes of KVBM's tiers, vLLM's page the tokens, and the log the bytes of a token.
func TestPageAndLogTogetherForetellVLLMWithKVBM(t *testing.T) {
	exporter := sampled(t, kvMode(metric.ModeLive)+kvSize(metric.TierHost, "2e9")+kvSize(metric.TierDisk, "8e9"))
	room := ReadKVRoom(exporter, []string{"spark1"}, false, "").Filled(RoomOfLog(readingOf(t, "vllm-0.26.0-kvbm-1.4.2.log")))
	if want := (evidence.Room{DeviceTokens: 32768, HostBytes: 2e9, DiskBytes: 8e9, TokenBytes: 32768, BlockBytes: 524288, KVBM: true, Off: evidence.Tiers{DiskFilter: evidence.FilterOff}}); room != want {
		t.Fatalf("%+v", room)
	}
	f := evidence.Predict(evidence.Load{Name: "A", Requests: 8, Tokens: 55134}, evidence.Load{Name: "B", Requests: 24, Tokens: 162724}, 1, room)
	want := []string{
		"A: 8 prompts, 55134 tokens (1.68 GiB) with their answers",
		"B: 24 prompts, 162724 tokens (4.97 GiB) with their answers",
		"B is 162724 tokens (4.97 GiB), device 32768 tokens (1.00 GiB): A is evicted from the device",
		"host tier 61035 tokens (1.86 GiB): A is evicted from the host",
		"disk tier 244141 tokens (7.45 GiB): A stays on it",
	}
	if len(f.Lines) != len(want) || len(f.Warnings)+len(f.Impossible) > 0 {
		t.Fatalf("%q %q %q", f.Lines, f.Warnings, f.Impossible)
	}
	for i, line := range want {
		if f.Lines[i] != line {
			t.Errorf("%q, want %q", f.Lines[i], line)
		}
	}
}

func TestTheDiskFilterIsReadFromTheEnvironmentOfTheEngines(t *testing.T) {
	state := func(pid, value string) string {
		return line(metric.KVBMDiskFilterEnabled, value, "pid", pid, "comm", "VLLM::EngineCor", "cgroup", "/")
	}
	for page, want := range map[string]evidence.Filter{
		"": evidence.FilterUnknown, state("7", "1"): evidence.FilterOn, state("7", "0"): evidence.FilterOff, state("7", "0") + state("8", "1"): evidence.FilterOn,
	} {
		if got := ReadKVRoom(sampled(t, kvMode(metric.ModeLive)+page), []string{"spark1"}, false, "").Off.DiskFilter; got != want {
			t.Errorf("%q: %q, want %q", page, got, want)
		}
	}
}

// 16 layers of 8 heads with 64 values, keys and values: 16,384 values a token, of 2 bytes as in the log of the same engine.
func TestBytesOfATokenAreComputedFromConfigJSONAndTheTypeOfTheCache(t *testing.T) {
	shape := roofline.Shape{Layers: 16, KVHeads: 8, HeadSize: 64}
	windowed := shape
	windowed.Windowed = true
	of := func(kind string) string {
		return vllm.CacheConfigInfo + `{cache_dtype="` + kind + `"} 1` + "\n"
	}
	for _, c := range []struct {
		page  string
		shape *roofline.Shape
		want  float64
	}{
		{recordedPage(t, "vllm-0.26.0-kvbm-config.prom"), &shape, 32768},
		{of("fp8_e4m3"), &shape, 16384}, {of("bfloat16"), &shape, 32768}, {of("nvfp4"), &shape, 0}, {"", &shape, 0},
		{of("auto"), nil, 0}, {of("auto"), &windowed, 0},
	} {
		if got := ShapeTokenBytes(sampledAs(t, c.page+"other 1\n", true), nil, false, c.shape); got != c.want {
			t.Errorf("%.80s: %v, want %v", c.page, got, c.want)
		}
	}
}
