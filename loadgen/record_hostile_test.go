package loadgen

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/enginelog"
	"github.com/umascope/umascope/loadgen/rundir"
)

// printing is a command that prints a text as it is, under any name.
func printing(t *testing.T, name, text string) string {
	t.Helper()
	dir := t.TempDir()
	overwrite(t, filepath.Join(dir, "said"), text)
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte("#!/bin/sh\ncat \"${0%/*}/said\"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

// notItsLog are the files of a folder beside the command's own output, which is kept as it came.
func notItsLog(t *testing.T, dir string) string {
	t.Helper()
	for _, name := range []string{rundir.StdoutFile, rundir.StderrFile} {
		if err := os.Remove(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Engines print their settings when they start, and keys are among them.
func TestNoSecretOfARecordedCommandLeavesItsLog(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", secrets["the environment's key"])
	page, _ := exporter(t)
	key := secrets["the file's key"]
	logs := map[string]string{
		"vllm": "vLLM API server version 0.9.1 args: Namespace(api_key='" + key + "')\nInitializing a V1 LLM engine (v0.9.1) with config: token='" + key + "'\n" +
			"Starting main benchmark run...\nGPU KV cache size: 100 tokens\nThroughput: 1.5 requests/s, key " + key + "\n",
		"sglang":      "server_args=ServerArgs(api_key='" + key + "', tp_size=1)\nThe server is fired up and ready to roll!\nmax_total_num_tokens=100, api_key=" + key + "\n",
		"trtllm":      "[TensorRT-LLM] TensorRT-LLM version: 1.1.0 HF_TOKEN=" + key + "\nSetting up for warmup...\nWarmup done.\n= PERFORMANCE OVERVIEW\nRequest Throughput (req/sec): 1.5\n",
		"llamacpp":    "llama_server: initializing ...\ncommon_params_print_info: build 0 api_key=" + key + "\nload_tensors: CUDA0 model buffer size = 5.00 MiB api_key=" + key + "\nllama_server: model loaded " + key + "\n",
		"genai-bench": "Welcome to genai-bench 0.0.2 --api-key " + key + "\nStarting benchmark with concurrency=1\n",
		"none":        key + "\n",
	}
	for _, tool := range enginelog.Tools(supported.Engines()) {
		t.Run(tool.Name, func(t *testing.T) {
			code, dir, _, stderr := recorded(t, Program{}, t.Context(), "--extract="+tool.Name, "--xlsx", "--csv", "--log.level=debug", "--telemetry-interval=100ms", "--before=100ms", "--after=100ms",
				"--telemetry=spark="+page+"?token="+secrets["a query of telemetry"], "--scrape=engine="+page+"?token="+secrets["a query of a page"], "--validity=telemetry_lost=off",
				"--capture=it=true "+secrets["a command"], "--", printing(t, "benchmark", logs[tool.Name]), "--header="+secrets["a header"], secrets["a credential"], "-k"+key)
			if code != exitDone || logs[tool.Name] == "" {
				t.Fatalf("exit %d: %s", code, stderr)
			}
			if files := expectNoSecret(t, notItsLog(t, dir), map[string]string{"stderr": stderr}); files < 8 {
				t.Errorf("only %d files", files)
			}
		})
	}
}

func TestWhatARecordedCommandIsCalledAndPrintsStaysText(t *testing.T) {
	output := hostileText + "\n"
	for _, line := range []string{
		"vLLM API server version %s", "Starting main benchmark run... %s", "GPU KV cache size: 100 tokens %s", "Throughput: 1.5 requests/s %s", "%s GPU KV cache size: 100 tokens",
	} {
		output += fmt.Sprintf(line+"\n", hostileLabel)
	}
	name := strings.ReplaceAll(hostileText, "/", "")
	code, dir, stdout, stderr := recorded(t, Program{}, t.Context(), "--extract=vllm", "--xlsx", "--csv", "--telemetry-interval=100ms", "--before=100ms", "--after=100ms",
		"--telemetry=spark="+hostileExporter(t), "--label=arm="+hostileLabel, "--capture=said=printf '\\033[31m<script>'", "--", printing(t, name, output))
	if code != exitDone && code != exitInvalid {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	if !strings.HasPrefix(stdout, output) || text(t, dir, rundir.StdoutFile) != output {
		t.Errorf("the command's own words are not as they were: %s", stdout)
	}
	outputs := map[string]string{"stdout": strings.TrimPrefix(stdout, output), "stderr": stderr}
	for _, name := range []string{"manifest.json", "summary.json", "report.md", "report.html", "summary.csv"} {
		outputs[name] = text(t, dir, name)
	}
	expectHarmless(t, outputs, "stderr", "summary.csv")
	expectNoFormulaInWorkbook(t, filepath.Join(dir, rundir.WorkbookFile))
}

func TestFilesOfResultsThatSomebodyElseNamedStayText(t *testing.T) {
	results := t.TempDir()
	tool := map[string]string{
		strings.ReplaceAll(hostileText, "/", "") + ".json": fmt.Sprintf(
			`{"aggregated_metrics":{"scenario":%q,"num_concurrency":1,"requests_per_second":0.5,"stats":{"ttft":{"p50":0.03}}},"_time_unit":"s"}`, hostileLabel),
		"broken\x1b[31m.json": "{" + hostileText,
	}
	script := "#!/bin/sh\nprintf '\\n'\n"
	for i, name := range slices.Sorted(maps.Keys(tool)) {
		source := filepath.Join(t.TempDir(), fmt.Sprint(i))
		overwrite(t, source, tool[name])
		script += "cp '" + source + "' '" + strings.ReplaceAll(filepath.Join(results, name), "'", `'\''`) + "'\n"
	}
	path := filepath.Join(t.TempDir(), "benchmark")
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	code, dir, stdout, stderr := recorded(t, Program{}, t.Context(), "--extract=genai-bench", "--xlsx", "--csv", "--result="+results, "--", path)
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	outputs := map[string]string{"stdout": stdout, "stderr": stderr}
	for _, name := range []string{"summary.json", "report.md", "report.html"} {
		outputs[name] = text(t, dir, name)
	}
	expectHarmless(t, outputs, "stderr")
	expectNoFormulaInWorkbook(t, filepath.Join(dir, rundir.WorkbookFile))
}
