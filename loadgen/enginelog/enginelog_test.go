package enginelog

import (
	"bytes"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
)

const gibibyte = 1 << 30

// read is what a tool reads of a file of testdata, and the phases that its lines begin.
func read(t *testing.T, tool, file string) (*Reading, []string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	return readText(t, tool, text)
}

func toolOf(t *testing.T, name string) Tool {
	t.Helper()
	tool, err := Find(supported.Engines(), name)
	if err != nil {
		t.Fatal(err)
	}
	return tool
}

func readText(t *testing.T, name string, text []byte) (*Reading, []string) {
	t.Helper()
	r, entered := toolOf(t, name).Read(), []string(nil)
	lines := NewLines(func(l Line) {
		if phase, _ := r.Line("stdout", l); phase != "" {
			entered = append(entered, phase)
		}
	})
	if n, err := lines.Write(text); err != nil || n != len(text) {
		t.Fatalf("wrote %d of %d: %v", n, len(text), err)
	}
	lines.Flush()
	return r, entered
}

type want struct {
	name      spec.Quantity
	statistic string
	value     float64
}

func TestEachToolsLogGivesItsFiguresInBaseUnits(t *testing.T) {
	for file, w := range map[string]struct {
		tool, version string
		phases        []string
		ranks         int
		values        []want
	}{
		"trtllm-serve-1.1.0rc3-gb10.log": {"trtllm", "1.1.0rc3", []string{spec.PhaseReady}, 1, []want{
			{spec.WeightsBytes, "", 63.32 * gibibyte}, {spec.TorchBytes, "", 63.52 * gibibyte}, {spec.NonTorchBytes, "", 49.28 * gibibyte},
			{spec.ActivationBytes, "", 0.85 * gibibyte}, {spec.PeakBytes, "", 113.65 * gibibyte}, {spec.DeviceBytes, "", 119.70 * gibibyte},
			// The cache of the profiling, 0.56 GiB of 8224 tokens, is gone by then.
			{spec.KVBytes, "", 5.95 * gibibyte}, {spec.KVTokens, "", 86720}, {spec.KVBlockTokens, "", 32},
		}},
		"trtllm-bench-0.17.0.log": {"trtllm", "0.17.0", []string{spec.PhaseWarmup, spec.PhaseMeasure, spec.PhaseStop}, 1, []want{
			{spec.TensorRanks, "", 1}, {spec.PipelineRanks, "", 1}, {spec.Requests, "", 3000}, {spec.InputTokensEach, spec.Mean, 128}, {spec.OutputTokensEach, spec.Mean, 128},
			{spec.OutputTokensPerSecond, "", 28390.4265}, {spec.RequestsPerSecond, "", 221.8002}, {spec.DurationSeconds, "", 13.5256862},
		}},
		"trtllm-bench-0.21.0rc0.log": {"trtllm", "0.21.0rc0", []string{spec.PhaseStop}, 1, []want{
			{spec.TensorRanks, "", 1}, {spec.PipelineRanks, "", 1}, {spec.Requests, "", 100}, {spec.Concurrency, "", 94.605}, {spec.InputTokensEach, spec.Mean, 128}, {spec.OutputTokensEach, spec.Mean, 128},
			{spec.RequestsPerSecond, "", 86.5373}, {spec.OutputTokensPerSecond, "", 11076.77}, {spec.TotalTokensPerSecond, "", 22153.5399},
			{spec.DurationSeconds, "", 1.1555715}, {spec.E2ESeconds, spec.Mean, 1.0932284}, {spec.UserTokensPerSecond, spec.Mean, 117.1544}, {spec.GPUTokensPerSecond, "", 11076.77},
			{spec.TTFTSeconds, spec.Mean, .1626706}, {spec.TPOTSeconds, spec.Mean, .0073272},
			{spec.TPOTSeconds, "min", .006645}, {spec.TPOTSeconds, "max", .0081306}, {spec.TPOTSeconds, "p50", .0076079}, {spec.TPOTSeconds, "p99", .0081306},
			{spec.TTFTSeconds, "p50", .1597857}, {spec.TTFTSeconds, "p99", .2324339}, {spec.E2ESeconds, "p50", 1.0917905}, {spec.E2ESeconds, "p99", 1.1376817},
		}},
		"vllm-0.24.0.log": {"vllm", "0.24.0", []string{spec.PhaseReady}, 1, []want{
			{spec.TensorRanks, "", 1}, {spec.PipelineRanks, "", 1}, {spec.WeightsBytes, "", 14.37 * gibibyte}, {spec.KVBytes, "", 11.92 * gibibyte}, {spec.KVTokens, "", 223152}, {spec.GraphBytes, "", 0.65 * gibibyte},
		}},
		// 64 of 4096 blocks are a 64th of the memory that was set.
		"vllm-0.32.0-cpu.log": {"vllm", "", []string{spec.PhaseReady}, 1, []want{{spec.KVBytes, "", gibibyte / 64}, {spec.KVTokens, "", 8192}}},
		"vllm-0.9-v0.log": {"vllm", "", nil, 1, []want{
			{spec.WeightsBytes, "", 7.56 * gibibyte}, {spec.DeviceBytes, "", 12 * gibibyte}, {spec.NonTorchBytes, "", 0.04 * gibibyte}, {spec.ActivationBytes, "", 0.74 * gibibyte},
			{spec.KVBytes, "", 3.06 * gibibyte}, {spec.KVBlocks, "", 1394}, {spec.KVHostBlocks, "", 1820},
		}},
		"vllm-bench.log": {"vllm", "", []string{spec.PhaseReady, spec.PhaseMeasure, spec.PhaseStop}, 1, []want{
			{spec.RequestsPerSecond, "", 70.77}, {spec.TotalTokensPerSecond, "", 54350.30}, {spec.OutputTokensPerSecond, "", 18116.77},
			{spec.InputTokens, "", 262144}, {spec.OutputTokens, "", 131072},
		}},
		"vllm-serve-bench.log": {"vllm", "", []string{spec.PhaseWarmup, spec.PhaseMeasure, spec.PhaseStop}, 1, []want{
			{spec.Requests, "", 300}, {spec.FailedRequests, "", 0}, {spec.DurationSeconds, "", 872.34}, {spec.InputTokens, "", 1202084}, {spec.OutputTokens, "", 150317},
			{spec.RequestsPerSecond, "", .34}, {spec.OutputTokensPerSecond, "", 172.32}, {spec.TotalTokensPerSecond, "", 1550.32},
			{spec.TTFTSeconds, spec.Mean, 1.98163}, {spec.TTFTSeconds, "p50", 1.68448}, {spec.TTFTSeconds, "p90", 2.91337}, {spec.TPOTSeconds, spec.Mean, .1315}, {spec.ITLSeconds, "p99", .40225}, {spec.E2ESeconds, "p99", 81.25},
		}},
		"sglang-gb10.log": {"sglang", "", []string{spec.PhaseReady}, 1, []want{
			// The second load gave memory back by its own account: that is no size of weights.
			{spec.FreeBytes, "", 30.67 * gibibyte}, {spec.WeightsBytes, "", 82.97 * gibibyte}, {spec.KVBytes, "", 3.66 * gibibyte}, {spec.GraphBytes, "", 0.11 * gibibyte},
		}},
		"sglang-tp2-constructed.log": {"sglang", "", []string{spec.PhaseReady, spec.PhaseWarmup, spec.PhaseMeasure, spec.PhaseStop}, 2, []want{
			// Both pools of the first rank, none of the second, none of the engine that was there before.
			{spec.TensorRanks, "", 2}, {spec.PipelineRanks, "", 1}, {spec.FreeBytes, "", 63.48 * gibibyte}, {spec.WeightsBytes, "", 15.11 * gibibyte}, {spec.KVBytes, "", 56.04 * gibibyte}, {spec.KVTokens, "", 442750},
			{spec.Requests, "", 1000}, {spec.DurationSeconds, "", 15.48}, {spec.InputTokens, "", 296523}, {spec.RequestsPerSecond, "", 64.6}, {spec.InputTokensPerSecond, "", 19156.4},
		}},
		"sglang-0.5.23-constructed.log": {"sglang", "", []string{spec.PhaseReady}, 1, []want{
			// The target's pool after the graphs and the draft model's, and no upper bound.
			{spec.TensorRanks, "", 1}, {spec.PipelineRanks, "", 1}, {spec.FreeBytes, "", 63.48 * gibibyte}, {spec.WeightsBytes, "", 15.11 * gibibyte},
			{spec.KVBytes, "", 56.04 * gibibyte}, {spec.KVTokens, "", 442750}, {spec.GraphBytes, "", 0.5 * gibibyte},
		}},
		"llamacpp-0.5.0-cpu.log": {"llamacpp", "0", []string{spec.PhaseReady}, 1, []want{
			{spec.WeightsBytes, "", 2.54 * gibibyte / 1024}, {spec.KVBytes, "", 8. * gibibyte / 1024}, {spec.KVTokens, "", 8192}, {spec.HostComputeBytes, "", 8.01 * gibibyte / 1024},
		}},
		// Of CPU_Mapped 2.26 and CUDA0 5410.77 MiB; outputs (0.01 MiB), the breakdown and the prompt cache are none of these.
		"llamacpp-0.5.0-cuda.log": {"llamacpp", "0", []string{spec.PhaseReady}, 1, []want{
			{spec.WeightsBytes, "", 5413.03 * gibibyte / 1024}, {spec.KVBytes, "", 8192. * gibibyte / 1024}, {spec.KVTokens, "", 131072},
			{spec.ComputeBytes, "", 1344.01 * gibibyte / 1024}, {spec.HostComputeBytes, "", 48.01 * gibibyte / 1024},
		}},
		"llamacpp-cuda-constructed.log": {"llamacpp", "0", []string{spec.PhaseReady}, 1, []want{
			// A buffer that is reserved again counts once, and the draft model's is added; lines before the start do
			// not count.
			{spec.WeightsBytes, "", 5420. * gibibyte / 1024}, {spec.KVBytes, "", 8192. * gibibyte / 1024}, {spec.KVTokens, "", 131072},
			{spec.ComputeBytes, "", 700. * gibibyte / 1024}, {spec.HostComputeBytes, "", 48.01 * gibibyte / 1024},
		}},
		"genai-bench.log": {"genai-bench", "0.0.5", []string{spec.PhaseMeasure, spec.PhaseStop}, 1, nil},
	} {
		t.Run(file, func(t *testing.T) {
			r, entered := read(t, w.tool, file)
			if !slices.Equal(entered, w.phases) || r.Version != w.version || r.Ranks() != w.ranks {
				t.Errorf("phases %q, version %q, %d ranks", entered, r.Version, r.Ranks())
			}
			got := r.Values()
			for _, v := range w.values {
				i := slices.IndexFunc(got, func(g spec.Reported) bool { return g.Name == v.name && g.Statistic == v.statistic })
				if i < 0 {
					t.Errorf("no %s %s", v.name, v.statistic)
					continue
				}
				if g := got[i]; math.Abs(g.Value-v.value) > 1e-9*v.value || g.Unit == "" || g.Meaning == "" || g.Text == "" {
					t.Errorf("%+v, want %v", g, v.value)
				}
				got = slices.Delete(got, i, i+1)
			}
			if len(got) > 0 {
				t.Errorf("read too: %+v", got)
			}
		})
	}
}

// The lines of vLLM's source that were not seen printed: with --kv-cache-memory-bytes on a GPU, and without
// VLLM_CPU_KVCACHE_SPACE on a CPU.
func TestVLLMsOtherSizesOfTheKVCacheAreRead(t *testing.T) {
	for line, gib := range map[string]float64{
		"(Worker pid=7) INFO [gpu_worker.py:660] Initial free memory 117.5 GiB, reserved 30.0 GiB memory for KV Cache as specified by kv_cache_memory_bytes config": 30,
		"(Worker pid=7) INFO [cpu_worker.py:260] Auto set (2.5/13.59) GiB for KV cache on node 0, with 8.0 GiB requested memory for the worker.":                    2.5,
	} {
		r, _ := readText(t, "vllm", []byte(line+"\n"))
		if got := r.Value(spec.KVBytes); got == nil || *got != gib*gibibyte {
			t.Errorf("%q: %v", line, got)
		}
	}
}

// "KV size" ends in "V size", which must not count it again.
func TestTheKVCacheOfLatentAttentionIsCountedOnce(t *testing.T) {
	r, _ := readText(t, "sglang", []byte("[2026-11-20 16:37:06] KV Cache is allocated. dtype: torch.bfloat16, #tokens: 9, KV size: 3.00 GB\n"))
	if got := r.Value(spec.KVBytes); got == nil || *got != 3*gibibyte {
		t.Errorf("%v", *got)
	}
}

func TestAValueHasTheTextAndLineItIsFrom(t *testing.T) {
	r, _ := read(t, "trtllm", "trtllm-bench-constructed.log")
	read := map[spec.Quantity]string{}
	for _, v := range r.Values() {
		read[v.Name] = v.From + " " + v.Text
	}
	if read[spec.KVBytes] != "stdout:17 [MemUsageChange] Allocated 5.95 GiB for max tokens in paged KV cache" || read[spec.KVTokens] != "stdout:17 for max tokens in paged KV cache … (86720)" {
		t.Errorf("%q", read)
	}
	if r.Value(spec.KVBytes) == nil || r.Value(spec.GraphBytes) != nil || r.Version != "0.21.0rc0" {
		t.Errorf("%+v", r.Values())
	}
}

func TestTheWarmupsOwnStartAndEndCutNoPhase(t *testing.T) {
	text, err := os.ReadFile("testdata/trtllm-bench-constructed.log")
	if err != nil {
		t.Fatal(err)
	}
	// Phases in the right order are not enough: the warm-up has the lines of the benchmark in it.
	var borders []string
	r := toolOf(t, "trtllm").Read()
	lines := NewLines(func(l Line) {
		if phase, _ := r.Line("stdout", l); phase != "" {
			borders = append(borders, phase+" "+l.From("stdout"))
		}
	})
	if _, err := lines.Write(text); err != nil {
		t.Fatal(err)
	}
	if want := []string{"warmup stdout:19", "measure stdout:27", "stop stdout:32"}; !slices.Equal(borders, want) {
		t.Errorf("%q, want %q", borders, want)
	}
	_, warm, _ := bytes.Cut(text, []byte("[I] Setting up for warmup"))
	_, benchmark, _ := bytes.Cut(warm, []byte("Warmup done."))
	_, entered := readText(t, "trtllm", benchmark)
	if !slices.Equal(entered, []string{spec.PhaseMeasure, spec.PhaseStop}) {
		t.Errorf("without warm-up: %q", entered)
	}
}

func TestNothingIsReadByNone(t *testing.T) {
	r, entered := read(t, None, "trtllm-bench-constructed.log")
	if len(r.Values())+len(entered) > 0 || r.Version != "" {
		t.Errorf("%v %v %q", r.Values(), entered, r.Version)
	}
}

func TestTheErrorOfAnUnknownToolListsTheSupportedOnes(t *testing.T) {
	_, err := Find(supported.Engines(), "ollama")
	if err == nil || !strings.Contains(err.Error(), "vllm, sglang, trtllm, llamacpp, genai-bench, none") {
		t.Error(err)
	}
}

// A tool with a quantity, phase or statistic outside the vocabulary would write it into summaries.
func TestToolsUseTheVocabularyOnly(t *testing.T) {
	statistics := []string{"", spec.Mean, "min", "max", "p25", "p50", "p75", "p90", "p95", "p99"}
	for _, tool := range Tools(supported.Engines()) {
		for _, f := range tool.Figures {
			if v := NewValue(f.Of, f.Statistic, 1); v.Unit == "" || f.Factor == 0 || len(f.After) == 0 || !slices.Contains(statistics, f.Statistic) {
				t.Errorf("%s: %+v", tool.Name, f)
			}
		}
		for _, m := range tool.Marks {
			if !slices.Contains(spec.Phases(), m.To) || m.Text == "" {
				t.Errorf("%s: %+v", tool.Name, m)
			}
		}
		if (tool.First == "") != (len(tool.Marks) == 0) {
			t.Errorf("%s begins in %q and has %d marks", tool.Name, tool.First, len(tool.Marks))
		}
	}
	for _, q := range Quantities() {
		if suffix := map[spec.Unit]string{spec.UnitBytes: "_bytes", spec.UnitSeconds: "_seconds"}[q.Unit]; !strings.HasSuffix(string(q.Name), suffix) {
			t.Errorf("%s is in %s", q.Name, q.Unit)
		}
	}
}

func TestNumbersAreReadAsToolsWriteThem(t *testing.T) {
	for text, want := range map[string]string{
		"113.65 GiB": "113.65", "223,152 tokens": "223152", "32.": "32", "1394, # CPU": "1394", "1.0526E+15": "1.0526E+15", "5e": "5", "5e-": "5",
		"-1.86 GB": "", "nan": "", "": "", ".5": "", ",5": "", "7.x": "7",
	} {
		number, rest := spec.LeadingNumber(text)
		if strings.ReplaceAll(number, ",", "") != want || number+rest != text {
			t.Errorf("%q: %q %q", text, number, rest)
		}
	}
}

func TestWhatIsTooLargeToBeExactIsNoFigure(t *testing.T) {
	f := spec.Figure{Of: spec.KVTokens, After: []string{"tokens:"}, Factor: spec.One}
	for line, want := range map[string]bool{"tokens: 9.0E+15": true, "tokens: 9.1E+15": false, "tokens: 1E+999": false} {
		if _, _, found := figureIn(f, line); found != want {
			t.Errorf("%q: %v", line, found)
		}
	}
}

func TestALabelIsNoTailOfAnotherWord(t *testing.T) {
	f := spec.Figure{Of: spec.InputTokens, After: []string{"Total input tokens:"}, Factor: spec.One}
	for line, want := range map[string]bool{"Total input tokens: 5": true, "xTotal input tokens: 5": false, "[0] Total input tokens:5": true, "Total input text tokens: 5": false} {
		if _, _, found := figureIn(f, line); found != want {
			t.Errorf("%q: %v", line, found)
		}
	}
}

func TestTheRankIsReadFromTheFrontOfTheLine(t *testing.T) {
	for line, want := range map[string]int{
		"(Worker_TP1 pid=7) INFO": 1, "(VllmWorker rank=3 pid=7) INFO": 3, "[2025-03-25 16:37:06 TP0] KV": 0, "[01/16/2026-06:20:17] [TRT-LLM] [RANK 2] [I] iter": 2,
		"(EngineCore pid=1878) INFO": -1, "TP Size:  8": -1, "[x TP] no": -1, strings.Repeat("x", 90) + " TP1]": -1, "a TP99999999] b": -1,
	} {
		rank, found := rankIn(line)
		if !found {
			rank = -1
		}
		if rank != want {
			t.Errorf("%q: %d", line, rank)
		}
	}
}
