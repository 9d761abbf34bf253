package alerts

import (
	"time"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// memoryGroup is about the pool.
func memoryGroup() Group {
	t := metric.AlertThresholds()
	return Group{Name: "memory", Alerts: []Alert{
		memoryAvailableLow(t), memFreeLowWhileLoading(t), memoryFillingUp(t), memoryFragmented(t),
		memoryPressure(t), swapActive(), oomKill(), allocationFailed(), unattributedMemoryGrowth(t),
	}}
}

// byHost reduces to one series per host and drops everything that depends on the exporter's address.
func byHost() expr.Grouping { return expr.By(metric.LabelHost) }

// allocatable is what can be allocated, by host: available memory without free memory in CMA, which a driver does not get.
// It is absent where the GPU does not allocate from the pool.
func allocatable() expr.Expr { return expr.Select(metric.MemoryAllocatableBytes).Min(byHost()) }

func memoryAvailableLow(t metric.Thresholds) Alert {
	below := func(floor metric.Floor) expr.Expr {
		return allocatable().Below(expr.AtFloor(floor), expr.On(metric.LabelHost)).InPool()
	}
	// A server that has taken its share and stays at that is no reason to warn for as long as it serves.
	on := expr.On(metric.LabelHost)
	waiting := expr.Rate(metric.PressureWaitingSecondsTotal, expr.Over(5*time.Minute), expr.Is(metric.LabelResource, metric.ResourceMemory)).
		Max(byHost()).Above(expr.Number(t.WaitingRatio))
	falling := expr.Delta(metric.MemoryAllocatableBytes, expr.Over(t.AvailableFall)).Min(byHost()).Below(expr.Number(-t.AvailableFallBytes))
	short := below(t.AvailableWarning).And(waiting, on).Or(below(t.AvailableWarning).And(falling, on), on).Or(below(t.AvailableCritical), on)
	return Alert{
		Name:    "MemoryAvailableLow",
		Summary: "The pool that CPU and GPU share is nearly full.",
		// An engine fills the pool with its KV cache, on purpose.
		ExpectedInRuns: true,
		Rules: []Rule{
			{Severity: Warning, Expr: short, For: time.Minute, KeepFiringFor: 5 * time.Minute,
				Description: "{{ $value | humanize1024 }}B can be allocated, page cache included, less than " + t.AvailableWarning.String() + "."},
			{Severity: Critical, Expr: below(t.AvailableCritical), For: 15 * time.Second, KeepFiringFor: 5 * time.Minute,
				Description: "{{ $value | humanize1024 }}B can be allocated, page cache included, less than " + t.AvailableCritical.String() + ". The host may stop answering without any process being killed."},
		},
		Runbook: Runbook{
			Meaning: "New allocations, of the CPU or the GPU, are about to fail. On a unified-memory machine the driver's allocations fail without the OOM killer, and the host has been seen to stop answering before anything is killed. Container limits do not help: GPU memory is charged to no container. It warns while memory is also waited for (more than " + metric.Decimal(100*t.WaitingRatio) + " % of the last 5 minutes) or falls (by " + metric.BinaryBytes(t.AvailableFallBytes) + " within " + duration(t.AvailableFall) + "), and below the critical floor in any case: a server that has taken its share and stays at that is silent.",
			Check:   "`uma-exporter explain` prints the ledger and who holds GPU memory. Look at the lines `gpu_process`, `anon` and `unattributed` first. The page cache is part of what can be allocated, so dropping caches does not end this alert. Free memory in CMA (line `free_cma`) is not: a driver cannot pin it.",
			Action:  "Stop the process that is not needed, or restart the server with a smaller KV cache (a lower memory fraction). If several servers share the machine, give each a fixed size instead of a fraction of what is free.",
		},
	}
}

func memFreeLowWhileLoading(t metric.Thresholds) Alert {
	// MemFree without free memory in CMA: a driver does not get that.
	free := expr.Select(metric.MemoryLedgerBytes, expr.Is(metric.LabelLine, ledger.Free)).Min(byHost()).InPool()
	loading := expr.Select(metric.RunPhase, expr.Is(metric.LabelPhase, metric.PhaseLoad)).Equals(expr.Number(1))
	return Alert{
		Name:    "MemFreeLowWhileLoading",
		Summary: "A model is being loaded while hardly any memory is free.",
		Rules: []Rule{{
			Severity: Warning, For: 15 * time.Second, KeepFiringFor: 2 * time.Minute,
			Expr:        free.Below(expr.Number(t.FreeWhileLoadingBytes)).And(loading, expr.On(metric.LabelHost)),
			Description: "{{ $value | humanize1024 }}B free (MemFree without CMA) while a model loads, less than " + metric.BinaryBytes(t.FreeWhileLoadingBytes) + ".",
		}},
		Runbook: Runbook{
			Meaning: "What CUDA reports as free is MemFree: memory that holds page cache does not count. A load reads the weights through the page cache and so makes that figure smaller; an engine that sizes its KV cache by it gets a smaller one. More can be allocated if the kernel gives up page cache, which was not tried on a GB10.",
			Check:   "`uma-exporter explain` begins with what CUDA reports as free, what can be allocated if page cache is given up, and what `fit` grants, and names the engines that go by the first. The dashboard's panel *Available and free memory* shows them over time.",
			Action:  "Drop the page cache before the server starts (`sync; echo 1 | sudo tee /proc/sys/vm/drop_caches`), or load with direct I/O. Do the same in every arm of a comparison, or the arms differ by it.",
		},
	}
}

func memoryFillingUp(t metric.Thresholds) Alert {
	fullBy := func(trendOf time.Duration) expr.Expr {
		predicted := expr.PredictLinear(metric.MemoryAllocatableBytes, expr.Over(trendOf), t.FillingHorizon).Min(byHost())
		return predicted.Below(expr.AtFloor(t.AvailableCritical), expr.On(metric.LabelHost))
	}
	full := fullBy(t.FillingHorizon).And(fullBy(t.FillingRecent), expr.On(metric.LabelHost))
	level := t.AvailableWarning.Twice()
	near := allocatable().Below(expr.AtFloor(level), expr.On(metric.LabelHost))
	return Alert{
		Name:    "MemoryFillingUp",
		Summary: "Available memory falls steadily and will soon be gone.",
		// An engine fills the pool with its KV cache, on purpose.
		ExpectedInRuns: true,
		Rules: []Rule{{
			// Longer than the time for which a fall that has ended stays visible.
			Severity: Warning, For: t.FillingRecent + time.Minute, KeepFiringFor: 5 * time.Minute,
			Expr:        near.And(full, expr.On(metric.LabelHost)).InPool(),
			Description: "{{ $value | humanize1024 }}B can be allocated, page cache included, and it falls: at the rate of the last " + duration(t.FillingHorizon) + ", and of the last " + duration(t.FillingRecent) + ", the critical floor (" + t.AvailableCritical.String() + ") is passed within " + duration(t.FillingHorizon) + ".",
		}},
		Runbook: Runbook{
			Meaning: "The trend of some minutes, not a level alone: something takes memory without giving it back. It does not fire for loading a model, which fills the pool faster than a trend can show, nor for a server that has taken its share and stays at that.",
			Check:   "In the dashboard, find the ledger line that grows: `anon` is a process (a leak in Python or a host KV tier), `shmem` shared memory or a tmpfs, `gpu_process` the engine, `unattributed` the driver.",
			Action:  "Restart what grows before the floor is reached; a run in progress is not comparable with others.",
		},
	}
}

func memoryFragmented(t metric.Thresholds) Alert {
	blocks := expr.Select(metric.MemoryFreeContiguousBytes, expr.Is(metric.LabelMinBlock, metric.MinBlockHuge)).Min(byHost())
	return Alert{
		Name:    "MemoryFragmented",
		Summary: "Free memory is in pieces: hardly any block of 2 MiB is left.",
		Rules: []Rule{{
			Severity: Warning, For: 10 * time.Minute, KeepFiringFor: 5 * time.Minute,
			Expr:        blocks.Below(expr.Number(t.FragmentedBytes)).InPool(),
			Description: "{{ $value | humanize1024 }}B free in blocks of 2 MiB and larger, less than " + metric.BinaryBytes(t.FragmentedBytes) + ".",
		}},
		Runbook: Runbook{
			Meaning: "The GPU driver asks for large blocks first. When they run out it takes small ones, slowly, or fails, although memory is free; hosts have stopped answering in this state without an OOM kill.",
			Check:   "`cat /proc/buddyinfo`: the columns from the tenth on are blocks of 2 MiB and more (with 4 KiB pages). Climbing compaction stalls in the dashboard mean that the kernel is already moving pages to make blocks.",
			Action:  "Before the next load: `sync; echo 1 | sudo tee /proc/sys/vm/drop_caches /proc/sys/vm/compact_memory`. If it comes back within hours, reboot between campaigns.",
		},
	}
}

func memoryPressure(t metric.Thresholds) Alert {
	stalled := expr.Rate(metric.PressureStalledSecondsTotal, expr.Over(time.Minute), expr.Is(metric.LabelResource, metric.ResourceMemory))
	return Alert{
		Name:    "MemoryPressure",
		Summary: "Everything on the host waits for memory.",
		Rules: []Rule{{
			Severity: Warning, For: time.Minute, KeepFiringFor: 5 * time.Minute,
			Expr:        stalled.Max(byHost()).Above(expr.Number(t.StalledRatio)),
			Description: "All tasks waited for memory {{ $value | humanizePercentage }} of the last minute, more than " + metric.Decimal(t.StalledRatio*100) + " %.",
		}},
		Runbook: Runbook{
			Meaning: "Pressure stall information, line `full` of memory: time in which no task could run because all waited for memory, by reclaim, swap or page cache that was dropped and read again. Latencies measured meanwhile are those of the waiting.",
			Check:   "`cat /proc/pressure/memory` and, in the dashboard, major page faults and swap beside it.",
			Action:  "Free memory as for MemoryAvailableLow. Discard the run.",
		},
	}
}

func swapActive() Alert {
	swapped := expr.Rate(metric.VmstatSwappedInBytesTotal, expr.Over(time.Minute)).Max(byHost())
	run := expr.Select(metric.RunActive).Equals(expr.Number(1))
	return Alert{
		Name:    "SwapActive",
		Summary: "The host reads memory back from swap during a run.",
		Rules: []Rule{{
			Severity: Warning, For: time.Minute, KeepFiringFor: 5 * time.Minute,
			Expr:        swapped.Above(expr.Number(0)).And(run, expr.On(metric.LabelHost)),
			Description: "{{ $value | humanize1024 }}B/s read back from swap while a run is active. Its latencies include waiting for the disk; more than a little of it makes the run invalid (rule swap_in).",
		}},
		Runbook: Runbook{
			Meaning: "Part of what the measured processes need is on disk. GPU memory cannot be swapped, so it is always the CPU side that pays: tokenizer, scheduler, HTTP server.",
			Check:   "`vmstat 1`, column `si`; `grep VmSwap /proc/*/status` shows whose memory it is.",
			Action:  "Repeat the run with swap off (`sudo swapoff -a`) or with more memory left to the CPU side.",
		},
	}
}

func oomKill() Alert {
	kills := expr.Increase(metric.VmstatOOMKillsTotal, expr.Over(10*time.Minute)).Max(byHost())
	return Alert{
		Name:    "OOMKill",
		Summary: "The kernel has killed a process because memory ran out.",
		Rules: []Rule{{
			Severity: Critical, KeepFiringFor: 15 * time.Minute,
			Expr:        kills.Above(expr.Number(0)),
			Description: "a process was killed within the last 10 minutes because memory ran out.",
		}},
		Runbook: Runbook{
			Meaning: "The kernel found no memory for an ordinary allocation. Its choice of a victim does not see GPU memory, so the process that was killed may be innocent.",
			Check:   "`journalctl -k -g 'Out of memory|oom-kill' --since -1h` names the victim and, under `oom-kill:constraint`, whether a container's limit or the whole host ran out.",
			Action:  "Restart the victim if it was a server, and treat runs of that time as failed. Then free memory as for MemoryAvailableLow, or raise the limit of the container that is named.",
		},
	}
}

func unattributedMemoryGrowth(t metric.Thresholds) Alert {
	window := expr.Over(t.UnattributedWindow)
	growth := expr.Delta(metric.MemoryLedgerBytes, window, expr.Is(metric.LabelLine, ledger.Unattributed)).Max(byHost())
	idle := expr.Select(metric.GPUProcesses).Max(byHost()).Equals(expr.Number(0))
	trusted := expr.Select(metric.GPUProcessListTrusted).Min(byHost()).Equals(expr.Number(1))
	// A line that becomes absent moves its bytes into the remainder.
	steady := expr.Changes(metric.MemoryLedgerLineKnown, window).Max(byHost()).Equals(expr.Number(0))
	on := expr.On(metric.LabelHost)
	return Alert{
		Name:    "UnattributedMemoryGrowth",
		Summary: "Unattributed memory grows while no process uses the GPU.",
		Rules: []Rule{{
			Severity: Warning, For: 15 * time.Minute, KeepFiringFor: 5 * time.Minute,
			Expr:        growth.Above(expr.Number(t.UnattributedGrowthBytes)).And(idle, on).And(trusted, on).And(steady, on),
			Description: "the unattributed remainder has grown by {{ $value | humanize1024 }}B within " + duration(t.UnattributedWindow) + ", more than " + metric.BinaryBytes(t.UnattributedGrowthBytes) + ", and no process is on the GPU.",
		}},
		Runbook: Runbook{
			Meaning: "Neither the kernel nor the driver's process list names this memory. Known causes: free-page pools of driver 590 and later, which keep what a process gave back; network rings and display surfaces; a leak in a driver.",
			Check:   "`uma-exporter explain` with no GPU process running. `nvidia-smi` and `cat /proc/driver/nvidia/version` give the driver's version; with 590 and later the pools shrink under memory pressure, a leak does not.",
			Action:  "If it does not shrink when memory is short, unload the driver (`sudo modprobe -r nvidia_uvm`) or reboot before the next run, and report it to the driver's maker with two outputs of `uma-exporter record`.",
		},
	}
}
