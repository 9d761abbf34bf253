package enginelog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// genaiBench reads the log of genai-bench (0.0.3 to 0.0.5), and the files that it writes for every run of its
// scenarios.
//
// The log has the phases, if its dashboard is off (ENABLE_UI=false): with the dashboard, genai-bench holds its log back
// until it ends. Runs of several scenarios or concurrencies are one phase. Lines such as
//
//	INFO     2026-07-22 10:00:00 - genai_bench.benchmark:benchmark - Starting benchmark with concurrency=4, spawn_rate=4
//
// The figures are in the files only; see genaiBenchResults.
func genaiBench() Tool {
	return Tool{
		Name: "genai-bench", Log: spec.Log{Help: "genai-bench: its phases, if its dashboard is off (ENABLE_UI=false), and its files (--result)",
			First: spec.PhaseReady,
			Marks: []spec.Mark{
				{Text: "Starting benchmark with concurrency=", To: spec.PhaseMeasure},
				{Text: "The whole experiment has finished!", To: spec.PhaseStop},
			},
			Versions: []string{"Welcome to genai-bench"}},
		results: genaiBenchResults,
	}
}

// largestResults bounds a file of results, in bytes. The file contains every request.
const largestResults = 256 << 20

// genaiRun has the fields of such a file that are read (genai_bench/metrics/aggregated_metrics_collector.py, save).
type genaiRun struct {
	Aggregated *struct {
		Scenario      string  `json:"scenario"`
		IterationType string  `json:"iteration_type"`
		Concurrency   float64 `json:"num_concurrency"` // a rate, if the load is a rate
		BatchSize     int     `json:"batch_size"`

		Duration  *float64 `json:"run_duration"` // seconds, with any time unit
		Requests  *float64 `json:"num_completed_requests"`
		Failed    *float64 `json:"num_error_requests"`
		PerSecond *float64 `json:"requests_per_second"`
		PerMinute *float64 `json:"requests_per_minute"` // before 0.0.4
		Input     *float64 `json:"mean_input_throughput_tokens_per_s"`
		Output    *float64 `json:"mean_output_throughput_tokens_per_s"`
		Total     *float64 `json:"mean_total_tokens_throughput_tokens_per_s"`

		Stats map[string]map[string]*float64 `json:"stats"`
	} `json:"aggregated_metrics"`
	TimeUnit string `json:"_time_unit"` // s if absent, or ms
}

// genaiBenchResults reads the file of one run, such as D(100,100)_text-to-text_num_concurrency_1_time_60s.json:
//
//	{"aggregated_metrics":{"scenario":"D(100,100)","num_concurrency":1,"requests_per_second":0.53,"stats":{"ttft":{"p50":0.032}}},"_time_unit":"s"}
func genaiBenchResults(file io.Reader) ([]spec.Reported, error) {
	text, err := io.ReadAll(io.LimitReader(file, largestResults+1))
	if err != nil {
		return nil, err
	}
	if len(text) > largestResults {
		return nil, fmt.Errorf("larger than %d MiB", largestResults>>20)
	}
	var run genaiRun
	if err := json.Unmarshal(text, &run); err != nil {
		return nil, fmt.Errorf("no file of genai-bench: %w", err)
	}
	if run.Aggregated == nil || run.Aggregated.Stats == nil {
		return nil, errors.New("no file of a run of genai-bench: it has no aggregated_metrics")
	}
	if run.TimeUnit != "" && run.TimeUnit != "s" && run.TimeUnit != "ms" {
		return nil, fmt.Errorf("its unit of time is %q and not s or ms", run.TimeUnit)
	}
	return run.values(), nil
}

func (run genaiRun) values() []spec.Reported {
	a := run.Aggregated
	var values []spec.Reported
	add := func(name spec.Quantity, statistic string, value *float64, factor float64) {
		if value != nil && *value >= 0 && *value*factor <= spec.Largest {
			v := NewValue(name, statistic, *value*factor)
			v.Of = run.of()
			values = append(values, v)
		}
	}
	add(spec.RequestsPerSecond, "", a.PerSecond, spec.One)
	if a.PerSecond == nil {
		add(spec.RequestsPerSecond, "", a.PerMinute, 1./60)
	}
	add(spec.OutputTokensPerSecond, "", a.Output, spec.One)
	add(spec.InputTokensPerSecond, "", a.Input, spec.One)
	add(spec.TotalTokensPerSecond, "", a.Total, spec.One)
	add(spec.DurationSeconds, "", a.Duration, spec.One)
	add(spec.Requests, "", a.Requests, spec.One)
	add(spec.FailedRequests, "", a.Failed, spec.One)
	factor := 1.
	if run.TimeUnit == "ms" {
		factor = spec.Milliseconds
	}
	for _, row := range []struct {
		of  spec.Quantity
		key string
	}{{spec.TTFTSeconds, "ttft"}, {spec.TPOTSeconds, "tpot"}, {spec.E2ESeconds, "e2e_latency"}} {
		for _, statistic := range []string{spec.Mean, "min", "p25", "p50", "p75", "p90", "p95", "p99", "max"} {
			add(row.of, statistic, a.Stats[row.key][statistic], factor)
		}
	}
	return values
}

// of names the run within the experiment.
func (run genaiRun) of() string {
	a := run.Aggregated
	scenario := shortened(strings.TrimSpace(plain(a.Scenario)))
	if a.IterationType == "batch_size" {
		return fmt.Sprintf("%s, batch size %d", scenario, a.BatchSize)
	}
	if a.IterationType == "request_rate" {
		return fmt.Sprintf("%s, %g requests per second", scenario, a.Concurrency)
	}
	return fmt.Sprintf("%s, concurrency %g", scenario, a.Concurrency)
}
