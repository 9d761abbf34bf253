package dashboards

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/cog/variants"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	"github.com/grafana/grafana-foundation-sdk/go/units"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// subject is the content of a panel of any type.
type subject struct {
	title string
	// means describes the figures, wrong the signs of a problem: together the description.
	means, wrong string
	// noData is the reason why there may be no data.
	noData  string
	queries []query
	// as is the unit where the expressions have none, such as a quotient of different units.
	as expr.Unit
	// perColumn reports that every query is a column with a unit of its own.
	perColumn bool
}

// query is one expression and the name of its series in the legend, with labels in double braces.
type query struct {
	legend string
	expr   expr.Expr
}

// furnishable are the builders of all panel types: the SDK gives each its own type.
type furnishable[B any] interface {
	cog.Builder[dashboard.Panel]
	Title(string) B
	Description(string) B
	Datasource(common.DataSourceRef) B
	Unit(string) B
	NoValue(string) B
	WithTarget(cog.Builder[variants.Dataquery]) B
	RecordError(string, error) B
}

// furnish sets the options that every panel has.
func furnish[B furnishable[B]](builder B, s subject, shape func(*prometheus.DataqueryBuilder)) B {
	builder = builder.Title(s.title).
		Description(s.means + "\n\n**Wrong if** " + s.wrong).
		Datasource(datasource()).
		NoValue(strings.ReplaceAll(s.noData, "`", "")) // shown as plain text, unlike the description
	unit, err := s.unit()
	if err = errors.Join(err, s.check()); err != nil {
		builder = builder.RecordError(s.title, err)
	}
	builder = builder.Unit(unit)
	for i, q := range s.queries {
		target := prometheus.NewDataqueryBuilder().
			Datasource(datasource()).
			Expr(q.expr.String()).
			LegendFormat(q.legend).
			RefId(string(rune('A' + i)))
		shape(target)
		builder = builder.WithTarget(target)
	}
	return builder
}

// called is the name of a family as descriptions write it.
func called(d metric.Definer) string { return "`" + d.Def().Name + "`" }

// Errors of incomplete panels.
var (
	errOneQuery = errors.New("a heat map shows one distribution")
	errNoKey    = errors.New("bars need a label to stand for")
)

// check returns an error for a missing part of the subject.
func (s subject) check() error {
	var problems []error
	if s.title == "" || s.means == "" || s.wrong == "" || s.noData == "" || len(s.queries) == 0 {
		problems = append(problems, errors.New("a panel needs title, meaning, what would be wrong, a text for no data, and queries"))
	}
	if len(s.queries) > 26 {
		problems = append(problems, errors.New("more queries than letters"))
	}
	for _, q := range s.queries {
		problems = append(problems, q.expr.Err())
	}
	return errors.Join(problems...)
}

// unit returns the one unit of all queries, from the vocabulary.
func (s subject) unit() (string, error) {
	var found string
	for _, q := range s.queries {
		if s.perColumn {
			return units.NoUnit, nil
		}
		unit, err := s.unitOf(q)
		if err != nil {
			return "", err
		}
		switch {
		case found == "" || unit == found:
			found = unit
		case counted(unit) && counted(found):
			found = mixedCounts
		default:
			return "", fmt.Errorf("%s and %s on one axis", found, unit)
		}
	}
	return found, nil
}

// unitOf returns the unit of one query: its own, or that of the subject where it has none.
func (s subject) unitOf(q query) (string, error) {
	unit := q.expr.Unit()
	if unit.Base == "" {
		unit = s.as
	} else if s.as.Base != "" && s.as != unit {
		return "", fmt.Errorf("%s is said to be in %s", unit, s.as)
	}
	if unit == (expr.Unit{Base: metric.Count, PerSecond: true}) && len(q.expr.Metrics()) > 0 {
		return countedUnit(q.expr.Metrics()[0]), nil
	}
	return grafanaUnit(unit)
}

// series is a panel of lines over time.
func series(s subject) *timeseries.PanelBuilder {
	built := furnish(timeseries.NewPanelBuilder(), s, func(q *prometheus.DataqueryBuilder) { q.Range() }).
		Legend(legend(common.LegendPlacementBottom)).
		Tooltip(tooltip()).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdPaletteClassic)).
		LineInterpolation(common.LineInterpolationLinear).
		ShowPoints(common.VisibilityModeNever).
		FillOpacity(10).
		OverrideByRegexp(everyField, blank())
	if unit, err := s.unit(); err == nil && unit == units.PercentUnit {
		// Without data Grafana's axis ends at 100, which is 10,000 %.
		built = built.AxisSoftMin(0).AxisSoftMax(emptyShare)
	}
	return built
}

// emptyShare is the least end of an axis of shares: small enough for a clock that is held down one percent of the time.
const emptyShare = 0.05

// everyField is the pattern of all series or columns of a panel.
const everyField = "/.*/"

// blank leaves fields without a value empty, such as a cell of a table or a figure of the legend. Otherwise Grafana
// writes there, too, why the whole panel is empty.
func blank() look {
	return look{{Id: "noValue", Value: ""}}
}

// lines is a panel of many lines over time: without a fill, which would hide the other lines.
func lines(s subject) *timeseries.PanelBuilder { return series(s).FillOpacity(0) }

// areas is a panel of lines that are stacked into a whole.
func areas(s subject) *timeseries.PanelBuilder {
	return series(s).
		AxisSoftMin(0). // areas are in proportion from 0 on; a negative one hangs below it
		Stacking(common.NewStackingConfigBuilder().Mode(common.StackingModeNormal)).
		FillOpacity(70).
		LineWidth(0)
}

// queriesOf are the queries of figures, painted gives their series the looks of the figures.
func queriesOf(figures []figure) []query {
	var queries []query
	for _, f := range figures {
		queries = append(queries, query{f.title, f.expr})
	}
	return queries
}

func painted(built *timeseries.PanelBuilder, figures []figure) *timeseries.PanelBuilder {
	for _, f := range figures {
		if f.look != nil {
			built = built.OverrideByName(f.title, f.look)
		}
	}
	return built
}

// number is a panel of present values in large type. It queries this moment, so that a source that is gone shows no
// value instead of its last one.
func number(s subject) *stat.PanelBuilder {
	return figures(s, func(q *prometheus.DataqueryBuilder) { q.Instant() })
}

// figures is a panel of values in large type.
func figures(s subject, asked func(*prometheus.DataqueryBuilder)) *stat.PanelBuilder {
	return furnish(stat.NewPanelBuilder(), s, asked).
		ReduceOptions(common.NewReduceDataOptionsBuilder().Calcs([]string{"lastNotNull"})).
		GraphMode(common.BigValueGraphModeNone).
		JustifyMode(common.BigValueJustifyModeCenter).
		TextMode(common.BigValueTextModeValue).
		ColorMode(common.BigValueColorModeNone).
		PercentChangeColorMode(common.PercentChangeColorModeStandard).
		Orientation(common.VizOrientationVertical)
}

// trend is a number panel with the curve of the time range behind the value. A curve that has ended before the range does
// is left out, with its last value. Grafana draws the curve where the inside of the tile is 2.5 times as wide as high and
// more than 50 pixels high, or more than 100 pixels high: tiles of 4 columns are 5 units high.
func trend(s subject) *stat.PanelBuilder {
	s.queries = slices.Clone(s.queries)
	for i, q := range s.queries {
		s.queries[i].expr = q.expr.And(q.expr.AtEnd())
	}
	return figures(s, func(q *prometheus.DataqueryBuilder) { q.Range() }).
		GraphMode(common.BigValueGraphModeArea).
		ColorMode(common.BigValueColorModeValue).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)).
		Thresholds(steps("text"))
}

// names is a number panel that shows the names of its series, coloured by their values. Where there are none it shows the
// words of otherwise: Grafana would draw a tile of colour without a word.
func names(s subject, otherwise string, thresholds *dashboard.ThresholdsConfigBuilder) *stat.PanelBuilder {
	all := s.queries[0].expr
	for _, q := range s.queries[1:] {
		all = all.Or(q.expr)
	}
	s.queries = append(slices.Clone(s.queries), query{otherwise, all.IfNone()})
	return number(s).
		OverrideByName(otherwise, colored(colorUnknown)).
		TextMode(common.BigValueTextModeName).
		ColorMode(common.BigValueColorModeBackground).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdThresholds)).
		Thresholds(thresholds)
}
