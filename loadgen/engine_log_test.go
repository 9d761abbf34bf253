package loadgen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/server"
)

// startSays is what the TensorRT-LLM engine of a log of these figures says at its start.
func startSays(peak, kv string) string {
	return "[12/20/2025-04:21:51] [TRT-LLM] [I] Peak memory during memory usage profiling (torch + non-torch): " + peak + " GiB, available KV cache memory when calculating max tokens: " + kv + " GiB, fraction is set 0.9, kv size is 73728. device total memory 119.70 GiB, , tmp kv_mem 0.56 GiB\n" +
		"[TensorRT-LLM][INFO] [MemUsageChange] Allocated " + kv + " GiB for max tokens in paged KV cache (86720).\n"
}

func TestALogThatIsNamedTellsTheMemoryOfAnEngineWithoutAContainer(t *testing.T) {
	log := filepath.Join(t.TempDir(), "native.log")
	if err := os.WriteFile(log, []byte(startSays("80.00", "35.70")+startSays("113.65", "5.95")), 0o600); err != nil { // started twice
		t.Fatal(err)
	}
	for _, kind := range []string{"trtllm", "dynamo"} { // which has it behind its frontend
		dir, _, _ := completed(t, "--url", engine(t, time.Millisecond), "--requests=1", "--warmup=0", "--output-tokens=2", "--engine="+kind, "--engine-log="+log)
		e := summaryOf(t, dir).Memory.EngineReported
		if e == nil || e.KV == nil || *e.KV != 5.95*(1<<30) || *e.Peak != 113.65*(1<<30) || *e.KVTokens != 86720 || e.Source != "the log "+log {
			t.Errorf("%s: %+v", kind, e)
		}
	}
	if code, dir, _, stderr := invoke(t, t.Context(), "--url", engine(t, time.Millisecond), "--requests=1", "--warmup=0", "--output-tokens=2", "--engine=openai", "--engine-log="+log); code != exitDone || summaryOf(t, dir).Memory != nil || !strings.Contains(stderr, "--engine-log: nothing of the engine's memory was found in it") {
		t.Errorf("exit %d, or the log of an engine that nobody knows is read: %s", code, stderr)
	}
}

// TestLlamaCPPsLogGivesItsMemory: what its GPU holds is KV cache and compute buffers beside the weights, and none of it is on its page.
func TestLlamaCPPsLogGivesItsMemory(t *testing.T) {
	log := "enginelog/testdata/llamacpp-cuda-constructed.log"
	dir, _, _ := completed(t, "--url", engine(t, time.Millisecond), "--requests=1", "--warmup=0", "--output-tokens=2", "--engine=llamacpp", "--engine-log="+log)
	const mib = 1 << 20
	e := summaryOf(t, dir).Memory.EngineReported
	if e == nil || e.KV == nil || *e.KV != 8192*mib || *e.KVTokens != 131072 || *e.Weights != 5420*mib || *e.Compute != 700*mib || *e.HostCompute != 48.01*mib {
		t.Errorf("%+v", e)
	}
	short := filepath.Join(t.TempDir(), "short.log")
	overwrite(t, short, "0.00.006.301 I srv  llama_server: initializing ...\n0.00.196.702 I srv  llama_server: model loaded\n")
	if _, _, _, stderr := invoke(t, t.Context(), "--url", engine(t, time.Millisecond), "--requests=1", "--warmup=0", "--output-tokens=2", "--engine=llamacpp", "--engine-log="+short); !strings.Contains(stderr, "-lv 4") {
		t.Error(stderr)
	}
}

func TestALogThatCannotBeReadIsRefusedBeforeTheRun(t *testing.T) {
	dir := t.TempDir()
	for path, says := range map[string]string{
		filepath.Join(dir, "none.log"): "no such file or directory: have the engine write there",
		dir:                            "no plain file",
	} {
		code, made, _, stderr := invoke(t, t.Context(), "--url=http://127.0.0.1:1", "--engine=trtllm", "--engine-log="+path)
		if code != exitUsage || !strings.Contains(stderr, "--engine-log "+path+": "+says) {
			t.Errorf("exit %d: %s", code, stderr)
		}
		if _, err := os.Stat(made); err == nil {
			t.Errorf("%s was made", made)
		}
	}
}

// TestTheLogOfAnArmTellsItsMemory: an arm without a container has nothing else that does, where the engine's page does not.
func TestTheLogOfAnArmTellsItsMemory(t *testing.T) {
	folderOfArm := t.TempDir()
	frontend, worker := filepath.Join(folderOfArm, "frontend.log"), filepath.Join(folderOfArm, "engine.log")
	of, err := os.ReadFile("enginelog/testdata/vllm-0.24.0.log")
	if err != nil {
		t.Fatal(err)
	}
	const earlier = "GPU KV cache size: 7 tokens\n"
	for path, text := range map[string]string{frontend: "listening\n", worker: earlier + string(of)} {
		overwrite(t, path, text)
	}
	s := newArm(t)
	s.logs = []server.EngineLog{{Process: "frontend", Path: frontend}, {Process: "engine", Path: worker, From: int64(len(earlier))}}
	dir, err := runStarting(t, t.Context(), s, "--requests=1", "--warmup=0", "--output-tokens=2")
	if err != nil {
		t.Fatal(err)
	}
	e := summaryOf(t, dir).Memory.EngineReported
	if e == nil || e.KVTokens == nil || *e.KVTokens != 223152 || e.Source != "the log of process engine" {
		t.Errorf("%+v", e)
	}
}
