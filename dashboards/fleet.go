package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/stat"

	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// fleetPageName is the target of links from other pages.
const fleetPageName = "fleet"

// noHosts is the text of an empty panel of all hosts.
const noHosts = "no exporter answers, or its job sets no label " + hostName

// fleetPage shows all hosts in one table, and which of them is unlike its peers.
func fleetPage() page {
	return page{
		name:        fleetPageName,
		title:       "Fleet",
		description: "All hosts in one table: which of them answer, how full, hot and busy they are, which alerts fire, and which host is unlike the others of its kind.",
		of:          allHosts,
		rows: []row{
			{"All hosts", []tile{{12, 3, hostCount()}, {12, 3, alertCount()}, {24, 10, hostList()}, {24, 8, hostDistances()}}},
			{"Over time", []tile{{12, 8, hostCurve(occupiedByHost())}, {12, 8, hostCurve(kvByHost())},
				{12, 8, hostCurve(temperatureByHost())}, {12, 8, hostCurve(powerByHost())}}},
		},
	}
}

// onHosts matches the hosts of the page.
func onHosts() expr.Matcher { return allHosts.matcher() }

// modesOfHosts is the mode of the source of each host that answers; a host with sources of several modes has one of them.
func modesOfHosts() expr.Expr { return modeOf(expr.Select(metric.ExporterMode, onHosts())) }

func modeOf(e expr.Expr) expr.Expr {
	return e.Equals(expr.Number(1)).Max(by(metric.LabelMode)).TopK(1, byHost())
}

// goneHosts are the hosts that have answered within a week and do not now, as 0.
func goneHosts() expr.Expr {
	seen := modeOf(expr.LastOverTime(metric.ExporterMode, expr.Over(seenWithin), onHosts()))
	return seen.Clamp(0, 0).Unless(modesOfHosts(), expr.On(metric.LabelHost))
}

func hostCount() panel {
	return counts(subject{
		title:  "Sources",
		means:  "How many hosts answer, by the mode of their source (*live* is a machine now), how many have answered within a week and do not now, and whether an exporter is scraped by a job that sets no label " + hostName + ": no page shows it.",
		wrong:  "a host is *gone*, a source is not *live* while you look for machines, or a label is missing.",
		noData: noHosts,
		queries: []query{
			{"{{mode}}", modesOfHosts().Count(expr.By(metric.LabelMode))},
			{"gone", goneHosts().Count(expr.By())},
			{noHostLabel, withoutHost().Count(expr.By())},
		},
	}).
		OverrideByRegexp("/^"+metric.ModeLive+"$/", colored(colorGood)).
		OverrideByName("gone", colored(colorBad)).
		OverrideByName(noHostLabel, looks(colored(colorBad), linked(path{"Labels of jobs", jobLabels})))
}

func alertCount() panel {
	none := evaluated().Count(expr.By()).Clamp(0, 0)
	of := func(severity string) query {
		return query{severity, alertsOfHosts(severity).Count(expr.By()).Or(none)}
	}
	return counts(subject{
		title:   "Alerts",
		means:   "How many alerts fire, of all hosts shown, by severity; a click opens the runbook.",
		wrong:   "one is *critical* (now) or a *warning* (today). Without rules there is no figure.",
		noData:  "Prometheus evaluates no rules",
		queries: []query{of(metric.SeverityCritical), of(metric.SeverityWarning), of(metric.SeverityInfo)},
	}).
		OverrideByName(metric.SeverityCritical, looks(shadedFrom("transparent", from(1, colorBad)), linked(path{"Runbooks", runbook}))).
		OverrideByName(metric.SeverityWarning, looks(shadedFrom("transparent", from(1, colorDoubt)), linked(path{"Runbooks", runbook}))).
		OverrideByName(metric.SeverityInfo, looks(shadedFrom("transparent", from(1, colorInfo)), linked(path{"Runbooks", runbook})))
}

// alertsOfHosts are the alerts of a severity that fire, each once for a host.
func alertsOfHosts(severity string) expr.Expr {
	return expr.Select(metric.Alerts, expr.Is(metric.LabelAlertState, metric.AlertFiring), onHosts(), expr.Is(metric.LabelSeverity, severity)).
		Max(by(metric.LabelAlertName))
}

// counts is a number panel with the name of every number.
func counts(s subject) *stat.PanelBuilder {
	return number(s).
		TextMode(common.BigValueTextModeValueAndName).
		ColorMode(common.BigValueColorModeBackground).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)).
		Thresholds(steps(colorDoubt))
}

func hostList() panel {
	byHostOnly := func(title string, e expr.Expr, look look) figure { return figure{title: title, expr: e, look: look} }
	alerts := func(severity string) expr.Expr {
		none := modesOfHosts().Max(byHost()).And(evaluated(), expr.On()).Count(byHost()).Clamp(0, 0)
		return alertsOfHosts(severity).Count(byHost()).Or(none)
	}
	pool := expr.Select(metric.MemoryPoolBytes, onHosts()).Max(byHost())
	free := expr.Select(metric.MemoryLedgerBytes, onHosts(), expr.OneOf(metric.LabelLine, ledger.FreeNames()...)).Max(expr.By(metric.LabelHost, metric.LabelLine)).Sum(byHost())
	return list(board{
		title: "Hosts",
		means: "All hosts of the last week; a click on one opens its pages. *Occupied* and *free* add up to the *pool*; *available* is free memory plus what the kernel can reclaim. KV cache is of the fullest engine, temperature of the hottest GPU, power of all GPUs. " +
			"*Unlike its peers in* is the figure in which a host is farthest from hosts of the same GPU and source, if that is at least " + oddFrom + "; " + tooFew + " is said instead of a guess.",
		wrong:  "a host does not answer, an alert fires, or a host is unlike its peers in anything: look for what is different about it, the room and its place in the rack included.",
		noData: noHosts,
		keys: []key{
			{label: metric.LabelHost, title: "Host", look: looks(width(170), linked(pagesOfHost()...))},
			{label: metric.LabelMode, title: "Source", look: looks(width(100), textCells(shade{metric.ModeReplay, metric.ModeReplay, colorDoubt},
				shade{metric.ModeConstructed, metric.ModeConstructed, colorDoubt}, shade{metric.ModeSimulated, metric.ModeSimulated, colorDoubt}))},
			{label: metric.LabelName, title: "Unlike its peers in", look: looks(width(180), textCells(shade{alike, alike, "transparent"}, shade{tooFew, tooFew, "transparent"},
				shade{oddMemory, oddMemory, colorDoubt}, shade{oddAvailable, oddAvailable, colorDoubt}, shade{oddKV, oddKV, colorDoubt},
				shade{oddTemperature, oddTemperature, colorDoubt}, shade{oddPower, oddPower, colorDoubt}))},
		},
		figures: []figure{
			byHostOnly("Answers", modesOfHosts().Or(goneHosts()), looks(width(75), textCells(shade{"0", "no", colorBad}, shade{"1", "yes", "transparent"}))),
			byHostOnly("Odd", odd(), nil),
			byHostOnly("Occupied", pool.Minus(free, expr.On(metric.LabelHost)), nil),
			byHostOnly("Free", free, nil),
			byHostOnly("Pool", pool, nil),
			byHostOnly("Available", expr.Select(metric.MemoryAvailableBytes, onHosts()).Max(byHost()), nil),
			byHostOnly("KV cache in use", expr.Select(metric.EngineKVUsedRatio, onHosts()).Max(byHost()), nil),
			byHostOnly("Temperature", expr.Select(metric.GPUTemperatureCelsius, onHosts()).Max(byHost()), nil),
			byHostOnly("Power", expr.Select(metric.GPUPowerWatts, onHosts()).Max(by(metric.LabelUUID)).Sum(byHost()), nil),
			byHostOnly("Critical", alerts(metric.SeverityCritical), looks(width(75), cells("transparent", from(1, colorBad)))),
			byHostOnly("Warnings", alerts(metric.SeverityWarning), looks(width(80), cells("transparent", from(1, colorDoubt)))),
		},
		sortBy: "Host",
	}).WithTransformation(unshown("Odd"))
}

// pagesOfHost are the links from the name of a host to its pages.
func pagesOfHost() []path {
	var all []path
	for _, p := range machinePages() {
		all = append(all, path{p.title, "/d/" + tag + "-" + p.name + "?${__url_time_range}&var-host=${__value.raw:percentencode}&${datasource:queryparam}"})
	}
	return all
}
