package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

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
			{title: "Failed", expr: failed, look: textCells(shade{"1", "failed", colorDoubt})},
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
		figures: []figure{{title: "There", expr: lacking, look: textCells(shade{"0", "no", colorDoubt})}},
		sortBy:  "Collector",
	})
}
