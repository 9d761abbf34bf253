package alerts

import (
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// runGroup is about active runs.
func runGroup() Group {
	return Group{Name: "run", Alerts: []Alert{runInProgress(), runStalled(metric.AlertThresholds())}}
}

// ofRun reduces to one series per run and the machine it measures.
func ofRun() expr.Grouping { return expr.By(metric.LabelHost, metric.LabelRun) }

func runInProgress() Alert {
	return Alert{
		Name:    "RunInProgress",
		Summary: "A run measures this host.",
		About:   AboutLiveRun,
		Mutes:   MutesExpected,
		Rules: []Rule{{
			// The effects of a run last for a while after it, as its alerts do.
			Severity: None, KeepFiringFor: 15 * time.Minute,
			Expr:        expr.Select(metric.RunActive).Equals(expr.Number(1)).Max(ofRun()),
			Description: "the run is in progress, or has just ended.",
		}},
		Runbook: Runbook{
			Meaning: "Nothing is wrong. This alert is there for Alertmanager, which keeps warnings to itself that a run brings about on purpose, such as little memory being left. No notice of it is sent.",
			Check:   called(metric.RunActive) + " in Prometheus, or the dashboard of the run.",
			Action:  "Nothing. If it stays without a run, a `uma-load` hangs: " + called(metric.RunPhase) + " says in which phase.",
		},
	}
}

func runStalled(t metric.Thresholds) Alert {
	// For half of the time no request may have ended, and that has to hold for the other half and a little more,
	// because an increase does not include the step to the first scrape in its window. The phase must have begun before
	// the first half: a later phase may have had no request by then.
	half := t.Run.StalledAfter / 2
	window, one, nothing := expr.Over(half), expr.Number(1), expr.Number(0)
	asking := expr.Select(metric.RunPhase, expr.NoneOf(metric.LabelPhase, metric.PhasesWithoutEngine()...)).Equals(one).Max(ofRun())
	byRun, host := expr.By(metric.LabelRun), expr.On(metric.LabelHost, metric.LabelRun)
	ended := expr.Increase(metric.LoadRequestsTotal, window).Sum(byRun)
	arriving := expr.Increase(metric.LoadStreamEventsTotal, window).Sum(byRun).Above(nothing)
	unasked := expr.Select(metric.LoadRequestsInFlight).Sum(byRun).Equals(nothing)
	return Alert{
		Name:    "RunStalled",
		Summary: "A run waits for answers that do not come.",
		About:   AboutLiveRun,
		Rules: []Rule{{
			Severity: Warning, For: half + half/2, KeepFiringFor: 2 * time.Minute,
			Expr: asking.And(asking.Offset(half), host).And(expr.Select(metric.RunActive).Equals(one), host).
				And(ended.Equals(nothing), onRun()).Unless(arriving, onRun()).Unless(unasked, onRun()),
			Description: "no request has ended for " + duration(t.Run.StalledAfter) + ", and nothing has arrived of any, although the run asks the engine.",
		}},
		Runbook: Runbook{
			Meaning: "Requests are out, and neither an end nor a token of any has come back. The engine hangs, has lost its GPU, or prefills prompts that take longer than this. Starting, loading and cooling down are not meant: nothing is asked then. A long answer whose tokens arrive is not a stall, nor is a pause in a trace.",
			Check:   "The engine's own page (`vllm:num_requests_running`, `..._waiting`) and its log; `nvidia-smi` for a GPU that hangs; GPUStuckLowPower, NVMLStuck and XID beside this alert.",
			Action:  "If the engine is dead, end the run with Ctrl-C: what was measured is kept, and the run is marked as interrupted. `--request-timeout` ends single requests by itself.",
		},
	}
}
