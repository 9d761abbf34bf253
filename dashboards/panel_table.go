package dashboards

import (
	"errors"
	"fmt"
	"slices"

	"github.com/grafana/grafana-foundation-sdk/go/barchart"
	"github.com/grafana/grafana-foundation-sdk/go/cog"
	"github.com/grafana/grafana-foundation-sdk/go/common"
	"github.com/grafana/grafana-foundation-sdk/go/dashboard"
	"github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/table"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// board is a table of present values: a line for every combination of the keys, a column for every figure.
type board struct {
	title, means, wrong, noData string
	// keys are the labels that identify a line, in the order of their columns.
	keys []key
	// figures are the columns after them. A key that only one of them has is a column too.
	figures []figure
	// sortBy is the title of the column that the lines are sorted by, falling if desc is set.
	sortBy string
	desc   bool
}

// key is a label as a column; look is how its cells are drawn.
type key struct {
	label metric.Label
	title string
	look  look
}

// figure is a column of values; look is how its cells are drawn, and as the unit where the expression has none.
type figure struct {
	title string
	expr  expr.Expr
	look  look
	as    expr.Unit
}

// subject is the board as queries, one for every figure.
func (b board) subject() subject {
	s := subject{title: b.title, means: b.means, wrong: b.wrong, noData: b.noData, perColumn: true}
	for _, f := range b.figures {
		s.queries = append(s.queries, query{expr: f.expr})
	}
	return s
}

// field returns the name that Grafana gives the values of a query.
func (b board) field(i int) string {
	if len(b.figures) == 1 {
		return "Value"
	}
	return "Value #" + string(rune('A'+i))
}

// transformations merge the answers into one table: lines that agree in all shared labels become one.
func (b board) transformations() []dashboard.DataTransformerConfig {
	order, titles, place := map[string]int{}, map[string]string{}, 0
	column := func(field, title string) {
		order[field], titles[field] = place, title
		place++
	}
	for _, k := range b.keys {
		column(string(k.label), k.title)
	}
	for i, f := range b.figures {
		column(b.field(i), f.title)
	}
	return []dashboard.DataTransformerConfig{
		{Id: "merge", Options: map[string]any{}},
		{Id: "organize", Options: map[string]any{"excludeByName": map[string]bool{"Time": true}, "indexByName": order, "renameByName": titles}},
	}
}

// strayLabels returns an error for labels of figures that are no keys: Grafana would make columns of them.
func (b board) strayLabels() error {
	var problems []error
	for _, f := range b.figures {
		for _, label := range f.expr.Labels() {
			if !slices.ContainsFunc(b.keys, func(k key) bool { return k.label == label }) {
				problems = append(problems, fmt.Errorf("%s: label %s of %s is no key", b.title, label, f.title))
			}
		}
	}
	return errors.Join(problems...)
}

// columns returns the overrides of the columns by their titles.
func (b board) columns() (titles []string, looks []look, err error) {
	for _, k := range b.keys {
		if len(k.look) > 0 {
			titles, looks = append(titles, k.title), append(looks, k.look)
		}
	}
	for _, f := range b.figures {
		unit, failed := subject{as: f.as}.unitOf(query{expr: f.expr})
		if failed != nil {
			return nil, nil, failed
		}
		look := append(look{{Id: "unit", Value: unit}}, f.look...)
		titles, looks = append(titles, f.title), append(looks, look)
	}
	return titles, looks, nil
}

// leastWidth is the default width of a column in pixels: with Grafana's own, 150, tables of more than eight columns do
// not fit a laptop.
const leastWidth = 64

// wrapped are the settings of a table's columns with texts in as many lines as they need, titles included. Grafana has
// read the last two from 12.2 on; the schema of the SDK is of 11.6.
type wrapped struct {
	*table.FieldConfig
	WrapText       bool `json:"wrapText"`
	WrapHeaderText bool `json:"wrapHeaderText"`
}

// wrap lets the texts of a table wrap; other panels stay as they are.
func wrap(p *dashboard.Panel) {
	if p.Type != "table" || p.FieldConfig == nil {
		return
	}
	if custom, is := p.FieldConfig.Defaults.Custom.(*table.FieldConfig); is {
		p.FieldConfig.Defaults.Custom = wrapped{custom, true, true}
	}
}

// list is the board as a table.
func list(b board) *table.PanelBuilder {
	built := furnish(table.NewPanelBuilder(), b.subject(), func(q *prometheus.DataqueryBuilder) {
		q.Instant().Format(prometheus.PromQueryFormatTable)
	}).
		ShowHeader(true).
		MinWidth(leastWidth).
		OverrideByRegexp(everyField, blank()).
		Footer(common.NewTableFooterOptionsBuilder().Show(false).Reducer([]string{})) // null unless set
	for _, t := range b.transformations() {
		built = built.WithTransformation(t)
	}
	titles, looks, err := b.columns()
	if err = errors.Join(err, b.strayLabels()); err != nil {
		return built.RecordError(b.title, err)
	}
	for i, title := range titles {
		built = built.OverrideByName(title, looks[i])
	}
	if b.sortBy != "" {
		built = built.SortBy([]cog.Builder[common.TableSortByFieldState]{common.NewTableSortByFieldStateBuilder().DisplayName(b.sortBy).Desc(b.desc)})
	}
	return built
}

// longestName is the length of the longest name of a bar: a model with its arm.
const longestName = 40

// bars is the board as groups of bars: a group for every value of the first key, a bar in it for every figure.
// All figures have one unit. Groups are in the order of the key.
func bars(b board) *barchart.PanelBuilder {
	s := b.subject()
	s.perColumn = false
	built := furnish(barchart.NewPanelBuilder(), s, func(q *prometheus.DataqueryBuilder) {
		q.Instant().Format(prometheus.PromQueryFormatTable)
	}).
		Legend(legend(common.LegendPlacementBottom)).
		Tooltip(tooltip()).
		ColorScheme(dashboard.NewFieldColorBuilder().Mode(dashboard.FieldColorModeIdPaletteClassic)).
		ShowValue(common.VisibilityModeNever).
		BarWidth(0.9).
		GroupWidth(0.8).
		FillOpacity(80).
		XTickLabelMaxLength(longestName).
		OverrideByRegexp(everyField, blank())
	if len(b.keys) == 0 {
		return built.RecordError(b.title, errNoKey)
	}
	for _, t := range b.transformations() {
		built = built.WithTransformation(t)
	}
	ascending := map[string]any{"sort": []any{map[string]any{"field": b.keys[0].title}}}
	built = built.WithTransformation(dashboard.DataTransformerConfig{Id: "sortBy", Options: ascending}).XField(b.keys[0].title)
	for _, f := range b.figures {
		if len(f.look) > 0 {
			built = built.OverrideByName(f.title, f.look)
		}
	}
	return built
}
