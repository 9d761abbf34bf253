package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/heatmap"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/statetimeline"
)

// heat is a panel of distributions over time: time on the x axis, the value on the y axis, the count as colour. Its one
// query is a distribution of package expr.
func heat(s subject) *heatmap.PanelBuilder {
	built := furnish(heatmap.NewPanelBuilder(), s, func(q *prometheus.DataqueryBuilder) {
		q.Range().Format(prometheus.PromQueryFormatHeatmap)
	})
	if len(s.queries) != 1 {
		return built.RecordError(s.title, errOneQuery)
	}
	unit, err := s.unit()
	if err != nil {
		return built.RecordError(s.title, err)
	}
	return built.
		Calculate(false).
		CellGap(1).
		YAxis(heatmap.NewYAxisConfigBuilder().Unit(unit)).
		CellValues(heatmap.NewCellValuesBuilder().Unit("cps")).
		// Cividis looks alike with all kinds of colour vision, and its lightness rises steadily.
		Color(heatmap.NewHeatmapColorOptionsBuilder().Mode(heatmap.HeatmapColorModeScheme).Scheme("Cividis").Steps(64).Exponent(0.5).Scale(heatmap.HeatmapColorScaleExponential)).
		Tooltip(heatmap.NewHeatmapTooltipBuilder().Mode(common.TooltipDisplayModeSingle).YHistogram(false).ShowColorScale(true)).
		ShowLegend()
}

// states is a panel of bars over time, a line for every series, with colours and words by value.
func states(s subject, mappings []dashboard.ValueMapping) *statetimeline.PanelBuilder {
	return furnish(statetimeline.NewPanelBuilder(), s, func(q *prometheus.DataqueryBuilder) { q.Range() }).
		Mappings(mappings).
		MergeValues(true).
		ShowValue(common.VisibilityModeAuto).
		RowHeight(0.9).
		FillOpacity(80).
		LineWidth(0).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)).
		Legend(legend(common.LegendPlacementBottom).ShowLegend(false)).
		Tooltip(tooltip())
}

// shade is a value of a state with its word and colour.
type shade struct{ value, text, color string }

// shaded maps the values of a state to words and colours.
func shaded(shades ...shade) []dashboard.ValueMapping {
	options := map[string]dashboard.ValueMappingResult{}
	for i, s := range shades {
		options[s.value] = dashboard.ValueMappingResult{Text: cog.ToPtr(s.text), Color: cog.ToPtr(s.color), Index: cog.ToPtr(int32(i))}
	}
	return []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{Type: dashboard.MappingTypeValueToText, Options: options}}}
}

// legend is a legend in a table, with the last and the largest value.
func legend(place common.LegendPlacement) *common.VizLegendOptionsBuilder {
	return common.NewVizLegendOptionsBuilder().
		ShowLegend(true).
		DisplayMode(common.LegendDisplayModeTable).
		Placement(place).
		Calcs([]string{"lastNotNull", "max"})
}

// tooltip shows all series of a moment, the largest first.
func tooltip() *common.VizTooltipOptionsBuilder {
	return common.NewVizTooltipOptionsBuilder().Mode(common.TooltipDisplayModeMulti).Sort(common.SortOrderDescending)
}
