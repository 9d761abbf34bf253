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

// onRow joins series of one metric of a comparison.
func onRow() expr.Matching { return expr.On(rowOfComparison()...) }

func rowOfComparison() []metric.Label {
	return []metric.Label{metric.LabelComparison, metric.LabelMetric, metric.LabelBaseline, metric.LabelCandidate, metric.LabelScenario, metric.LabelModel}
}

// newly selects the metrics with a verdict in a recent comparison.
func newly(t metric.Thresholds, verdict string, of ...expr.Matcher) expr.Expr {
	has := expr.Select(metric.ComparisonVerdict, append([]expr.Matcher{expr.Is(metric.LabelVerdict, verdict)}, of...)...).
		Equals(expr.Number(1)).Max(expr.By(rowOfComparison()...))
	// By the timestamp of its file: the series in Prometheus has a gap for every time that Prometheus was down.
	saved := expr.Select(metric.ComparisonSavedTimestampSeconds).Max(expr.By(metric.LabelComparison))
	return has.Unless(saved.Age().AtLeast(expr.Number(t.Run.Fresh.Seconds())), expr.On(metric.LabelComparison))
}

// differences selects the difference of each metric, candidate minus baseline.
func differences(of ...expr.Matcher) expr.Expr {
	return expr.Select(metric.ComparisonDifference, of...).Max(expr.By(rowOfComparison()...))
}

// byProof are the rules of metrics that are worse: a warning where that is proven, by more than the margin; information
// where the extent is not decided, or time explains the difference as well. Nothing waits: a saved comparison is one
// file, which is there as a whole or not at all.
func byProof(proven, open expr.Expr, description, beyond string) []Rule {
	return []Rule{
		{Severity: Info, KeepFiringFor: resultKeep, Expr: open,
			Description: description + ", but time explains it as well, or the extent is not decided: this is no proof."},
		{Severity: Warning, KeepFiringFor: resultKeep, Expr: proven, Description: description + beyond},
	}
}

func latencyRegression(t metric.Thresholds) Alert {
	const found = "{{ $labels.metric }} of {{ $labels.candidate }} is worse than that of {{ $labels.baseline }} ({{ $labels.scenario }}, {{ $labels.model }})"
	requests := expr.Matches(metric.LabelMetric, metric.LatencyFigures+"|"+metric.ThroughputFigures)
	longer := differences(expr.Matches(metric.LabelMetric, metric.LatencyFigures)).Above(expr.Number(0))
	less := differences(expr.Matches(metric.LabelMetric, metric.ThroughputFigures)).Below(expr.Number(0))
	open := newly(t, metric.VerdictWorseExtentOpen, requests).
		Or(newly(t, metric.VerdictConfounded, requests).And(longer.Or(less), onRow()))
	return Alert{
		Name:    "LatencyRegression",
		Summary: "A comparison finds that requests are answered worse than before.",
		About:   AboutComparison,
		Rules:   byProof(newly(t, metric.VerdictWorse, requests), open, found, " by more than its margin, and by more than chance between runs."),
		Runbook: Runbook{
			Meaning: "A saved comparison has the verdict `worse` for a latency or a throughput: the 95 % confidence interval over runs lies wholly beyond the margin, adjusted for how many metrics were tested. As information only, the verdict is `worse_extent_not_decided` (the interval excludes 0 and crosses the margin) or `confounded`: the runs followed each other in blocks, or their difference drifts, so that time explains it as well as the arm does. Then no notice is sent.",
			Check:   "`uma-load compare --by arm RUNS...`, or the dashboard that compares runs: ratio and interval, the order of the runs, drift inside each arm, and the items that should be the same and are not (clock cap, driver, start temperature, free memory).",
			Action:  "If it was confounded, repeat the arms in turns (order abba) before anything is concluded. If the extent is not decided, make as many runs as the comparison says are needed. Else undo the change that the candidate stands for, or look for its cause among what differs. The alert ends when the comparison is saved anew with a better result, is removed, or is two weeks old.",
		},
	}
}

func containerMemoryOverhead(t metric.Thresholds) Alert {
	of := []expr.Matcher{expr.Is(metric.LabelMetric, metric.OccupiedWithoutKV), expr.Is(metric.LabelBaseline, metric.ArmNative), expr.Is(metric.LabelCandidate, metric.ArmContainer)}
	more := differences(of...).Above(expr.Number(t.Container.OverheadBytes))
	open := newly(t, metric.VerdictWorseExtentOpen, of...).Or(newly(t, metric.VerdictConfounded, of...))
	const found = "runs in a container occupy {{ $value | humanize1024 }}B more without KV cache than native ones ({{ $labels.scenario }}, {{ $labels.model }})"
	return Alert{
		Name:    "ContainerMemoryOverhead",
		Summary: "A comparison finds that runs in a container occupy more memory without KV cache than native ones.",
		About:   AboutComparison,
		Rules:   byProof(more.And(newly(t, metric.VerdictWorse, of...), onRow()), more.And(open, onRow()), found, ", more than "+metric.BinaryBytes(t.Container.OverheadBytes)+" and more than chance between runs. That an arm was the container does not yet prove that the container is the cause."),
		Runbook: Runbook{
			Meaning: "A saved comparison of arms `native` and `container` says `worse` of the memory occupied without KV cache: the pool minus free memory minus the KV cache when the engine was ready. An engine that sizes its KV cache from free memory has a smaller one by so much. It does **not** prove that containers cost memory: page cache that an earlier run or the pull of an image left counts as occupied, as it does for CUDA. GPU memory is charged to no cgroup, so \"Docker counts it twice\" is not the cause. As information only, the verdict is `confounded` (the arms ran one after the other, or their difference drifts, and time explains it as well) or `worse_extent_not_decided`. Where the comparison is inconclusive, this is silent.",
			Check:   "The ledgers of both arms side by side in the dashboard that compares runs, or `uma-load compare` over their folders. A difference in `page_cache` is history; one in `anon` or `shmem` is the container; one in `gpu_process` is the engine's settings. Look at the order of the runs, and whether the first run after the switch stands out.",
			Action:  "Repeat both arms in turns (`uma-load campaign`, order abba) with the page cache dropped before every start. If the difference stays, compare the options of the container (shared memory, pinned host tiers) and the version of the engine in the image. The alert ends when the comparison is saved anew with another result, is removed, or is two weeks old.",
		},
	}
}
