package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

func shares() panel {
	return series(subject{
		title:  "Busy, clock and KV cache",
		means:  "Of each GPU the share of time in which a kernel ran and its clock over its highest, and dashed the share of the KV cache that requests hold, of each engine.",
		wrong:  "a GPU is busy at a low clock, or idle while the KV cache is full.",
		noData: noGPU,
		queries: []query{
			{"busy, GPU {{gpu}}", numbered(each(metric.GPUUtilizationRatio))},
			{"clock, GPU {{gpu}}", numbered(clockShare())},
			{"KV cache, {{source}}", expr.Select(metric.EngineKVUsedRatio, onHost()).Max(expr.By(metric.LabelSource))},
		},
	}).Min(0).Max(1).OverrideByRegexp("/^KV cache/", dashed())
}

func phases() panel {
	phase := expr.Select(metric.RunPhase, onHost()).Equals(expr.Number(1)).Max(by(metric.LabelPhase))
	return states(subject{
		title:   "Phases of runs",
		means:   "Which phase a run on this host was in at each moment: *start* of the engine, *load* of its model, *ready*, *warmup*, then what is measured.",
		wrong:   "a phase takes much longer than in other runs, or phases of two runs overlap.",
		noData:  "no run lasted on this host in this time",
		queries: []query{{"{{phase}}", phase}},
	}, shaded(shade{"1", "on", "#0072B2"}))
}

func failedCollectors() panel {
	failed := each(metric.CollectorState, expr.Is(metric.LabelState, metric.CollectorFailed)).Equals(expr.Number(1)).Max(expr.By(metric.LabelCollector))
	age := expr.Select(metric.CollectorLastSuccessTimestampSeconds, onHost()).Max(expr.By(metric.LabelCollector))
	return list(board{
		title:  "Collectors that failed",
		means:  "Parts of the exporter that failed in the last scrape, and when they last worked. What they read is missing from all pages; nothing is made up in its place.",
		wrong:  "any is shown: the log of the exporter says why.",
		noData: "none failed, or no exporter answers",
		keys:   []key{{label: metric.LabelCollector, title: "Collector"}},
		figures: []figure{
			{title: "Failed", expr: failed, look: textCells(shade{"1", "failed", "#E69F00"})},
			{title: "Last worked", expr: age.And(failed, expr.On(metric.LabelCollector)).Milliseconds()},
		},
		sortBy: "Collector",
	})
}

func lackingPrivileges() panel {
	lacking := each(metric.CollectorPrivilege).Equals(expr.Number(0)).Max(expr.By(metric.LabelCollector, metric.LabelNeeds))
	return list(board{
		title:   "Access that the exporter lacks",
		means:   "What collectors would need and do not have, such as looking into processes of others. `uma-exporter doctor` says what each costs.",
		wrong:   "what you look for is behind one of these: the panels about it are empty, not zero.",
		noData:  "none lacks any, or no exporter answers",
		keys:    []key{{label: metric.LabelCollector, title: "Collector"}, {label: metric.LabelNeeds, title: "Needs"}},
		figures: []figure{{title: "There", expr: lacking, look: textCells(shade{"0", "no", "#E69F00"})}},
		sortBy:  "Collector",
	})
}
