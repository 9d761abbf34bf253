package loadgen

import (
	"bytes"
	"encoding/json"
	"math"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
)

// imported runs the verb import into a folder of its own.
func imported(t *testing.T, out string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var printed, complained bytes.Buffer
	code = Run(t.Context(), append([]string{"import", "--out", out}, args...), &printed, &complained)
	return code, printed.String(), complained.String()
}

const sparkResults = `{"models":{"deepseek":{
 "native":[{"environment":"native","model_name":"deepseek","model_id":"d/r1","iteration":1,"timestamp":"20251109_022626","start_temp_celsius":40,"end_temp_celsius":60,"exit_code":0,"throughput":0.94,"output_throughput":120.7,"latency":null,"peak_memory":69.28,"kv_cache":45.38}],
 "container":[{"environment":"container","model_name":"deepseek","model_id":"d/r1","iteration":1,"timestamp":"20251109_053000","exit_code":1}]}}}`

func resultsFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "results.json")
	overwrite(t, path, text)
	return path
}

// TestImportedRunsKeepTheSchemasOfOurOwn, and are listed with what is to be known of them.
func TestImportedRunsKeepTheSchemasOfOurOwn(t *testing.T) {
	out := filepath.Join(t.TempDir(), "runs")
	code, stdout, stderr := imported(t, out, "--format=benchmark-spark", "--label=host=spark1", resultsFile(t, sparkResults))
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, says := range []string{"native", "container", "deepseek", "NO: incomplete", "2 runs imported into " + out + ", 1 of them invalid", "warning: its times have no zone"} {
		if !strings.Contains(stdout, says) {
			t.Errorf("%q is not in\n%s", says, stdout)
		}
	}
	schemas := validators(t)
	paths, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil || len(paths) != 2 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		for _, name := range []string{rundir.ManifestFile, rundir.SummaryFile} {
			for _, value := range documents(t, filepath.Join(path, name)) {
				if err := schemas[name].Validate(value); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		}
		if m := manifestOf(t, path); m.Labels["host"] != "spark1" || m.Program.GoVersion == "" {
			t.Errorf("%+v", m)
		}
	}
}

func TestBadImportsAreRefusedInOneLine(t *testing.T) {
	file := resultsFile(t, sparkResults)
	out := filepath.Join(t.TempDir(), "runs")
	if code, _, stderr := imported(t, out, "--format=benchmark-spark", file); code != exitDone {
		t.Fatal(stderr)
	}
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"no format":        {[]string{file}, "--format"},
		"another format":   {[]string{"--format=csv", file}, `--format: "csv" is none of benchmark-spark, trtllm-log, vllm, aiperf, genai-bench, guidellm, vllm-multi-turn, spark-harness, llama-benchy, sparkrun`},
		"no file":          {[]string{"--format=vllm"}, "file"},
		"no such file":     {[]string{"--format=vllm", file + "x"}, file + "x"},
		"another tool's":   {[]string{"--format=vllm", file}, file + ": no file of vllm: run 1: it has no date"},
		"a label twice":    {[]string{"--format=vllm", "--label=a=1", "--label=a=2", file}, "--label: a is given twice"},
		"imported already": {[]string{"--format=benchmark-spark", file}, "it was imported before: its run of 20251109_022626 is " + out},
	} {
		code, stdout, stderr := imported(t, out, c.args...)
		if code != exitUsage || stdout != "" || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, c.says) {
			t.Errorf("%s: exit %d, %q%q; want %q", name, code, stdout, stderr, c.says)
		}
	}
}

// TestImportedRunsAreComparedLikeOurOwn: no figure is lost between the file and the comparison.
func TestImportedRunsAreComparedLikeOurOwn(t *testing.T) {
	out := filepath.Join(t.TempDir(), "runs")
	text := strings.NewReplacer(`"exit_code":1}`, `"exit_code":0,"throughput":0.94,"output_throughput":119.5,"peak_memory":101.3,"kv_cache":16.6}`).Replace(sparkResults)
	if code, _, stderr := imported(t, out, "--format=benchmark-spark", resultsFile(t, text)); code != exitDone {
		t.Fatal(stderr)
	}
	var printed, complained bytes.Buffer
	if code := Run(t.Context(), []string{"compare", out, "--by=arm", "--within=model", "--baseline=native", "--json"}, &printed, &complained); code != exitDone {
		t.Fatalf("exit %d: %s", code, complained.String())
	}
	var comparison struct {
		Strata []struct {
			Within map[string]string
			Pairs  []struct {
				Metrics []struct {
					Name           string
					EngineReported bool `json:"engine_reported"`
					A, B           struct{ Mean float64 }
				}
			}
		}
	}
	if err := json.Unmarshal(printed.Bytes(), &comparison); err != nil || len(comparison.Strata) != 1 || comparison.Strata[0].Within["model"] != "deepseek" {
		t.Fatalf("%v: %s", err, printed.String())
	}
	seen := false
	for _, m := range comparison.Strata[0].Pairs[0].Metrics {
		if m.Name == "memory_occupied_without_kv_bytes" {
			seen = true
			if !m.EngineReported || m.A.Mean != math.Round(69.28*(1<<30)) || m.B.Mean != math.Round(101.3*(1<<30)) {
				t.Errorf("%+v", m)
			}
		}
	}
	if !seen {
		t.Errorf("no row for what was published: %s", printed.String())
	}
}

// What a file has of throughput and of the KV cache is served, under names that no measured figure has.
func TestImportedRunsAreServedWithThroughputAndKVCache(t *testing.T) {
	out := filepath.Join(t.TempDir(), "runs")
	for format, file := range map[string]string{
		"benchmark-spark": resultsFile(t, sparkResults), "vllm": "importer/testdata/vllm-0.33.0.json",
		"aiperf": "importer/testdata/aiperf-0.13.0.json", "guidellm": "importer/testdata/guidellm-0.8.1.json",
	} {
		if code, _, stderr := imported(t, out, "--format="+format, file); code != exitDone {
			t.Fatalf("%s: exit %d: %s", format, code, stderr)
		}
	}
	url, _, end := served(t, "--runs="+out, "--web.listen-address=127.0.0.1:0")
	page := fetched(t, url+"/metrics")
	end()
	for _, want := range []string{
		`uma_run_imported\{format="benchmark-spark",run="[^"]+"\} 1`,
		`uma_run_tool_reported_output_tokens_per_second\{run="[^"]+",source="trtllm-bench"\} 120\.7`,
		`uma_run_tool_reported_requests_per_second\{run="[^"]+",source="trtllm-bench"\} 0\.94`,
		`uma_run_engine_reported_kv_capacity_bytes\{run="[^"]+",source="results\.json"\} 4\.8726403973e\+10`,
		`uma_run_tool_reported_output_tokens_per_second\{run="[^"]+",source="vllm bench serve"\} [1-9]`,
		`uma_run_tool_reported_output_tokens_per_second\{run="[^"]+",source="AIPerf"\} [1-9]`,
		`uma_run_tool_reported_output_tokens_per_second\{run="[^"]+",source="GuideLLM"\} [1-9]`,
	} {
		if !regexp.MustCompile("(?m)^" + want).MatchString(page) {
			t.Errorf("no %s in\n%s", want, page)
		}
	}
	for _, measured := range []string{"\numa_run_output_tokens_per_second{", "\numa_run_kv_capacity_"} {
		if strings.Contains(page, measured) {
			t.Errorf("%s of runs that were not measured here", measured)
		}
	}
}
