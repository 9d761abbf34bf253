package alerts

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// comparisonGroup is about saved comparisons.
func comparisonGroup() Group {
	return Group{Name: "comparison", Alerts: []Alert{latencyRegression(metric.AlertThresholds())}}
}

// requestMetrics matches the names of metrics of requests: latencies and throughputs that uma-load measured. Names of
// figures that an engine or a tool reported begin otherwise, and the whole name is matched.
const requestMetrics = `(time_to_first_token|time_to_first_output|time_per_output_token|inter_token_latency|request_duration|queue_delay)_.*|(steady_|goodput_)?(output_tokens|input_tokens|requests)_per_second`

func latencyRegression(t metric.Thresholds) Alert {
	row := []metric.Label{metric.LabelComparison, metric.LabelMetric, metric.LabelBaseline, metric.LabelCandidate, metric.LabelScenario, metric.LabelModel}
	one := expr.Number(1)
	worse := expr.Select(metric.ComparisonVerdict, expr.Is(metric.LabelVerdict, metric.VerdictWorse), expr.Matches(metric.LabelMetric, requestMetrics)).
		Equals(one).Max(expr.By(row...))
	// By the timestamp of its file: the series in Prometheus has a gap for every time that Prometheus was down.
	saved := expr.Select(metric.ComparisonSavedTimestampSeconds).Max(expr.By(metric.LabelComparison))
	news := worse.Unless(saved.Age().AtLeast(expr.Number(t.Run.Fresh.Seconds())), expr.On(metric.LabelComparison))
	confounded := expr.Select(metric.ComparisonConfounded).Equals(one)
	const found = "{{ $labels.metric }} of {{ $labels.candidate }} is worse than that of {{ $labels.baseline }} ({{ $labels.scenario }}, {{ $labels.model }})"
	return Alert{
		Name:    "LatencyRegression",
		Summary: "A comparison finds that requests are answered worse than before.",
		About:   AboutComparison,
		Rules: []Rule{
			{Severity: Info, For: resultFor, KeepFiringFor: resultKeep, Expr: news.And(confounded, expr.On(row...)),
				Description: found + ", but the runs followed each other so that time explains it as well: this is no proof."},
			{Severity: Warning, For: resultFor, KeepFiringFor: resultKeep, Expr: news.Unless(confounded, expr.On(row...)),
				Description: found + " by more than its margin, and by more than chance between runs."},
		},
		Runbook: Runbook{
			Meaning: "A saved comparison says `worse` of a latency or a throughput: the confidence interval over runs leaves out no difference and reaches beyond the margin, adjusted for how many metrics were tested. As a warning the runs were mixed in time. As information only they were not (blocks, or one arm after the other): then whatever changed between the blocks explains the difference as well as the arm does, and nobody is told.",
			Check:   "`uma-load compare --by arm RUNS...`, or the dashboard that compares runs: ratio and interval, the order of the runs, drift inside each arm, and the items that should be the same and are not (clock cap, driver, start temperature, free memory).",
			Action:  "If it was confounded, repeat the arms in turns (order abba) before anything is concluded. If not, undo the change that the candidate stands for, or look for its cause among what differs. The alert ends when the comparison is saved anew with a better result, is removed, or is two weeks old.",
		},
	}
}
