package loadgen

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/cmd/gguf"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/roofline"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// limitRun is a run on a GB10 machine: one request at a time, 25 ms a token, 100 tokens in and 21 out, a cache of 64 KiB
// a token by the engine's log.
func limitRun(t *testing.T) string { return limitedRun(t).Write(t) }

func limitedRun(t *testing.T) testrun.Run {
	t.Helper()
	var records []openai.Record
	for i := range 10 {
		var chunks []int64
		for token := range int64(21) {
			chunks = append(chunks, 100+25*token)
		}
		records = append(records, testrun.Answered(i, 5100+700*int64(i), chunks...))
	}
	run := testrun.OneMachine(t, testrun.Page{}, records...)
	run.Manifest.Judging.Engine = &rundir.EngineReport{KV: new(8 * testrun.GiB), KVTokens: new(131072.), Source: "the log of llamacpp"}
	return run
}

func TestReportShowsTheShareOfTheMemoryLimit(t *testing.T) {
	run, model := limitRun(t), t.TempDir()
	config := `{"num_hidden_layers":16,"num_attention_heads":32,"num_key_value_heads":8,"hidden_size":4096,"tie_word_embeddings":true}`
	for name, content := range map[string][]byte{"config.json": []byte(config), "model.safetensors": nil} {
		if err := os.WriteFile(filepath.Join(model, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Truncate(filepath.Join(model, "model.safetensors"), 5_452_595_200); err != nil { // a hole: nothing is written
		t.Fatal(err)
	}
	// 40 tokens a second; a step reads 5.46 GB, which takes 20 ms at 273 GB/s.
	for _, test := range []struct {
		args []string
		want string
	}{
		{[]string{"--model-file", model}, "Decoded 40 tokens per second with 1 sequence of 110 tokens: at 80 % of the memory limit, 50 tokens per second (NVIDIA GB10, 273 GB/s; a token reads 5.08 GiB, "},
		{[]string{"--model-file", model, "--memory-bandwidth", "546"}, ": at 40 % of the memory limit, 100 tokens per second (546 GB/s; "},
		{[]string{"--model-file", model, "--memory-bandwidth", "100"}, "No engine decodes faster than memory: model or bandwidth are not those of this run"},
		{[]string{"--memory-bandwidth", "546"}, ": the limit of memory is not known: the size of the weights is not known."},
	} {
		code, out, stderr := invokeVerb(t, append([]string{"report", run}, test.args...)...)
		if code != 0 || !strings.Contains(out, test.want) {
			t.Errorf("%q: exit %d, %s is not in:\n%s%s", test.args, code, test.want, out, stderr)
		}
	}
}

func TestReportRefusesAModelThatItCannotRead(t *testing.T) {
	run := limitRun(t)
	text := filepath.Join(t.TempDir(), "model.gguf")
	if err := os.WriteFile(text, []byte("GGML of old"), 0o600); err != nil {
		t.Fatal(err)
	}
	for path, says := range map[string]string{
		"/none.gguf": "no such file or directory", text: gguf.ErrFormat.Error(), t.TempDir(): "it has no usable config.json",
	} {
		code, out, stderr := invokeVerb(t, "report", run, "--model-file", path)
		if code != 2 || out != "" || stderr != "uma-load: --model-file "+path+": "+says+"\n" {
			t.Errorf("%s: exit %d: %s%s", path, code, out, stderr)
		}
	}
}

// The log of vLLM has "Model loading took 1.13 GiB": the size of the weights is known, whatever else is not.
func TestTheWeightsOfTheEnginesLogAreUsed(t *testing.T) {
	shape := &roofline.Shape{Layers: 16, KVHeads: 8, HeadSize: 128}
	experts := &roofline.Shape{Layers: 16, KVHeads: 8, HeadSize: 128, Experts: 64, ExpertsUsed: 4}
	for name, c := range map[string]struct {
		shape *roofline.Shape
		want  string
	}{
		// 40 tokens a second of 1.13 GiB and a little KV cache.
		"with a config.json":    {shape, "Decoded 40 tokens per second with 1 sequence of 110 tokens: at 18 % of the memory limit"},
		"with experts":          {experts, "which share of the weights are experts is not known"},
		"without a config.json": {nil, "the engine loaded 1.13 GiB of weights, and the part that a step reads is not known without the model's config.json"},
	} {
		run := limitedRun(t)
		run.Manifest.Judging.Engine.Weights = new(1.13 * testrun.GiB)
		if c.shape != nil {
			run.Manifest.Server.FingerprintStart = &rundir.Fingerprint{Endpoint: string(openai.Chat), Shape: c.shape}
		}
		code, out, stderr := invokeVerb(t, "report", run.Write(t))
		if code != 0 || !strings.Contains(out, c.want) || strings.Contains(out, "the size of the weights is not known") {
			t.Errorf("%s: exit %d, %q is not in:\n%s%s", name, code, c.want, out, stderr)
		}
	}
}
