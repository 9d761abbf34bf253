package dashboards

import (
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"slices"
)

// Colours with a meaning on all pages. They differ for people who cannot tell red from green, and each has a word next
// to it.
const (
	colorGood    = "#009E73"
	colorBad     = "#D55E00"
	colorDoubt   = "#E69F00"
	colorInfo    = "#0072B2"
	colorNeutral = "#56B4E9"
	colorOther   = "#CC79A7"
	colorUnknown = "#808080"
)

// look is how a series, or a column of a table, is drawn.
type look = []dashboard.DynamicConfigValue

// looks joins looks.
func looks(parts ...look) look { return slices.Concat(parts...) }

// steps colours values from thresholds on upwards; the first colour holds below all of them.
func steps(below string, above ...dashboard.Threshold) *dashboard.ThresholdsConfigBuilder {
	return dashboard.NewThresholdsConfigBuilder().
		Mode(dashboard.ThresholdsModeAbsolute).
		Steps(append([]dashboard.Threshold{{Value: nil, Color: below}}, above...))
}

// from returns a threshold.
func from(value float64, color string) dashboard.Threshold {
	return dashboard.Threshold{Value: cog.ToPtr(value), Color: color}
}

// dashedLine draws the thresholds of a panel as dashed lines.
func dashedLine() *common.GraphThresholdsStyleConfigBuilder {
	return common.NewGraphThresholdsStyleConfigBuilder().Mode(common.GraphThresholdsStyleModeDashed)
}

// colored gives a series a fixed colour, so that it keeps it when other series appear or end.
func colored(color string) look {
	return look{{Id: "color", Value: map[string]string{"mode": string(dashboard.FieldColorModeIdFixed), "fixedColor": color}}}
}

// limit draws a series as a limit: a dashed line that is not part of any stack.
func limit(color string) look {
	return looks(colored(color), look{
		{Id: "custom.fillOpacity", Value: 0},
		{Id: "custom.lineWidth", Value: 1},
		{Id: "custom.lineStyle", Value: map[string]any{"fill": "dash", "dash": []int{8, 8}}},
		{Id: "custom.stacking", Value: map[string]string{"mode": "none", "group": "limit"}},
	})
}

// worded shows texts instead of the values 0 and 1.
func worded(zero, one string) []dashboard.ValueMapping {
	return []dashboard.ValueMapping{{ValueMap: &dashboard.ValueMap{
		Type: dashboard.MappingTypeValueToText,
		Options: map[string]dashboard.ValueMappingResult{
			"0": {Text: &zero, Index: cog.ToPtr(int32(0))},
			"1": {Text: &one, Index: cog.ToPtr(int32(1))},
		},
	}}}
}

// dashed draws a series as a dashed line, such as the run of a comparison that is the reference.
func dashed() look {
	return look{{Id: "custom.lineStyle", Value: map[string]any{"fill": "dash", "dash": []int{8, 8}}}, {Id: "custom.fillOpacity", Value: 0}}
}

// cells colours the background of a column's cells by thresholds.
func cells(below string, above ...dashboard.Threshold) look {
	return looks(look{{Id: "custom.cellOptions", Value: map[string]string{"type": "color-background"}}}, shadedFrom(below, above...))
}

// shadedFrom colours a field by thresholds.
func shadedFrom(below string, above ...dashboard.Threshold) look {
	return look{
		{Id: "color", Value: map[string]string{"mode": string(dashboard.FieldColorModeIdThresholds)}},
		{Id: "thresholds", Value: dashboard.ThresholdsConfig{Mode: dashboard.ThresholdsModeAbsolute, Steps: append([]dashboard.Threshold{{Color: below}}, above...)}},
	}
}

// textCells colours the background of a column's cells by their texts, and writes other texts in their place.
func textCells(shades ...shade) look {
	return looks(cells("transparent"), look{{Id: "mappings", Value: shaded(shades...)}})
}

// width fixes the width of a column, in pixels.
func width(pixels int) look { return look{{Id: "custom.width", Value: pixels}} }

// below draws a series below zero, such as what is sent under what is received.
func below() look {
	return look{{Id: "custom.transform", Value: "negative-Y"}}
}
