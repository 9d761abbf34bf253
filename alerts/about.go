package alerts

import (
	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// needs returns the labels that identify the subject of an alert.
func (a About) needs() []metric.Label {
	switch a {
	case AboutLiveRun:
		return []metric.Label{metric.LabelHost, metric.LabelRun}
	case AboutCell:
		return cellOfRun()
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
	host, one := expr.On(metric.LabelHost), expr.Number(1)
	simulated := func(marks expr.Expr) expr.Expr { return marks.Labelled(metric.LabelMode, metric.ModeSimulated) }
	switch a {
	case AboutHost:
		return expr.Select(metric.ExporterModeSeen).Times(e, host.GroupLeft())
	case AboutPart:
		return e.Times(expr.Select(metric.ExporterModeTaken), host.GroupLeft(metric.LabelMode))
	case AboutTarget:
		return expr.Select(metric.ExporterModeSeen).Times(e, host.GroupLeft()).Or(e, host)
	case AboutLiveRun:
		run := onRun()
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

// subject begins every description: the subject of the alert, and whether it is real.
func (a About) subject(n expr.Names) string {
	host := "{{ $labels." + n.Label(metric.LabelHost) + " }}"
	const mode = `{{ if and $labels.mode (ne $labels.mode "` + metric.ModeLive + `") }} ({{ $labels.mode }} source, no live machine){{ end }}: `
	switch a {
	case AboutCell:
		return host + mode
	case AboutLiveRun:
		return host + `, run {{ $labels.run }}` + mode
	case AboutComparison:
		return `{{ $labels.comparison }}` + mode
	case AboutStack:
		return ""
	case AboutTarget:
		return host + mode
	default:
		return host + `{{ if ne $labels.mode "` + metric.ModeLive + `" }} ({{ $labels.mode }} source, no live machine){{ end }}: `
	}
}
