package alerts

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// comparisonGroup is about saved comparisons.
func comparisonGroup() Group {
	t := metric.AlertThresholds()
	return Group{Name: "comparison", Alerts: []Alert{latencyRegression(t), containerMemoryOverhead(t)}}
}

// requestMetrics matches the names of metrics of requests: latencies and throughputs that uma-load measured. Names of
// figures that an engine or a tool reported begin otherwise, and the whole name is matched.
const requestMetrics = `(time_to_first_token|time_to_first_output|time_per_output_token|inter_token_latency|request_duration|queue_delay)_.*|(steady_|goodput_)?(output_tokens|input_tokens|requests)_per_second`

// occupiedMetric is the name of the memory occupied without KV cache in comparisons.
const occupiedMetric = "memory_occupied_without_kv_bytes"

// onRow joins series of one metric of a comparison.
func onRow() expr.Matching { return expr.On(rowOfComparison()...) }

func rowOfComparison() []metric.Label {
	return []metric.Label{metric.LabelComparison, metric.LabelMetric, metric.LabelBaseline, metric.LabelCandidate, metric.LabelScenario, metric.LabelModel}
}

// newlyWorse are the metrics that a recent comparison calls worse.
func newlyWorse(t metric.Thresholds, of ...expr.Matcher) expr.Expr {
	worse := expr.Select(metric.ComparisonVerdict, append([]expr.Matcher{expr.Is(metric.LabelVerdict, metric.VerdictWorse)}, of...)...).
		Equals(expr.Number(1)).Max(expr.By(rowOfComparison()...))
	// By the timestamp of its file: the series in Prometheus has a gap for every time that Prometheus was down.
	saved := expr.Select(metric.ComparisonSavedTimestampSeconds).Max(expr.By(metric.LabelComparison))
	return worse.Unless(saved.Age().AtLeast(expr.Number(t.Run.Fresh.Seconds())), expr.On(metric.LabelComparison))
}

// byOrder are the rules of a finding: information where time explains it as well, else a warning. Nothing waits: a saved
// comparison is one file, which is there as a whole or not at all.
func byOrder(found expr.Expr, description string, proven string) []Rule {
	confounded := expr.Select(metric.ComparisonConfounded).Equals(expr.Number(1))
	return []Rule{
		{Severity: Info, KeepFiringFor: resultKeep, Expr: found.And(confounded, onRow()),
			Description: description + ", but the runs followed each other so that time explains it as well: this is no proof."},
		{Severity: Warning, KeepFiringFor: resultKeep, Expr: found.Unless(confounded, onRow()), Description: description + proven},
	}
}

func latencyRegression(t metric.Thresholds) Alert {
	const found = "{{ $labels.metric }} of {{ $labels.candidate }} is worse than that of {{ $labels.baseline }} ({{ $labels.scenario }}, {{ $labels.model }})"
	return Alert{
		Name:    "LatencyRegression",
		Summary: "A comparison finds that requests are answered worse than before.",
		About:   AboutComparison,
		Rules:   byOrder(newlyWorse(t, expr.Matches(metric.LabelMetric, requestMetrics)), found, " by more than its margin, and by more than chance between runs."),
		Runbook: Runbook{
			Meaning: "A saved comparison says `worse` of a latency or a throughput: the confidence interval over runs leaves out no difference and reaches beyond the margin, adjusted for how many metrics were tested. As a warning the runs were mixed in time. As information only they were not (blocks, or one arm after the other): then whatever changed between the blocks explains the difference as well as the arm does, and no notice is sent.",
			Check:   "`uma-load compare --by arm RUNS...`, or the dashboard that compares runs: ratio and interval, the order of the runs, drift inside each arm, and the items that should be the same and are not (clock cap, driver, start temperature, free memory).",
			Action:  "If it was confounded, repeat the arms in turns (order abba) before anything is concluded. If not, undo the change that the candidate stands for, or look for its cause among what differs. The alert ends when the comparison is saved anew with a better result, is removed, or is two weeks old.",
		},
	}
}

func containerMemoryOverhead(t metric.Thresholds) Alert {
	of := []expr.Matcher{expr.Is(metric.LabelMetric, occupiedMetric), expr.Is(metric.LabelBaseline, metric.ArmNative), expr.Is(metric.LabelCandidate, metric.ArmContainer)}
	more := expr.Select(metric.ComparisonDifference, of...).Max(expr.By(rowOfComparison()...)).Above(expr.Number(t.Container.OverheadBytes))
	const found = "runs in a container occupy {{ $value | humanize1024 }}B more without KV cache than native ones ({{ $labels.scenario }}, {{ $labels.model }})"
	return Alert{
		Name:    "ContainerMemoryOverhead",
		Summary: "A comparison finds that runs in a container occupy more memory without KV cache than native ones.",
		About:   AboutComparison,
		Rules:   byOrder(more.And(newlyWorse(t, of...), onRow()), found, ", more than "+metric.BinaryBytes(t.Container.OverheadBytes)+" and more than chance between runs. That an arm was the container does not yet prove that the container is the cause."),
		Runbook: Runbook{
			Meaning: "A saved comparison of arms `native` and `container` says `worse` of the memory occupied without KV cache: the pool minus free memory minus the KV cache when the engine was ready. An engine that sizes its KV cache from free memory has a smaller one by so much. It does **not** prove that containers cost memory: page cache that an earlier run or the pull of an image left counts as occupied, as it does for CUDA. GPU memory is charged to no cgroup, so \"Docker counts it twice\" is not the cause. As information only, the arms ran one after the other, and time explains the difference as well. Where the comparison is inconclusive, this is silent.",
			Check:   "The ledgers of both arms side by side in the dashboard that compares runs, or `uma-load compare` over their folders. A difference in `page_cache` is history; one in `anon` or `shmem` is the container; one in `gpu_process` is the engine's settings. Look at the order of the runs, and whether the first run after the switch stands out.",
			Action:  "Repeat both arms in turns (`uma-load campaign`, order abba) with the page cache dropped before every start. If the difference stays, compare the options of the container (shared memory, pinned host tiers) and the version of the engine in the image. The alert ends when the comparison is saved anew with another result, is removed, or is two weeks old.",
		},
	}
}
