package alerts

import (
	"slices"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// needs returns the labels that identify the subject of an alert.
func (a About) needs() []metric.Label {
	switch a {
	case AboutRun, AboutLiveRun:
		return []metric.Label{metric.LabelHost, metric.LabelRun}
	case AboutComparison:
		return []metric.Label{metric.LabelComparison}
	case AboutStack:
		return nil
	default:
		return []metric.Label{metric.LabelHost}
	}
}

// labelled adds the mode of its source to the alert, so that an alert about a constructed, replayed or simulated
// machine cannot be taken for one about a real machine. For a host the modes are on the left side of the join, where
// several modes of one host give two alerts instead of a failed evaluation.
func (a About) labelled(e expr.Expr) expr.Expr {
	host, run := expr.On(metric.LabelHost), expr.On(metric.LabelRun)
	one := expr.Number(1)
	simulated := func(marks expr.Expr) expr.Expr { return marks.Labelled(metric.LabelMode, metric.ModeSimulated) }
	switch a {
	case AboutHost:
		modes := expr.Select(metric.ExporterMode).Equals(one).Max(expr.By(metric.LabelHost, metric.LabelMode))
		return modes.Times(e, host.GroupLeft())
	case AboutPart:
		return ofHost(e)
	case AboutTarget:
		return expr.Select(metric.ExporterModeSeen).Times(e, host.GroupLeft()).Or(e, host)
	case AboutRun:
		if e.HasLabel(metric.LabelMode) { // from the recorded cell of the run
			return e
		}
		return withOrigin(e)
	case AboutLiveRun:
		engines := simulated(expr.Select(metric.RunSimulated).Equals(one).Max(expr.By(metric.LabelRun)))
		return e.Times(engines, run.GroupLeft(metric.LabelMode)).Or(e, run)
	case AboutComparison:
		of := expr.On(metric.LabelComparison)
		marks := simulated(expr.Select(metric.ComparisonSimulated).Equals(one).Max(expr.By(metric.LabelComparison)))
		return e.Times(marks, of.GroupLeft(metric.LabelMode)).Or(e, of)
	default:
		return e
	}
}

// withOrigin adds the mode of the measurement to series of finished runs. A simulated engine takes precedence over a
// live machine, and of two modes of one run one is taken: a run that is not live must not pass for a live one, and a
// run has one origin.
func withOrigin(e expr.Expr) expr.Expr {
	byRun, run, one := expr.By(metric.LabelRun), expr.On(metric.LabelRun), expr.Number(1)
	origin := expr.Select(metric.RunSimulated).Equals(one).Max(byRun).Labelled(metric.LabelMode, metric.ModeSimulated)
	modes := metric.Modes()
	slices.Reverse(modes)
	for _, mode := range modes {
		telemetry := expr.Select(metric.RunTelemetryMode, expr.Is(metric.LabelMode, mode)).Equals(one).Max(byRun)
		origin = origin.Or(telemetry.Labelled(metric.LabelMode, mode), run)
	}
	return e.Times(origin, run.GroupLeft(metric.LabelMode)).Or(e, run)
}

// ofHost adds the mode of the source to the series of a host that has several of them. PromQL has no many-to-many join,
// so a host has one mode here; of several modes, live is taken: an alert for a simulated machine is better than none
// for a real machine with the same name.
func ofHost(e expr.Expr) expr.Expr {
	host := expr.On(metric.LabelHost)
	of := func(mode string) expr.Expr {
		return expr.Select(metric.ExporterMode, expr.Is(metric.LabelMode, mode)).Equals(expr.Number(1)).Max(expr.By(metric.LabelHost, metric.LabelMode))
	}
	modes := metric.Modes()
	source := of(modes[0])
	for _, mode := range modes[1:] {
		source = source.Or(of(mode), host)
	}
	return e.Times(source, host.GroupLeft(metric.LabelMode))
}

// subject begins every description: the subject of the alert, and whether it is real.
func (a About) subject() string {
	const mode = `{{ if and $labels.mode (ne $labels.mode "` + metric.ModeLive + `") }} ({{ $labels.mode }} source, no live machine){{ end }}: `
	switch a {
	case AboutRun, AboutLiveRun:
		return `{{ $labels.host }}, run {{ $labels.run }}` + mode
	case AboutComparison:
		return `{{ $labels.comparison }}` + mode
	case AboutStack:
		return ""
	case AboutTarget:
		return `{{ $labels.host }}` + mode
	default:
		return `{{ $labels.host }}{{ if ne $labels.mode "` + metric.ModeLive + `" }} ({{ $labels.mode }} source, no live machine){{ end }}: `
	}
}
