package dashboards

import (
	"fmt"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// datasource refers to the variable: with a fixed uid the dashboards would work in one Grafana only.
func datasource() common.DataSourceRef {
	return common.DataSourceRef{Type: cog.ToPtr("prometheus"), Uid: cog.ToPtr("${datasource}")}
}

// datasourceVariable has no current value, so that Grafana takes its default data source.
func datasourceVariable() *dashboard.DatasourceVariableBuilder {
	return dashboard.NewDatasourceVariableBuilder("datasource").Label("Data source").Type("prometheus")
}

// resulting gives a variable the values that a label has in the present answer to an expression: Grafana lists those of the
// series of the time range otherwise.
func resulting(built choosable, of expr.Expr, values metric.Label) choosable {
	if err := of.Err(); err != nil {
		built.RecordError(string(values), err)
	}
	return asking(built, fmt.Sprintf("query_result(%s)", of)).Regex(fmt.Sprintf(`/%s="([^"]*)"/`, values))
}

// choice is a variable for one value of a label, of the series that an expression selects.
func choice(name, label string, of expr.Expr, values metric.Label) choosable {
	built := queried(name, label, fmt.Sprintf("label_values(%s, %s)", of, values))
	if err := of.Err(); err != nil {
		built.RecordError(name, err)
	}
	if !of.HasLabel(values) {
		built.RecordError(name, fmt.Errorf("no label %s to choose", values))
	}
	return built
}

// choices is a variable for several values; the default is all. Expressions match it by a pattern.
func choices(name, label string, of expr.Expr, values metric.Label) choosable {
	return choice(name, label, of, values).Multi(true).IncludeAll(true).AllValue(".+").
		Current(dashboard.VariableOption{Text: dashboard.StringOrArrayOfString{String: cog.ToPtr("All")}, Value: dashboard.StringOrArrayOfString{String: cog.ToPtr("$__all")}})
}

// choosable is a variable whose values come from Prometheus.
type choosable = *dashboard.QueryVariableBuilder

// worked is a hidden variable: the value of an expression that is one number.
func worked(name string, e expr.Expr) *dashboard.QueryVariableBuilder {
	// Grafana writes an answer as labels, value and time; the pattern keeps the value.
	built := queried(name, name, fmt.Sprintf("query_result(%s)", e)).
		Regex(`/.* ([^\s]+) [0-9.]+$/`).
		Hide(dashboard.VariableHideHideVariable)
	if err := e.Err(); err != nil {
		built.RecordError(name, err)
	}
	return built
}

// queried is a variable whose values come from Prometheus, queried again when the time range changes.
func queried(name, label, query string) *dashboard.QueryVariableBuilder {
	return asking(dashboard.NewQueryVariableBuilder(name), query).
		Label(label).
		Datasource(datasource()).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged)
}

// asking sets the query of a variable.
func asking(built choosable, query string) choosable {
	return built.Query(dashboard.StringOrMap{String: &query}).Definition(query)
}

// byHost drops the labels that depend on the exporter's address.
func byHost() expr.Grouping { return expr.By(metric.LabelHost) }

// runAnnotation marks the time of every run on the hosts.
func runAnnotation(of expr.Matcher) *dashboard.AnnotationQueryBuilder {
	active := expr.Select(metric.RunActive, of).Equals(expr.Number(1))
	return annotation("Runs", "blue", active.Max(expr.By(metric.LabelRun, metric.LabelArm, metric.LabelScenario))).
		TitleFormat("run {{run}}").
		TextFormat("arm {{arm}}, scenario {{scenario}}")
}

// alertAnnotation marks the time in which an alert that needs action fires for the hosts: some alerts of severity info
// fire all the time on some machines.
func alertAnnotation(of expr.Matcher) *dashboard.AnnotationQueryBuilder {
	return annotation("Alerts", "red", firing(of, expr.IsNot(metric.LabelSeverity, metric.SeverityInfo))).
		TitleFormat("{{alertname}}").
		TextFormat("{{severity}}, {{mode}} source")
}

// firing are the alerts that fire for hosts, without those that are for Alertmanager only.
func firing(of expr.Matcher, further ...expr.Matcher) expr.Expr {
	matchers := append([]expr.Matcher{expr.Is(metric.LabelAlertState, metric.AlertFiring), forPeople(), of}, further...)
	alerts := expr.Select(metric.Alerts, matchers...)
	return alerts.Max(expr.By(metric.LabelAlertName, metric.LabelSeverity, metric.LabelMode))
}

// forPeople matches alerts that are for people.
func forPeople() expr.Matcher { return expr.IsNot(metric.LabelSeverity, metric.SeverityNone) }

// annotation marks the times at which an expression has series.
func annotation(name, color string, e expr.Expr) *dashboard.AnnotationQueryBuilder {
	builder := dashboard.NewAnnotationQueryBuilder().
		Name(name).
		Datasource(datasource()).
		Enable(true).
		IconColor(color).
		Expr(e.String())
	if err := e.Err(); err != nil {
		builder.RecordError(name, err)
	}
	return builder
}

// otherDashboards links to the dashboards of the same tag and keeps time range and host.
func otherDashboards() *dashboard.DashboardLinkBuilder {
	return dashboard.NewDashboardLinkBuilder("umascope").
		Type(dashboard.DashboardLinkTypeDashboards).
		Tags([]string{tag}).
		AsDropdown(true).
		KeepTime(true).
		IncludeVars(true)
}
