package alerts

import (
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// exporterGroup is about the monitoring itself, and about the pages that it reads over the network.
func exporterGroup() Group {
	return Group{Name: "exporter",
		Recordings: []Recording{
			{metric.ExporterModeSeen, modeSeen()},
			{metric.ExporterModeTaken, modeTaken()},
			{metric.EngineAnswered, answered(metric.EngineAnswered, metric.EngineUp)},
			{metric.KVBMAnswered, answered(metric.KVBMAnswered, metric.KVBMUp)},
		},
		Alerts: []Alert{exporterDown(), exporterFlapping(metric.AlertThresholds()), exporterAbsent(), collectorFailing(), engineDown(), kvbmDown(), bootWithoutShutdown(), watchdog()},
	}
}

// ofExporters matches the targets that are exporters. Load generators come and go with their runs.
func ofExporters() expr.Matcher { return expr.Is(metric.LabelJob, metric.JobExporter) }

// modeSeen is the last mode that the exporter of a target reported, while the target does not answer: a simulated
// machine that has been down for a week still needs no action. Prometheus itself may have been down for a day.
func modeSeen() expr.Expr {
	ofModes, host := expr.By(metric.LabelHost, metric.LabelMode), expr.On(metric.LabelHost)
	now := expr.Select(metric.ExporterMode).Equals(expr.Number(1)).Max(ofModes)
	targets := expr.Select(metric.Up, ofExporters())
	before := expr.Select(metric.ExporterModeSeen).And(targets, host).Max(ofModes)
	lately := expr.LastOverTime(metric.ExporterModeSeen, expr.Over(24*time.Hour)).And(targets, host).Max(ofModes)
	return now.Or(before, host).Or(lately, host)
}

// modeTaken is one mode of a host that shows several, for series of its parts: PromQL has no many-to-many join. Live is
// taken first: an alert for a simulated machine is better than none for a real machine with the same name.
func modeTaken() expr.Expr {
	modes := metric.Modes()
	taken := expr.Select(metric.ExporterModeSeen, expr.Is(metric.LabelMode, modes[0]))
	for _, mode := range modes[1:] {
		taken = taken.Or(expr.Select(metric.ExporterModeSeen, expr.Is(metric.LabelMode, mode)), expr.On(metric.LabelHost))
	}
	return taken.Max(expr.By(metric.LabelHost, metric.LabelMode))
}

func exporterDown() Alert {
	return Alert{
		Name: "ExporterDown", About: AboutTarget, Mutes: MutesHost,
		Summary: "Prometheus gets no page from the exporter of a host.",
		Rules: []Rule{{
			Severity: Critical, For: 2 * time.Minute, KeepFiringFor: 2 * time.Minute,
			// One working exporter of a host is enough.
			Expr:        expr.Select(metric.Up, ofExporters()).Max(byHost()).Equals(expr.Number(0)),
			Description: "no page of its exporter for 2m. Nothing is known of the host, and no other alert about it can fire.",
		}},
		Runbook: Runbook{
			Meaning: "The exporter does not run, takes longer than the scrape may last, or is not reached; or the whole host does not answer. A unified-memory machine that runs out of memory can stop like that without an OOM kill. It is not about load generators, which are up only while a run lasts.",
			Check:   "Does the host answer (`ping`, `ssh`)? Then there: `systemctl status uma-exporter` or `docker ps -a`, `journalctl -u uma-exporter --since -15m`, `uma-exporter healthcheck`, and `curl -s http://ADDRESS:10420/metrics | head`. From Prometheus's page /targets comes the error of the scrape. The dashboard Unified memory shows what was left before the last page.",
			Action:  "Start the exporter again. If the host hangs, it has to be reset; then look at the last minutes of available and contiguous memory, see MemoryAvailableLow and MemoryFragmented. If a page takes too long, `uma-exporter doctor` names the collector.",
		},
	}
}

func exporterAbsent() Alert {
	return Alert{
		Name: "ExporterAbsent", About: AboutStack,
		Summary: "Prometheus has no exporter as a target.",
		Rules: []Rule{{
			Severity: Critical, For: 10 * time.Minute,
			Expr:        expr.Absent(metric.Up, ofExporters()),
			Description: "Prometheus has had no exporter as a target for 10m: 0 hosts are watched.",
		}},
		Runbook: Runbook{
			Meaning: "Not that an exporter is down, but that Prometheus has none to scrape: the file of targets is empty, missing or not read, or the job has another name. No other alert about a host can fire.",
			Check:   "Prometheus's page /targets, and its log. In the compose stack the targets are in `compose/prometheus/targets/exporter.yml`; `promtool check config compose/prometheus/prometheus.yml` finds mistakes.",
			Action:  "Put the targets back, each with a label `host`. Prometheus follows the file by itself. If the job has been renamed, give it back the name " + metric.JobExporter + ", or write the rules for its name (`uma-gen --job-selector`).",
		},
	}
}

func collectorFailing() Alert {
	inState := expr.Is(metric.LabelState, metric.CollectorFailed)
	one, by := expr.Number(1), []metric.Label{metric.LabelHost, metric.LabelCollector}
	failed := expr.Select(metric.CollectorState, inState).Max(expr.By(by...)).Equals(one)
	// An engine that loads a model may answer with an error until it is loaded.
	ofEngines := expr.OneOf(metric.LabelCollector, metric.CollectorEngine, metric.CollectorKVBM)
	starting := inPhases(expr.OneOf(metric.LabelPhase, metric.PhasesWithoutEngine()...))
	excused := expr.Select(metric.CollectorState, inState, ofEngines).And(starting, expr.On(metric.LabelHost))
	return Alert{
		Name: "CollectorFailing", About: AboutPart,
		Summary: "Part of what the exporter should read of a host cannot be read.",
		Rules: []Rule{{
			Severity: Warning, For: 10 * time.Minute, KeepFiringFor: 5 * time.Minute,
			Expr:        failed.Unless(excused, expr.On(by...)),
			Description: "the collector {{ $labels.collector }} has failed in every scrape of the last 10m.",
		}},
		Runbook: Runbook{
			Meaning: "Series of that collector are absent or not all there; those of others are right. Alerts that read them cannot fire. It is not a machine that has nothing to read, such as one without a GPU: that state is called absent and does not alert. For pages of engines and of KVBM no notice is sent while an arm starts, loads, is ready or stops.",
			Check:   "`uma-exporter doctor` says what failed, what that costs and what mends it. `journalctl -u uma-exporter --since -1h` has each change of state once.",
			Action:  "Do what doctor says: mostly a right that is missing, a mount that a container lacks, or a driver that was updated without a reboot.",
		},
	}
}

// answered latches that a page has answered while a run needed it, until the run ends. PromQL has no many-to-many join,
// and no label assigns a page to one of several runs: only hosts with one run count.
func answered(latch, up metric.Gauge) expr.Expr {
	ofRun := expr.On(metric.LabelHost, metric.LabelRun)
	single := activeRuns().And(activeRuns().Count(byHost()).Equals(expr.Number(1)), expr.On(metric.LabelHost))
	pages := expr.Select(up).Equals(expr.Number(1)).Max(expr.By(metric.LabelHost, metric.LabelSource))
	now := pages.Times(single.And(serving(), ofRun), expr.On(metric.LabelHost).GroupLeft(metric.LabelRun))
	before := expr.Select(latch).And(single, ofRun)
	page := []metric.Label{metric.LabelHost, metric.LabelRun, metric.LabelSource}
	return now.Max(expr.By(page...)).Or(before.Max(expr.By(page...)), expr.On(page...))
}

// silent are pages that have answered in the run and no longer do, while the run needs them.
func silent(latch, up metric.Gauge) expr.Expr {
	down := expr.Select(up).Max(expr.By(metric.LabelHost, metric.LabelSource)).Equals(expr.Number(0))
	return expr.Select(latch).And(down, expr.On(metric.LabelHost, metric.LabelSource)).
		And(serving(), expr.On(metric.LabelHost, metric.LabelRun))
}

func engineDown() Alert {
	return Alert{
		Name: "EngineDown", About: AboutLiveRun,
		Summary: "An engine no longer answers in the middle of a run.",
		Rules: []Rule{{
			Severity: Warning, For: time.Minute, KeepFiringFor: 5 * time.Minute,
			Expr:        silent(metric.EngineAnswered, metric.EngineUp),
			Description: "the page of metrics of the engine at {{ $labels.source }} answered earlier in this run, and has not for 1m.",
		}},
		Runbook: Runbook{
			Meaning: "The page that the exporter reads, not the one that requests go to: the engine has ended, hangs, or is too busy to answer. No notice is sent while an arm starts, loads, is ready or stops, nor for a page that has not answered in this run yet: an address that is wrong is in `uma-exporter doctor`. While several runs go on at a time on the host, it is not known whose page it is, and this does not fire.",
			Check:   "`curl -sS http://SOURCE | head -3` on the host. Does the process live (`ps`, `docker ps -a`)? `journalctl -k -g 'oom|NVRM' --since -15m`, and the engine's log. The dashboard Inference shows whether requests still end ok.",
			Action:  "If requests fail, stop the run: it cannot become valid. Look at OOMKill, MemoryAvailableLow, XID and NVMLCallHung first, then at the log. If requests still end ok, the run is valid, but its KV cache figures have a gap.",
		},
	}
}

func kvbmDown() Alert {
	return Alert{
		Name: "KVBMDown", About: AboutLiveRun,
		Summary: "The KV block manager no longer answers in the middle of a run.",
		Rules: []Rule{{
			Severity: Warning, For: time.Minute, KeepFiringFor: 5 * time.Minute,
			Expr:        silent(metric.KVBMAnswered, metric.KVBMUp),
			Description: "the page of KVBM at {{ $labels.source }} answered earlier in this run, and has not for 1m.",
		}},
		Runbook: Runbook{
			Meaning: "Without that page nothing proves that blocks went to the CPU or SSD tier, or came back. It is not about an engine that was started without KVBM, which never had a page, and no notice is sent while an arm starts, loads, is ready or stops.",
			Check:   "`curl -sS http://SOURCE | grep ^kvbm_` on the host. EngineDown for the same host: the process that serves both has ended. The dashboard KV cache and storage shows when the counters stopped.",
			Action:  "If the engine has ended, see EngineDown. If it goes on, the run's latencies hold, but what it says of the tiers has a gap: repeat it, with the metrics port of KVBM free (DYN_KVBM_METRICS_PORT).",
		},
	}
}

func watchdog() Alert {
	return Alert{
		Name: watchdogName, About: AboutStack,
		Summary: "Always fires, to show that alerts get through.",
		Rules: []Rule{{
			Severity: None, Expr: expr.One(),
			Description: "alerts are evaluated and sent; it is the end of this one that would mean something.",
		}},
		Runbook: Runbook{
			Meaning: "Nothing is wrong. It is sent to the address in the file alert-heartbeat every 5 minutes, if there is one: a dead man's switch, a service outside this machine that calls you when it has not come for a while.",
			Check:   "It is in Alertmanager's list (`amtool --alertmanager.url=http://127.0.0.1:9093 alert query alertname=Watchdog`, where Alertmanager runs). If it is not, Prometheus or the way to Alertmanager is broken.",
			Action:  "If it is missing: `curl -s http://127.0.0.1:9090/-/healthy`, the log of Prometheus, and `curl -s http://127.0.0.1:9090/api/v1/alertmanagers` for the Alertmanagers that it has found.",
		},
	}
}
