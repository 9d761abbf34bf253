package importer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// sparkHarness reads summary.json of dgx-spark-harness (@5671630, bench/run_bench.py):
//
//	{"run_id":"20260213T101500Z","created_utc":"2026-02-13T10:31:02.123+00:00","run_valid":true,"invalid_reason":null,"model_id":"m","scenario":"rehydrate_replay",
//	 "kv_mode":{"mode":"cpu_disk","tier_mode":"B2","cpu_cache_gb":8,"disk_cache_gb":32},"phase_windows":{"replay":{"start":"…","end":"…"}},
//	 "overall_summary":{"duration_s":61.2,"ok_requests":24,"error_requests":0,"req_per_s":0.39,"output_tokens_per_s_est":51.2,"latency_ms":{"p50":2011.3},"ttft_ms":{"p50":310.2}}}
//
// overall_summary is of the phases that count. Latencies are in milliseconds, of all requests, failed
// ones too, and so are its requests per second; tokens are estimated from text. Its time to first token is
// that of the first event of the stream, which may have no text. Its verdicts on KV tiers are kept as
// warnings: they count blocks that came from host memory like those that came from a disk.
func sparkHarness() Format {
	return Format{Name: "spark-harness", Help: "summary.json of dgx-spark-harness", read: readSparkHarness}
}

// harnessRun has the fields of the file that are read.
type harnessRun struct {
	ID       string                       `json:"run_id"`
	Created  string                       `json:"created_utc"`
	Valid    *bool                        `json:"run_valid"`
	Reason   string                       `json:"invalid_reason"`
	Model    string                       `json:"model_id"`
	Scenario string                       `json:"scenario"`
	Tags     []string                     `json:"variant_tags"`
	Windows  map[string]map[string]string `json:"phase_windows"`
	KV       struct {
		Mode   string   `json:"mode"`
		Tier   string   `json:"tier_mode"`
		CPUGB  *float64 `json:"cpu_cache_gb"`
		DiskGB *float64 `json:"disk_cache_gb"`
	} `json:"kv_mode"`
	Overall harnessFigures `json:"overall_summary"`
}

type harnessFigures struct {
	Duration *float64            `json:"duration_s"`
	OK       *float64            `json:"ok_requests"`
	Failed   *float64            `json:"error_requests"`
	Requests *float64            `json:"req_per_s"`
	Input    *float64            `json:"input_tokens_per_s_est"`
	Output   *float64            `json:"output_tokens_per_s_est"`
	Latency  map[string]*float64 `json:"latency_ms"`
	TTFT     map[string]*float64 `json:"ttft_ms"`
	Eviction *harnessSignal      `json:"eviction_replay_signal_kvbm"`
	Replay   *harnessSignal      `json:"rehydrate_replay_signal_kvbm"`
	Reuse    *harnessSignal      `json:"reuse_verify_signal_kvbm"`
}

type harnessSignal struct {
	Signal string `json:"signal"`
}

func readSparkHarness(f *file) ([]Result, error) {
	var run harnessRun
	if err := decode(f.text, &run); err != nil {
		return nil, err
	}
	if run.ID == "" || run.Valid == nil {
		return nil, errors.New("it has no run_id or no run_valid")
	}
	ended, err := timeOf(time.RFC3339, "created_utc", run.Created)
	if err != nil {
		return nil, err
	}
	r := Result{
		Key: printable(run.ID, longestLabel), EndedAt: ended, Program: "dgx-spark-harness", Model: printable(run.Model, longestLabel),
		Warnings: []string{
			"dgx-spark-harness takes the first event of a stream for the first token, and counts the latency of requests that failed",
			"dgx-spark-harness estimates tokens from text: its tokens per second are no count of the server's",
		},
	}
	if r.StartedAt = cmp.Or(run.started(), ended); r.StartedAt.IsZero() {
		return nil, errors.New("it has no created_utc")
	}
	r.EndKnown = true
	if !*run.Valid {
		r.Stopped = "dgx-spark-harness calls it invalid: " + cmp.Or(printable(run.Reason, longestLabel), "it does not say why")
	}
	r.label("model", run.Model)
	r.label("kv_mode", run.KV.Mode)
	r.label("tier_mode", run.KV.Tier)
	r.setting("scenario", run.Scenario)
	r.setting("variant_tags", strings.Join(run.Tags, ","))
	r.settingNumber("cpu_cache_gb", run.KV.CPUGB)
	r.settingNumber("disk_cache_gb", run.KV.DiskGB)
	r.label("workload", run.Scenario)
	run.Overall.figures(&r)
	return []Result{r}, nil
}

// started returns the start of its first phase.
func (run harnessRun) started() time.Time {
	var first time.Time
	for _, window := range run.Windows {
		at, err := timeOf(time.RFC3339, "start", window["start"])
		if err == nil && !at.IsZero() && (first.IsZero() || at.Before(first)) {
			first = at
		}
	}
	return first
}

func (o harnessFigures) figures(r *Result) {
	r.totals([]total{
		{spec.RequestsPerSecond, o.Requests}, {spec.InputTokensPerSecond, o.Input}, {spec.OutputTokensPerSecond, o.Output},
		{spec.DurationSeconds, o.Duration}, {spec.Requests, o.OK}, {spec.FailedRequests, o.Failed},
	})
	for _, of := range []struct {
		name   spec.Quantity
		values map[string]*float64
	}{{spec.TTFTSeconds, o.TTFT}, {spec.E2ESeconds, o.Latency}} {
		for _, statistic := range slices.Sorted(maps.Keys(of.values)) {
			if slices.Contains([]string{"mean", "min", "p50", "p90", "p95", "p99", "max"}, statistic) {
				r.add(of.name, statistic, of.values[statistic], 1e-3)
			}
		}
	}
	for _, signal := range []*harnessSignal{o.Eviction, o.Replay, o.Reuse} {
		if signal != nil && signal.Signal != "" {
			r.Warnings = append(r.Warnings, fmt.Sprintf("dgx-spark-harness says %s: it counts blocks from host memory like those from a disk, and is taken for no evidence", printable(signal.Signal, longestLabel)))
		}
	}
}
