package alerts

import (
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// serviceGroup is about engines in steady service, where no run tells what should be there.
func serviceGroup() Group {
	t := metric.AlertThresholds()
	return Group{Name: "service",
		Recordings: []Recording{
			{metric.EnginesAnswering, enginesAnswering()},
			{metric.GPUProcessStart, gpuProcessStart()},
		},
		Alerts: []Alert{nextStartLacksMemory(t), engineGone(), engineRestarting(t)},
	}
}

// serviceBaselineGroup has the recording that is too expensive for the usual interval: a day of a series.
func serviceBaselineGroup() Group {
	remembered := expr.Over(metric.AlertThresholds().Service.Remembered)
	return Group{Name: "service-baseline", Every: 2 * time.Minute, Recordings: []Recording{
		{metric.GPUMemoryHeldBytes1d, expr.MaxOverTime(metric.GPUMemoryHeldBytes, remembered).Sum(byHost())},
	}}
}

func nextStartLacksMemory(t metric.Thresholds) Alert {
	// A process that ends gives back what it holds, so both are there for the next one. CUDA's free memory is absent where
	// the GPU does not allocate from the pool.
	host := expr.On(metric.LabelHost)
	held := expr.Select(metric.GPUMemoryHeldBytes).Sum(byHost())
	free := expr.Select(metric.MemoryCUDAFreeBytes).Min(byHost()).Plus(held, host)
	afterCache := allocatable().Plus(held, host)
	pool := expr.Select(metric.MemoryPoolBytes).Max(byHost())
	lacks := func(need expr.Expr) expr.Expr {
		return free.Below(need, host).And(afterCache.AtLeast(need, host), host)
	}
	most := expr.Select(metric.GPUMemoryHeldBytes1d).Max(byHost())
	ofEngines := most.Above(pool.Times(expr.Number(t.Service.DesktopShare)), host)
	usual := pool.Times(expr.Number(t.Service.StartShare))
	const until = ", though the page cache could make room."
	return Alert{
		Name:    "NextStartLacksMemory",
		Summary: "CUDA reports less free memory, because of page cache, than an engine's next start needs.",
		Rules: []Rule{
			{Severity: Info, For: 10 * time.Minute, KeepFiringFor: 5 * time.Minute,
				Expr:        lacks(usual).Unless(ofEngines, host),
				Description: "an engine that starts now is given {{ $value | humanize1024 }}B, less than " + metric.Decimal(100*t.Service.StartShare) + " % of the pool" + until},
			{Severity: Warning, For: 10 * time.Minute, KeepFiringFor: 5 * time.Minute,
				Expr:        lacks(ofEngines),
				Description: "an engine that starts now is given {{ $value | humanize1024 }}B, less than engines held within the last " + duration(t.Service.Remembered) + until},
		},
		Runbook: Runbook{
			Meaning: "What CUDA reports as free is MemFree: memory that holds page cache does not count, although the kernel gives it up when asked. An engine that goes by that figure gets a smaller KV cache, or refuses to start; others lose nothing (`uma-exporter explain` names them). Reading or copying large files fills the cache: a download of weights, a backup. The figure is CUDA's free memory and what GPU processes hold now, which they give back when they end. As a warning it is compared with the most that was held within " + duration(t.Service.Remembered) + ", as information with " + metric.Decimal(100*t.Service.StartShare) + " % of the pool where no engine has run in that time.",
			Check:   "`uma-exporter explain`: the lines `free` and `page_cache`, and the sentence at the top: what CUDA reports as free, what can be allocated if page cache is given up, and what `fit` grants.",
			Action:  "Before the next start: `sync; echo 1 | sudo tee /proc/sys/vm/drop_caches`. If it comes back, read weights with direct I/O, or limit the cache of what copies the files (`systemd-run -p MemoryHigh=4G`).",
		},
	}
}

// enginesAnswering is what metric.EnginesAnswering records.
func enginesAnswering() expr.Expr {
	up := expr.Select(metric.EngineUp).Max(expr.By(metric.LabelHost, metric.LabelSource)).Equals(expr.Number(1))
	watched := expr.Select(metric.ExporterMode).Count(byHost())
	return up.Count(byHost()).Or(watched.Times(expr.Number(0)), expr.On(metric.LabelHost))
}

func engineGone() Alert {
	const window, before = time.Hour, 10 * time.Minute
	host := expr.On(metric.LabelHost)
	usual := expr.QuantileOverTime(0.5, metric.EnginesAnswering, expr.Over(window)).Offset(before)
	// Campaigns start and stop engines.
	ofRuns := expr.MaxOverTime(metric.RunActive, expr.Over(window+before)).Max(byHost())
	return Alert{
		Name:    "EngineGone",
		Summary: "An engine that was in service no longer answers.",
		Rules: []Rule{{
			Severity: Warning, For: 5 * time.Minute, KeepFiringFor: 5 * time.Minute,
			Expr:        usual.Max(byHost()).Minus(expr.Select(metric.EnginesAnswering).Max(byHost()), host).AtLeast(expr.Number(1)).Unless(ofRuns, host),
			Description: `{{ $value | printf "%.0f" }} engine(s) fewer than usual in the last hour answer with metrics.`,
		}},
		Runbook: Runbook{
			Meaning: "The number of pages of engines that answer is below its median of the hour before. Another engine in the place of one that was stopped counts as well; an engine that is stopped on purpose and not replaced raises this once, and it ends within the hour. Hosts with a run of uma-load in that time are left out: campaigns start and stop engines, see EngineDown.",
			Check:   "`uma-exporter explain` lists the engines that it finds and why it reads no page of a process. Does the process live (`docker ps -a`, `systemctl status`)? If it was killed: `journalctl -k -g 'oom|NVRM' --since -1h`. The dashboard Unified memory shows what was left when it went.",
			Action:  "Look at OOMKill, MemoryAvailableLow, XID and EngineRestarting for the same host first, then at the engine's log. If memory was short, give the engine a smaller fraction of it before it starts again.",
		},
	}
}

// gpuProcessStart is what metric.GPUProcessStart records. Programs that people start by hand in a session come and go.
func gpuProcessStart() expr.Expr {
	inService := expr.MatchesNot(metric.LabelCgroup, ".*/session-[^/]*[.]scope.*")
	return expr.Select(metric.ProcessStartTimeSeconds, inService).Min(expr.By(metric.LabelHost, metric.LabelComm, metric.LabelCgroup))
}

func engineRestarting(t metric.Thresholds) Alert {
	host := expr.On(metric.LabelHost)
	restarts := expr.Changes(metric.GPUProcessStart, expr.Over(t.Service.StartsWithin))
	ofRuns := expr.MaxOverTime(metric.RunActive, expr.Over(t.Service.StartsWithin)).Max(byHost())
	return Alert{
		Name: "EngineRestarting", About: AboutPart,
		Summary: "A service that uses the GPU starts again and again.",
		Rules: []Rule{{
			Severity: Warning, KeepFiringFor: 10 * time.Minute,
			Expr: restarts.Max(expr.By(metric.LabelHost, metric.LabelComm, metric.LabelCgroup)).AtLeast(expr.Number(t.Service.FailedStarts)).
				Unless(ofRuns, host),
			Description: `{{ $labels.comm }} in {{ $labels.cgroup }} has started again {{ $value | printf "%.0f" }} times within ` + duration(t.Service.StartsWithin) + ".",
		}},
		Runbook: Runbook{
			Meaning: "The oldest process of a program in a container or unit that used the GPU has been another one " + metric.Decimal(t.Service.FailedStarts) + " times: something restarts an engine that fails. Each start reads the weights and takes memory again; on a unified-memory machine that can take the host with it. Starts that fail before they use the GPU are not seen, nor those in Kubernetes, where each has a cgroup of its own (the kubelet counts them). Hosts with a run of uma-load in that time are left out.",
			Check:   "The log of one start: `docker logs --tail 50 CONTAINER`, `journalctl -u UNIT -n 50`. Usual causes: too little free memory for the fraction that is asked for (NextStartLacksMemory), a limit of the container, a model that does not fit, a driver that has failed (XID).",
			Action:  "Stop the service while you look (`docker update --restart=no CONTAINER; docker stop CONTAINER`, `systemctl stop UNIT`), then start it once by hand.",
		},
	}
}
