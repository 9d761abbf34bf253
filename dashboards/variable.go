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

// hostVariable chooses one host: the figures of two machines never add up to one picture.
func hostVariable() *dashboard.QueryVariableBuilder {
	query := fmt.Sprintf("label_values(%s, %s)", metric.MemoryPoolBytes.Def().Name, metric.LabelHost)
	return dashboard.NewQueryVariableBuilder("host").
		Label("Host").
		Query(dashboard.StringOrMap{String: &query}).
		Definition(query).
		Datasource(datasource()).
		Refresh(dashboard.VariableRefreshOnTimeRangeChanged).
		Sort(dashboard.VariableSortNaturalAsc)
}

// onHost keeps what belongs to the chosen host.
func onHost() expr.Matcher { return expr.Is(metric.LabelHost, "$host") }

// byHost drops what depends on the exporter's address.
func byHost() expr.Grouping { return expr.By(metric.LabelHost) }

// runAnnotation marks the time of every run on the host.
func runAnnotation() *dashboard.AnnotationQueryBuilder {
	active := expr.Select(metric.RunActive, onHost()).Equals(expr.Number(1))
	return annotation("Runs", "blue", active.Max(expr.By(metric.LabelRun, metric.LabelArm, metric.LabelScenario))).
		TitleFormat("run {{run}}").
		TextFormat("arm {{arm}}, scenario {{scenario}}")
}

// alertAnnotation marks the time in which an alert fires for the host.
func alertAnnotation() *dashboard.AnnotationQueryBuilder {
	return annotation("Alerts", "red", firing()).
		TitleFormat("{{alertname}}").
		TextFormat("{{severity}}, {{mode}} source")
}

// firing are the alerts that fire for the host.
func firing() expr.Expr {
	alerts := expr.Select(metric.Alerts, expr.Is(metric.LabelAlertState, metric.AlertFiring), onHost())
	return alerts.Max(expr.By(metric.LabelAlertName, metric.LabelSeverity, metric.LabelMode))
}

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

// otherDashboards leads to the dashboards of the same tag and takes time range and host along.
func otherDashboards() *dashboard.DashboardLinkBuilder {
	return dashboard.NewDashboardLinkBuilder("umascope").
		Type(dashboard.DashboardLinkTypeDashboards).
		Tags([]string{tag}).
		AsDropdown(true).
		KeepTime(true).
		IncludeVars(true)
}
