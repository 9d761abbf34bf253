package alerts

import (
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// Waiting times of alerts about results: a scrape may reach uma-load serve while it still reads its folders, and a
// restart of the server must not repeat all alerts.
const (
	resultFor  = time.Minute
	resultKeep = 10 * time.Minute
)

// resultGroup is about finished runs. Its recordings are the references of its alerts.
func resultGroup() Group {
	t := metric.AlertThresholds()
	return Group{
		Name: "result",
		// Results change when a run ends, and an evaluation over 500 of them takes a tenth of a second.
		Every: time.Minute,
		Recordings: []Recording{
			{metric.RunCellInfo, cellInfo()},
			{metric.RunValidStartTimestampSeconds, validStart()},
			{metric.RunNewestInfo, newestInfo()},
			{metric.RunTemperatureCelsiusMedian, medianBefore(metric.RunGPUTemperatureCelsius)},
			{metric.RunKVCapacityTokensMedian, medianBefore(metric.RunKVCapacityTokens)},
			{metric.RunPowerWattsMedian, powerMedian()},
		},
		Alerts: []Alert{kvCapacityRegression(t), thermalHeadroomShrinking(t), runInvalid(t)},
	}
}

func kvCapacityRegression(t metric.Thresholds) Alert {
	share := expr.Number(t.Run.KVShare)
	before := ofNewest(metric.RunKVCapacityTokens).Below(expr.Select(metric.RunKVCapacityTokensMedian).Times(share), expr.On(cellOfRun()...).GroupLeft())
	return Alert{
		Name:    "KVCapacityRegression",
		Summary: "The KV cache of the newest run has room for fewer tokens than it used to.",
		About:   AboutCell,
		Rules: []Rule{{
			Severity: Warning, For: resultFor, KeepFiringFor: resultKeep,
			Expr:        ofCells(whileFresh(before, t)),
			Description: `the newest run has room for {{ printf "%.0f" $value }} tokens ({{ $labels.scenario }}, {{ $labels.model }}), less than ` + metric.Decimal(t.Run.KVShare*100) + " % of the median of the runs before it.",
		}},
		Runbook: Runbook{
			Meaning: "The newest valid run of a cell (host, arm, scenario, engine, model) against the median of the five valid ones before it. Most engines take a share of what is free when they start: less free memory at that moment is a smaller cache, with fewer requests at a time and more of them recomputed. The machine need not have less memory: page cache is enough.",
			Check:   called(metric.RunFreeAtKVSizingBytes) + " of this run and of those before it; the ledger at `ready` of both. If free memory was the same, a setting of the engine has changed: its version, the memory fraction, the type of the cache, CUDA graphs.",
			Action:  "Drop the page cache before the engine starts (`sync; echo 1 | sudo tee /proc/sys/vm/drop_caches`), stop what else holds memory, or give the engine a fixed size of the cache. The alert ends with the next run that is as before.",
		},
	}
}

func thermalHeadroomShrinking(t metric.Thresholds) Alert {
	onCell := expr.On(cellOfRun()...).GroupLeft()
	usual := expr.Select(metric.RunTemperatureCelsiusMedian).Plus(expr.Number(t.Run.HotterCelsius))
	hotter := ofNewest(metric.RunGPUTemperatureCelsius).Above(usual, onCell)
	busier := ofNewest(metric.RunGPUPowerWatts).Above(medianBefore(metric.RunGPUPowerWatts).Times(expr.Number(t.Run.SamePower)), onCell)
	return Alert{
		Name:    "ThermalHeadroomShrinking",
		Summary: "The same work makes the GPU hotter than it used to.",
		About:   AboutCell,
		Rules: []Rule{{
			Severity: Warning, For: resultFor, KeepFiringFor: resultKeep,
			Expr: ofCells(whileFresh(hotter.Unless(busier, onRun()), t)),
			Description: `{{ printf "%.0f" $value }} C at most in the newest run of {{ $labels.scenario }}, more than ` + metric.Decimal(t.Run.HotterCelsius) +
				" C above the median of the runs before it; its power, where it was measured, is not higher.",
		}},
		Runbook: Runbook{
			Meaning: "The highest temperature of the newest valid run of a cell is well above that of the five before it, while its mean power is not more than a tenth above theirs: the heat leaves worse than before. Dust, a fan, thermal paste, or simply a warmer room. The GPU need not throttle yet; it will sooner. A run that asked more of the GPU does not fire this. One whose power was not measured does.",
			Check:   called(metric.RunStartGPUTemperatureCelsius) + ": a run that began warm ends warm. The temperature of the room; other sensors (" + called(metric.HwmonTemperatureCelsius) + ", NVMe) that have risen too speak for the room or the fan, the GPU alone for its cooler.",
			Action:  "Let the machine cool down (gate `cooldown` of a campaign) and repeat the run. If it stays: free the air inlets, check that the fan turns, give the machine room. Results before and after are not comparable once clocks fall.",
		},
	}
}

func runInvalid(t metric.Thresholds) Alert {
	newest := inCells(metric.RunStartTimestampSeconds).TopK(1, expr.By(cellOfRun()...))
	invalid := figure(metric.RunValid).Equals(expr.Number(0))
	return Alert{
		Name:    "RunInvalid",
		Summary: "The newest run of its kind is invalid.",
		About:   AboutCell,
		Rules: []Rule{{
			Severity: Info, For: resultFor, KeepFiringFor: resultKeep,
			Expr:        ofCells(whileFresh(expr.Select(metric.RunCellInfo).And(newest, onRun()).And(invalid, onRun()), t)),
			Description: "the newest run of {{ $labels.scenario }} ({{ $labels.arm }}, {{ $labels.model }}) broke a rule of validity: its figures enter no median and no comparison.",
		}},
		Runbook: Runbook{
			Meaning: "The run has ended, but something happened that makes its figures useless: throttling, swap, a restarted engine, lost telemetry, a load that was not what was asked for, or Ctrl-C. No alert about results reads it.",
			Check:   called(metric.RunInvalidReason) + " of the run names the rules; the first lines of the run's `report.md` say what they found.",
			Action:  "Remove the cause and repeat the run. The alert ends with the next valid run of the same host, arm, scenario, engine and model.",
		},
	}
}
