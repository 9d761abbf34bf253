package alerts

import (
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// The kernel log is read with --collector.host.kernel-log only; its series are absent otherwise, and these alerts silent.

func driverErrorLogged() Alert {
	const window = 10 * time.Minute
	lines := func(kinds ...string) expr.Expr {
		return expr.Increase(metric.DriverLogLinesTotal, expr.Over(window), expr.OneOf(metric.LabelKind, kinds...)).
			Max(expr.By(metric.LabelHost, metric.LabelKind)).Above(expr.Number(0))
	}
	const text = `NVIDIA's driver has logged {{ $value | printf "%.0f" }} line(s) of kind {{ $labels.kind }} within `
	return Alert{
		Name: "DriverErrorLogged", About: AboutPart,
		Summary: "The GPU driver has written errors to the kernel log.",
		Rules: []Rule{
			{Severity: Warning, KeepFiringFor: 30 * time.Minute,
				Expr:        lines(metric.DriverLineOutOfMemory, metric.DriverLineAssertion),
				Description: text + duration(window) + "."},
			{Severity: Critical, KeepFiringFor: time.Hour,
				Expr:        lines(metric.DriverLineFellOffBus, metric.DriverLineInitFailed),
				Description: text + duration(window) + ". The GPU is not usable."},
		},
		Runbook: Runbook{
			Meaning: "What owners of wedged machines find in the log of the boot before, if it was written at all. `out_of_memory`: the driver found no memory, which on a unified-memory machine means that the pool is full or in pieces; `assertion`: it met a state that it does not expect; `fell_off_bus` and `init_failed`: the GPU is gone, or cannot be started. XID codes have an alert of their own. Without CAP_SYSLOG nothing is read, and this stays silent.",
			Check:   "`journalctl -k -g NVRM --since -1h`. Beside `out_of_memory`: MemoryAvailableLow, MemoryFragmented and AllocationFailed.",
			Action:  "`out_of_memory`: stop what is not needed, then drop the page cache and compact memory (`sync; echo 1 | sudo tee /proc/sys/vm/drop_caches /proc/sys/vm/compact_memory`). The others: discard the run, reboot, and see XID and GPULost.",
		},
	}
}

func allocationFailed() Alert {
	const window = 10 * time.Minute
	failed := expr.Increase(metric.KernelAllocationFailuresTotal, expr.Over(window)).Max(expr.By(metric.LabelHost, metric.LabelKind))
	return Alert{
		Name: "AllocationFailed", About: AboutPart,
		Summary: "The kernel could not give memory that it was asked for.",
		Rules: []Rule{{
			Severity: Warning, KeepFiringFor: 30 * time.Minute,
			Expr:        failed.Above(expr.Number(0)),
			Description: `{{ $value | printf "%.0f" }} allocation(s) of kind {{ $labels.kind }} have failed within ` + duration(window) + ".",
		}},
		Runbook: Runbook{
			Meaning: "Kind `contiguous`: no block of pages in a row was left, although single pages may be free; drivers need such blocks, and machines have stopped answering in this state. Kind `page`: not even a single page was left where the kernel could not wait, such as in a network driver. The log names the program that asked. Failures that a driver expects and hides are not in the log.",
			Check:   "`journalctl -k -g 'page allocation failure' --since -1h`: the order in it is the power of two of pages asked for. `cat /proc/buddyinfo` shows the blocks that are left.",
			Action:  "`sync; echo 1 | sudo tee /proc/sys/vm/drop_caches /proc/sys/vm/compact_memory`. If it comes back, keep more memory free (`sudo sysctl vm.min_free_kbytes=1048576`), or give the engine a smaller fraction.",
		},
	}
}
