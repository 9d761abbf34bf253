package alerts

import (
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// The flight recorder is on with --recorder only; its series are absent otherwise, and this alert silent.

func bootWithoutShutdown() Alert {
	// An owner who looks the next morning still sees it.
	const lately = 24 * time.Hour
	ended := expr.Select(metric.RecorderPreviousBootEnd, expr.OneOf(metric.LabelEnd, metric.EndNoShutdown, metric.EndDriverErrors)).
		Equals(expr.Number(1)).Max(expr.By(metric.LabelHost, metric.LabelEnd))
	young := expr.Select(metric.RecorderBootTimestampSeconds).Max(byHost()).Age().Below(expr.Number(lately.Seconds()))
	return Alert{
		Name: "BootWithoutShutdown", About: AboutPart,
		Summary: "A machine has started again without having been shut down.",
		Rules: []Rule{{
			Severity: Warning, KeepFiringFor: 5 * time.Minute,
			Expr:        ended.And(young, expr.On(metric.LabelHost)),
			Description: "the boot before this one probably ended without a shutdown ({{ $labels.end }}): the machine hung, was reset or lost power.",
		}},
		Runbook: Runbook{
			Meaning: "The flight recorder (`--recorder`) has no record that the machine was shut down, and its next record is of another boot. `driver_errors`: NVIDIA's driver wrote errors in the last minute before. `no_shutdown`: it did not, or the kernel log was not read. A recorder that was killed, and not started again before an orderly shutdown, leaves the same records. It fires for 24 hours after the boot; where the end of the previous boot is not recorded, it is silent.",
			Check:   "`sudo uma-exporter explain --last-boot` on the host: how the boot ended, with the evidence, and its last minute by seconds. Did available memory fall to nothing, or `memory` (the share of time in which all tasks waited for it) rise? Is an OOM kill or an XID among the lines of the kernel? `sudo journalctl -b -1 -e` has what the journal still wrote.",
			Action:  "Memory that ran out: give the engine a smaller fraction, see MemoryAvailableLow and MemoryFragmented. Errors of the driver: see XID and DriverErrorLogged. Nothing of the kind until the last second: look at power supply, heat and firmware.",
		},
	}
}
