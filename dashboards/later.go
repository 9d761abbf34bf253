package dashboards

import (
	"fmt"
	"slices"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/barchart"
	"github.com/grafana/grafana-foundation-sdk/go/table"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// What uma-load serve tells of a run is there from the end of the run on, and of a comparison from when it was saved.
// Curves are of the time before. A page that shows both, in the time of the run, takes what serve tells from later.

// laterName is the variable that holds by how many seconds: below zero, into what comes after the end of the time
// range.
const laterName = "later"

// How far after the end of the time range serve is looked for, and how closely.
const (
	latest  = 90 * 24 * time.Hour
	closely = time.Minute
)

// later is the variable. Pages that look at what serve tells have it before the others.
func later() variable { return worked(laterName, untilServed()) }

// untilServed is the time from when serve was scraped last, within reach, to the end of the time range; 0 if that is
// now, or serve is gone.
func untilServed() expr.Expr {
	shown := expr.Is(metric.LabelState, metric.ResultsShown)
	return expr.LastScraped(metric.ResultsRuns, expr.Over(latest), expr.Over(closely), shown).Offset(-latest).
		Max(expr.By()).Age().ClampMax(0).OrZero()
}

// servedList and servedBars show a board of what serve tells, servedLater is a subject of it.
func servedList(b board) *table.PanelBuilder { return list(b.later()) }

func servedBars(b board) *barchart.PanelBuilder { return bars(b.later()) }

func (b board) later() board {
	b.figures = slices.Clone(b.figures)
	for i, f := range b.figures {
		b.figures[i].expr = f.expr.OffsetBy(laterName)
	}
	return b
}

func servedLater(s subject) subject {
	s.queries = slices.Clone(s.queries)
	for i, q := range s.queries {
		s.queries[i].expr = q.expr.OffsetBy(laterName)
	}
	return s
}

// choiceServed lets one value of a label be chosen, of the series that serve tells of later; choicesServed several.
// They are asked for by their present values, because Grafana lists the values of a label of the time range only.
func choiceServed(name, label string, of expr.Expr, values metric.Label) choosable {
	return servedValues(choice(name, label, of, values), of, values)
}

func choicesServed(name, label string, of expr.Expr, values metric.Label) choosable {
	return servedValues(choices(name, label, of, values), of, values)
}

func servedValues(built choosable, of expr.Expr, values metric.Label) choosable {
	query := fmt.Sprintf("query_result(%s)", of.Max(expr.By(values)).OffsetBy(laterName))
	return asking(built, query).Regex(fmt.Sprintf(`/%s="([^"]*)"/`, values))
}
