package dashboards

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// sourceBanner shows on every page which sources its figures come from.
func sourceBanner(of hostChoice) panel {
	mode := expr.Select(metric.ExporterMode, of.matcher()).Equals(expr.Number(1)).Max(expr.By(metric.LabelHost, metric.LabelMode))
	live := colored(colorGood)
	return names(subject{
		title:   "Source",
		means:   "Where the figures of this page come from; *live* is this machine now.",
		wrong:   "it says replay, constructed or simulated while you look for a real machine, or shows several: then sources of different kinds share one host name.",
		noData:  noExporter,
		queries: []query{{"{{host}}: {{mode}}", mode}, {noHostLabel, withoutHost()}},
	}, "no exporter answers", steps(colorDoubt)).
		OverrideByRegexp("/: /", linked(path{"All hosts", addressOfFleet})).
		OverrideByRegexp("/: "+metric.ModeLive+"$/", live).
		OverrideByName(noHostLabel, looks(colored(colorBad), linked(path{"Labels of jobs", jobLabels})))
}

// noHostLabel is shown where an exporter is scraped without the label by which all pages choose.
const noHostLabel = "an exporter's job sets no label " + hostName

// withoutHost are the exporters whose series have no label host.
func withoutHost() expr.Expr {
	return expr.Select(metric.ExporterMode, expr.Is(metric.LabelHost, "")).Equals(expr.Number(1)).Max(expr.By(metric.LabelMode))
}

// evaluated is there if Prometheus evaluates rules: one of them always fires.
func evaluated() expr.Expr {
	return expr.Select(metric.Alerts, expr.Is(metric.LabelAlertState, metric.AlertFiring), expr.Is(metric.LabelSeverity, metric.SeverityNone)).Max(expr.By())
}

// firingAlerts shows the alerts of the host, on every page. The more it shows, the smaller are their letters: those of
// severity info give way to others.
func firingAlerts(hosts hostChoice) panel {
	of := func(severity string) expr.Expr {
		return firing(hosts.matcher(), expr.Is(metric.LabelSeverity, severity))
	}
	urgent := of(metric.SeverityCritical).Or(of(metric.SeverityWarning))
	named := func(severity string, alerts expr.Expr) query {
		return query{"{{alertname}} (" + severity + ")", alerts}
	}
	// Severity info is never red: on some machines such alerts always fire.
	blue := colored(colorInfo)
	orange := colored(colorDoubt)
	const quiet = "none fires"
	return names(subject{
		title:  "Alerts",
		means:  "The alerts that fire for this host; a click opens the runbook, which says what each means and what to do.",
		wrong:  "one is *critical* (now) or a *warning* (today); *info* is for when something else is looked at, and is shown only where neither fires; the page *Overview* lists all. It says so if Prometheus evaluates no rules.",
		noData: "none fires, or Prometheus evaluates no rules",
		queries: []query{
			named(metric.SeverityCritical, of(metric.SeverityCritical)),
			named(metric.SeverityWarning, of(metric.SeverityWarning)),
			named(metric.SeverityInfo, of(metric.SeverityInfo).Unless(urgent, expr.On())),
			{quiet, evaluated().Unless(firing(hosts.matcher()), expr.On())},
		},
	}, "no rules are evaluated", steps(colorBad)).
		OverrideByName(quiet, colored(colorGood)).
		OverrideByRegexp(`/\(.+\)$/`, linked(path{"Runbooks", runbook})).
		OverrideByRegexp(`/\(`+metric.SeverityWarning+`\)$/`, orange).
		OverrideByRegexp(`/\(`+metric.SeverityInfo+`\)$/`, blue)
}
