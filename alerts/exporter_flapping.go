package alerts

import (
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

func exporterFlapping(t metric.Thresholds) Alert {
	window := t.Service.UpWindow
	answers := expr.AvgOverTime(metric.Up, expr.Over(window), ofExporters()).Max(byHost()).Below(expr.Number(t.Service.UpRatio))
	changes := expr.Changes(metric.Up, expr.Over(window), ofExporters()).Max(byHost()).AtLeast(expr.Number(t.Service.UpChanges))
	return Alert{
		Name: "ExporterFlapping", About: AboutTarget,
		Summary: "The exporter of a host answers only part of the time.",
		Rules: []Rule{{
			Severity: Warning, For: 10 * time.Minute, KeepFiringFor: 5 * time.Minute,
			Expr:        answers.And(changes, expr.On(metric.LabelHost)),
			Description: "its exporter answered {{ $value | humanizePercentage }} of the scrapes of the last " + duration(window) + ".",
		}},
		Runbook: Runbook{
			Meaning: "The exporter restarts, a page takes longer at times than a scrape may last, or the network loses connections. An outage that has ended is not meant: it must have gone and come back more than once. Trends and rates have holes, and alerts that wait for several minutes may not fire.",
			Check:   "On the host: `systemctl status uma-exporter` or `docker ps -a` (how long has it run?), `journalctl -u uma-exporter --since -1h`, and `curl -so /dev/null -w '%{time_total}\\n' http://ADDRESS:10420/metrics` a few times. Prometheus's page /targets has the error of the last scrape. A host that is short of memory answers late: see MemoryAvailableLow.",
			Action:  "If it restarts, its log has the reason; a limit of memory below 64 MiB ends it on a machine of hundreds of containers. If a page takes too long, `uma-exporter doctor` names the collector.",
		},
	}
}
