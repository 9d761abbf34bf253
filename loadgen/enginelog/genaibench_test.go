package enginelog

import (
	"math"
	"os"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
)

func results(t *testing.T, text string) ([]spec.Reported, error) {
	t.Helper()
	tool, err := Find(supported.Engines(), "genai-bench")
	if err != nil {
		t.Fatal(err)
	}
	return tool.Results(strings.NewReader(text))
}

func TestAFileOfGenAIBenchGivesItsFigures(t *testing.T) {
	text, err := os.ReadFile("testdata/genai-bench.json")
	if err != nil {
		t.Fatal(err)
	}
	values, err := results(t, string(text))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]spec.Reported{}
	for _, v := range values {
		seen[string(v.Name)+" "+v.Statistic] = v
	}
	for key, want := range map[string]float64{
		"requests_per_second ": 31.9995250891596 / 60, "output_tokens_per_second ": 54.891401311421, "ttft_seconds p50": 0.03240828774869442,
		"tpot_seconds mean": 0.017912086899741553, "e2e_seconds p99": 2.3113855234906087, "requests ": 32, "failed_requests ": 0,
	} {
		if v := seen[key]; math.Abs(v.Value-want) > 1e-12 || v.Of != "D(100,100), concurrency 1" || v.Unit == "" {
			t.Errorf("%s: %+v, want %v", key, v, want)
		}
	}
}

func TestMillisecondsOfGenAIBenchBecomeSeconds(t *testing.T) {
	values, err := results(t, `{"aggregated_metrics":{"scenario":"E(9)","iteration_type":"batch_size","batch_size":8,"run_duration":60,"requests_per_second":2,"requests_per_minute":7,"stats":{"ttft":{"mean":1500}}},"_time_unit":"ms"}`)
	if err != nil {
		t.Fatal(err)
	}
	want := []want{{spec.RequestsPerSecond, "", 2}, {spec.DurationSeconds, "", 60}, {spec.TTFTSeconds, spec.Mean, 1.5}}
	if len(values) != len(want) {
		t.Fatalf("%+v", values)
	}
	for i, w := range want {
		if v := values[i]; v.Name != w.name || v.Statistic != w.statistic || v.Value != w.value || v.Of != "E(9), batch size 8" {
			t.Errorf("%+v, want %+v", v, w)
		}
	}
}

func TestTheConcurrencyOfGenAIBenchMayBeARate(t *testing.T) {
	for text, of := range map[string]string{
		`"num_concurrency":4.0`:                                   "D(1,1), concurrency 4",
		`"iteration_type":"request_rate","num_concurrency":2.5`:   "D(1,1), 2.5 requests per second",
		`"iteration_type":"num_concurrency","num_concurrency":16`: "D(1,1), concurrency 16",
	} {
		values, err := results(t, `{"aggregated_metrics":{"scenario":"D(1,1)",`+text+`,"requests_per_second":2,"stats":{}}}`)
		if err != nil || len(values) != 1 || values[0].Of != of {
			t.Errorf("%s: %+v, %v", text, values, err)
		}
	}
}

func TestAFileThatIsNoneOfGenAIBenchIsRefused(t *testing.T) {
	for name, text := range map[string]string{
		"no JSON": "hello", "metadata": `{"cmd":"genai-bench"}`, "a list": `[]`, "no figures": `{"aggregated_metrics":{}}`,
		"unit": `{"aggregated_metrics":{"stats":{}},"_time_unit":"hours"}`,
	} {
		if values, err := results(t, text); err == nil {
			t.Errorf("%s: %+v", name, values)
		}
	}
	vllm, err := Find(supported.Engines(), "vllm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := vllm.Results(strings.NewReader("{}")); err == nil || vllm.HasResults() {
		t.Error("vllm has files")
	}
}
