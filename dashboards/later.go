package dashboards

import (
	"slices"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/barchart"
	"github.com/grafana/grafana-foundation-sdk/go/table"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// uma-load serve exports a run from its end on, and a comparison from when it was saved. Curves are of the time before.
// A page that shows both, in the time range of the run, reads the series of serve at a later time.

// laterName is the variable with that offset in seconds: below zero, after the end of the time range.
const laterName = "later"

// How far after the end of the time range series of serve are searched, and in which steps.
const (
	latest = 400 * 24 * time.Hour
	// A step sees what was scraped up to Prometheus' 5 minutes before it.
	closely = 4 * time.Minute
)

// scraped is added to the time of the last scrape: Grafana asks for whole seconds, and what a scrape brings begins with it.
const scraped = 2 * time.Second

// later returns the variable.
func later() variable { return worked(laterName, untilServed()) }

// untilServed is the time from the last scrape of serve, within reach, to the end of the time range; 0 if that is now,
// or serve is gone.
func untilServed() expr.Expr {
	shown := expr.Is(metric.LabelState, metric.ResultsShown)
	return expr.LastScraped(metric.ResultsRuns, expr.Over(latest), expr.Over(closely), shown).Offset(-latest).
		Max(expr.By()).Age().Minus(expr.Number(scraped.Seconds())).ClampMax(0).OrZero()
}

// servedList and servedBars show a board of series of serve, servedLater is a subject of them.
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

// choiceServed is a variable for one value of a label, of the series that serve exports later; choicesServed for
// several.
func choiceServed(name, label string, of expr.Expr, values metric.Label) choosable {
	return servedValues(choice(name, label, of, values), of, values)
}

func choicesServed(name, label string, of expr.Expr, values metric.Label) choosable {
	return servedValues(choices(name, label, of, values), of, values)
}

func servedValues(built choosable, of expr.Expr, values metric.Label) choosable {
	return resulting(built, of.Max(expr.By(values)).OffsetBy(laterName), values)
}
