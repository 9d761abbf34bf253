package exporter

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/fit"
	"github.com/umascope/umascope/exporter/metric"
)

// modelFolder is a model of 10 GiB of weights and 65536 bytes of KV cache a token.
func modelFolder(t *testing.T) string {
	t.Helper()
	return writeModelFolder(t, "small-llama", 10<<30,
		`{"model_type":"llama","num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":8,"hidden_size":4096,"max_position_embeddings":8192}`)
}

// writeModelFolder writes a model whose weights are one tensor, in a file with a hole.
func writeModelFolder(t *testing.T, name string, weights int64, config string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), name)
	must(t, os.Mkdir(folder, 0o700))
	header := fmt.Sprintf(`{"a":{"dtype":"BF16","shape":[%d],"data_offsets":[0,%d]}}`, weights/2, weights)
	file := filepath.Join(folder, "model.safetensors")
	must(t, os.WriteFile(file, append(binary.LittleEndian.AppendUint64(nil, uint64(len(header))), header...), 0o600))
	must(t, os.Truncate(file, int64(8+len(header))+weights))
	must(t, os.WriteFile(filepath.Join(folder, "config.json"), []byte(config), 0o600))
	return folder
}

// TestTheModelOfThePageFits: FAQ_USE.md shows what is printed of an idle constructed Spark and Qwen2.5 7B, whose weights are
// 15,231,233,024 bytes; … stands for lines that the page leaves out.
func TestTheModelOfThePageFits(t *testing.T) {
	page, err := os.ReadFile("FAQ_USE.md")
	must(t, err)
	_, block, found := strings.Cut(string(page), "uma-exporter fit --model /srv/models/Qwen2.5-7B\n```\n\n```text\n")
	block, _, closed := strings.Cut(block, "```")
	if !found || !closed {
		t.Fatal("FAQ_USE.md has neither the command nor what it prints")
	}
	folder := writeModelFolder(t, "Qwen2.5-7B", 15231233024,
		`{"model_type":"qwen2","num_hidden_layers":28,"num_attention_heads":28,"num_key_value_heads":4,"hidden_size":3584,"max_position_embeddings":32768,"sliding_window":131072,"use_sliding_window":false}`)
	rest := runHere(t, "fit", "--model", folder, "--replay=hosts/gb10-idle.txtar")
	for part := range strings.SplitSeq(block, "…\n") {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Fatalf("it does not print\n%s\nin\n%s", part, rest)
		}
		rest = after
	}
}

// TestFitOfAMachineByHand: 48 of 100 GiB are available, 20 of them free, and 6 % of the pool are the reserve. So 42 are for one
// engine. Less 10 of weights, and 0.5 to 13.125 for the runtime, that is 18.875 to 31.5 of KV cache.
func TestFitOfAMachineByHand(t *testing.T) {
	e := exporterOf(t, integratedHost(t, "VLLM::EngineCor"), Settings{})
	var out bytes.Buffer
	must(t, e.Fit(t.Context(), &out, modelFolder(t)))
	wantIn(t, out.String(),
		"SIMULATED: One engine can have 42.0 of 100.0 GiB of GPU 0 now: vLLM --gpu-memory-utilization 0.42, SGLang --mem-fraction-static 0.60, TensorRT-LLM --kv_cache_free_gpu_memory_fraction 0.75",
		"; of that small-llama takes 10.0 GiB for its weights, and vLLM's KV cache 18.9 to 31.5, 309,248 to 516,096 tokens.\nmode SIMULATED",
		"Model small-llama (llama)\n  weights  10.00 GiB in 1 file (safetensors)\n  KV       65,536 bytes a token: 16 layers x 2 x 8 KV heads x 128 x 2 bytes (bf16)\n  context  8,192 tokens, which take 0.50 GiB\n",
		" 100.00  total, as CUDA reports it: the pool (MemTotal)\n", " -40.00  in use: vLLM\n", "  -5.00  in use: anonymous\n", " -2.00  in use: the rest\n",
		"  48.00  up to this if page cache is given up (MemAvailable; not tried on a GB10)\n",
		"  -6.00  reserve: below it alert MemoryAvailableLow can fire (8 GiB or 6 %", "  42.00  fit grants, for one engine",
		"  CUDA reports 20.0 GiB free; up to 48.0 GiB if page cache is given up (not tried on a GB10); fit grants 42.0, since machines were seen to die below 7 of 119 GiB.\n", "\n                      floor: a Spark died with about 7 of 119 GiB available (https://",
		"  vLLM          --gpu-memory-utilization 0.42\n", "0.42 is 42.00 / 100.00, rounded down; it cannot run above 0.48, which is 48.00 / 100.00\n",
		"  18.88 to 31.50  KV cache: 309,248 to 516,096 tokens, 37 to 63 sequences of 8,192\n",
		"0.60 is (42.00 - 13.12) / 48.00, rounded down",
		// 0.60 of 47.5 and of 48, less 10
		"  18.50 to 18.80  KV cache: ",
		// 48 - 10 - 13.125 = 24.875, of which 6 are left; 0.75 of 20 - 10 - 10 - 13.125 and of 48 - 10 - 0.5
		"0.75 is (24.88 - 6.00) / 24.88, rounded down\n", "  0.00 to 28.12  KV cache: the share of that: 0 to 460,800 tokens",
		"  llama.cpp     --ctx-size 303104 --parallel 37\n", // 37 x 8192
		"Page cache: CUDA does not count 28.00 GiB", "End VLLM::EngineCor (pid 7), /box: it holds 40.00 GiB.", "Programs have 5.00 GiB of their own",
	)
}

// TestFitAddsUp: the steps of every machine lead from the total to what is left.
func TestFitAddsUp(t *testing.T) {
	eachMachine(t, func(t *testing.T, name string) {
		x, err := openHostNamed(t, name).explanation(t.Context())
		must(t, err)
		report, err := newFitReport(&x, nil, fitFlags{reserveGiB: -1, gpu: -1, engines: supported.Engines()})
		must(t, err)
		if report.GPU == nil {
			if len(report.Unknown) == 0 {
				t.Error("neither a GPU nor a reason")
			}
			return
		}
		steps := report.GPU.Steps
		sum, available := int64(0), steps[len(steps)-3].Bytes.Low
		for _, s := range steps[:len(steps)-3] {
			sum += s.Bytes.Low
		}
		if sum != available || available != report.GPU.memory.Available {
			t.Errorf("the steps add up to %d, available are %d", sum, available)
		}
		if left := max(0, available+steps[len(steps)-2].Bytes.Low); left != steps[len(steps)-1].Bytes.Low {
			t.Errorf("%d are left, not %d", left, steps[len(steps)-1].Bytes.Low)
		}
	})
}

// TestReserveOfTheUser leaves 18 instead of 6 GiB: 30 are for one engine.
func TestReserveOfTheUser(t *testing.T) {
	e := exporterOf(t, integratedHost(t, "x"), Settings{})
	address := servedAt(t, e.Handler())
	wantIn(t, runHere(t, "fit", "--reserve=18", "--url="+address), "--gpu-memory-utilization 0.30", " -18.00  reserve: --reserve\n", "read by the running exporter: "+address+"/explain.json\n")
}

// TestAReserveBelowTheFloorIsSaid: a Spark died with more available than 3 of 100 GiB.
func TestAReserveBelowTheFloorIsSaid(t *testing.T) {
	address := servedAt(t, exporterOf(t, integratedHost(t, "x"), Settings{}).Handler())
	wantIn(t, runHere(t, "fit", "--reserve=3", "--url="+address), "fit grants 45.0, though machines were seen to die below 7 of 119 GiB.")
}

// TestFitLeavesOutFreeMemoryInCMA: of 113.07 GiB available 9.30 are free in CMA. vLLM's share is of the pool; SGLang counts
// what is in CMA as available, so that its share of more must be smaller.
func TestFitLeavesOutFreeMemoryInCMA(t *testing.T) {
	fits := func(name string) string {
		var out bytes.Buffer
		must(t, openHostNamed(t, name).Fit(t.Context(), &out, modelFolder(t)))
		return out.String()
	}
	wantIn(t, fits("gb10-idle"), "105.77  fit grants, ", "vLLM          --gpu-memory-utilization 0.86\n")
	wantIn(t, fits("gb10-cma"), "\n               -9.30  free in CMA, which a driver cannot pin (CmaFree)\n",
		"103.77  up to this if page cache is given up (MemAvailable, without 9.30 free in CMA; not tried on a GB10)\n",
		" 96.47  fit grants, ", "CUDA reports 107.8 GiB free, 9.3 of it in CMA, which a driver cannot pin; up to 103.8 GiB",
		"vLLM          --gpu-memory-utilization 0.79\n", "(96.47 - 13.12) / 113.07", "kho=off")
}

func TestFitAsJSONHasTheSameFigures(t *testing.T) {
	address := servedAt(t, exporterOf(t, integratedHost(t, "x"), Settings{}).Handler())
	text := runHere(t, "fit", "--json", "--kv-cache-dtype=fp8", "--model="+modelFolder(t), "--url="+address)
	var r struct {
		Schema string
		Model  struct {
			Weights int64 `json:"weight_bytes"`
			Token   int64 `json:"kv_bytes_per_token"`
		}
		Engines []struct {
			Engine, Flag string
			Fraction     int64         `json:"fraction_hundredths"`
			KV           spec.Interval `json:"kv_cache"`
			Tokens       spec.Interval `json:"kv_tokens"`
		}
	}
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	if r.Schema != fitSchema || r.Model.Weights != 10<<30 || r.Model.Token != 32768 || len(r.Engines) != len(fit.Sizing(supported.Engines())) {
		t.Errorf("%+v", r)
	}
	first := r.Engines[0]
	if first.Engine != "vLLM" || first.Fraction != 42 || first.KV.High != 63<<29 || first.Tokens.High != 63<<29/32768 {
		t.Errorf("%+v", first)
	}
}

// TestFitOfAnExporterThatIsOlder: it does not report what is available.
func TestFitOfAnExporterThatIsOlder(t *testing.T) {
	handler := exporterOf(t, integratedHost(t, "x"), Settings{}).Handler()
	address := servedAt(t, http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		page := body(t, get(t, handler, "/explain.json"))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, strings.Replace(page, `"available_bytes"`, `"other"`, 1))
	}))
	wantIn(t, runHere(t, "fit", "--url="+address), "What an engine can be given is not known.", "the running exporter is older than this program (--direct)")
}

// TestFitShowsWhatARunningEngineAskedForAndHas reads a machine whose vLLM was started with 0.25 and reports 98,304 tokens.
func TestFitShowsWhatARunningEngineAskedForAndHas(t *testing.T) {
	var out bytes.Buffer
	must(t, openHostNamed(t, "kvbm-disk").Fit(t.Context(), &out, modelFolder(t)))
	wantIn(t, out.String(),
		"  vllm at 127.0.0.1:8081/metrics meta-llama/Llama-3.1-8B-Instruct\n",
		" 30.42  told to take: 0.25 of the total\n", // 121.69 x 0.25
		"  6.00  KV cache: 98,304 tokens of its page, if it serves small-llama\n",
		" 30.00  held by VLLM::EngineCor (pid 6330)\n", "page cache of the pool: files", "anonymous of the pool: heaps",
	)
}

// TestAModelCannotCommandTheTerminal: its files come from somewhere else.
func TestAModelCannotCommandTheTerminal(t *testing.T) {
	quoted, err := json.Marshal(hostileName)
	must(t, err)
	folder := writeModelFolder(t, "x\x1b[31m", 2, `{"model_type":`+string(quoted)+`,"num_hidden_layers":2}`)
	text := runHere(t, "fit", "--model", folder, "--replay=hosts/gb10-idle.txtar")
	checkTerminal(t, "fit", text)
	wantIn(t, text, "Model x (<script>alert(1)</script>", "The KV cache of x: unknown shape: model_type ")
}

func TestFitChoosesTheGPUWithMost(t *testing.T) {
	wantIn(t, runHere(t, "fit", "--replay=hosts/h200x2.txtar"), "of GPU 1 now", "GPU 0 has 66.75 for one engine (--gpu=0)")
	wantIn(t, runHere(t, "fit", "--replay=hosts/h200x2.txtar", "--gpu=0"), "of GPU 0 now", "GPU 1 has 117.97 for one engine (--gpu=1)", "in use: python3")
	wantIn(t, runHere(t, "fit", "--replay=hosts/mig.txtar"), "it is partitioned (MIG)")
}

func TestTheReserveIsWhatTheAlertWarnsOf(t *testing.T) {
	var out bytes.Buffer
	must(t, openHostNamed(t, "gb10-idle").Fit(t.Context(), &out, ""))
	wantIn(t, out.String(), "reserve: below it alert MemoryAvailableLow can fire ("+metric.AlertThresholds().AvailableWarning.String()+")")
}
