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
		Alerts: []Alert{containerMemoryOverhead(t), kvCapacityRegression(t), thermalHeadroomShrinking(t), runInvalid(t)},
	}
}

func containerMemoryOverhead(t metric.Thresholds) Alert {
	container := ofNewest(metric.RunMemoryOccupiedWithoutKVBytes, expr.Is(metric.LabelArm, metric.ArmContainer))
	native := nativeMedian(metric.RunMemoryOccupiedWithoutKVBytes)
	pair := expr.On(acrossArms()...).GroupLeft()
	byShare := container.Above(native.Times(expr.Number(1+t.Container.OverheadShare)), pair)
	more := container.Minus(native, pair).Above(expr.Number(t.Container.OverheadBytes))
	return Alert{
		Name:    "ContainerMemoryOverhead",
		Summary: "The newest run in a container occupies more memory without KV cache than native runs do.",
		About:   AboutRun,
		Rules: []Rule{{
			Severity: Warning, For: resultFor, KeepFiringFor: resultKeep,
			Expr: whileFresh(more.And(byShare, onRun()), t),
			Description: "{{ $value | humanize1024 }}B more occupied without KV cache than the median of native runs of {{ $labels.scenario }} with {{ $labels.model }}, more than " +
				metric.Decimal(t.Container.OverheadShare*100) + " % and " + metric.BinaryBytes(t.Container.OverheadBytes) + ". That an arm was the container does not yet prove that the container is the cause.",
		}},
		Runbook: Runbook{
			Meaning: "Memory occupied without KV cache is the pool minus free memory minus the KV cache when the engine was ready. Compared are the newest valid run of arm `container` and the median of the valid runs of arm `native` on the same host with the same scenario, engine and model. An engine that sizes its KV cache from free memory has a smaller one by so much. It does **not** prove that containers cost memory. Page cache that an earlier run or the pull of an image left counts as occupied, as it does for CUDA; arms that ran one after the other differ in time as well as in arm; with fewer than five native runs the median is hardly more than a run. GPU memory is charged to no cgroup, so \"Docker counts it twice\" is not the cause.",
			Check:   "The ledgers of both arms side by side in the dashboard that compares runs, or `uma-load compare` over their folders. A difference in `page_cache` is history; one in `anon` or `shmem` is the container; one in `gpu_process` is the engine's settings. Look at the order of the runs, and whether the first run after the switch stands out.",
			Action:  "Repeat both arms in turns (`uma-load campaign`, order abba) with the page cache dropped before every start. If the difference stays, compare the options of the container (shared memory, pinned host tiers) and the version of the engine in the image.",
		},
	}
}

func kvCapacityRegression(t metric.Thresholds) Alert {
	share := expr.Number(t.Run.KVShare)
	before := ofNewest(metric.RunKVCapacityTokens).Below(expr.Select(metric.RunKVCapacityTokensMedian).Times(share), expr.On(cellOfRun()...).GroupLeft())
	container := ofNewest(metric.RunKVCapacityTokens, expr.Is(metric.LabelArm, metric.ArmContainer))
	native := container.Below(nativeMedian(metric.RunKVCapacityTokens).Times(share), expr.On(acrossArms()...).GroupLeft())
	return Alert{
		Name:    "KVCapacityRegression",
		Summary: "The KV cache of the newest run has room for fewer tokens than it used to.",
		About:   AboutRun,
		Rules: []Rule{{
			Severity: Warning, For: resultFor, KeepFiringFor: resultKeep,
			Expr:        whileFresh(before.Or(native), t),
			Description: `room for {{ printf "%.0f" $value }} tokens ({{ $labels.scenario }}, {{ $labels.model }}), less than ` + metric.Decimal(t.Run.KVShare*100) + " % of the median of the runs before it, or of native ones.",
		}},
		Runbook: Runbook{
			Meaning: "The newest valid run of a cell (host, arm, scenario, engine, model) against the median of the five valid ones before it, and, if it ran in a container, against native ones. Most engines take a share of what is free when they start: less free memory at that moment is a smaller cache, with fewer requests at a time and more of them recomputed. The machine need not have less memory: page cache is enough.",
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
		About:   AboutRun,
		Rules: []Rule{{
			Severity: Warning, For: resultFor, KeepFiringFor: resultKeep,
			Expr: whileFresh(hotter.Unless(busier, onRun()), t),
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
		About:   AboutRun,
		Rules: []Rule{{
			Severity: Info, For: resultFor, KeepFiringFor: resultKeep,
			Expr:        whileFresh(expr.Select(metric.RunCellInfo).And(newest, onRun()).And(invalid, onRun()), t),
			Description: "the newest run of {{ $labels.scenario }} ({{ $labels.arm }}, {{ $labels.model }}) broke a rule of validity: its figures enter no median and no comparison.",
		}},
		Runbook: Runbook{
			Meaning: "The run has ended, but something happened that makes its figures useless: throttling, swap, a restarted engine, lost telemetry, a load that was not what was asked for, or Ctrl-C. No alert about results reads it.",
			Check:   called(metric.RunInvalidReason) + " of the run names the rules; the first lines of the run's `report.md` say what they found.",
			Action:  "Remove the cause and repeat the run. The alert ends with the next valid run of the same host, arm, scenario, engine and model.",
		},
	}
}
