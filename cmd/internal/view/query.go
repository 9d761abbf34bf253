package view

import (
	"context"
	"slices"
	"time"

	"github.com/prometheus/prometheus/promql"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// pageQueryTimeout bounds the queries of one page.
const pageQueryTimeout = 5 * time.Second

// A sample of the present is at most this old, in time and in scrapes. The five minutes of Prometheus are for graphs: while this
// program was down, a run may have ended, or a machine got another name, without a mark of staleness.
const (
	presentTime    = 20 * time.Second
	presentScrapes = 4
)

// now returns the series of an expression at the present.
func (d *database) now(ctx context.Context, e expr.Expr) (promql.Vector, error) {
	return d.at(ctx, e, time.Now())
}

// at returns the series of an expression that were present at a moment.
func (d *database) at(ctx context.Context, e expr.Expr, moment time.Time) (promql.Vector, error) {
	options := promql.NewPrometheusQueryOpts(false, max(presentTime, presentScrapes*time.Duration(d.config.GlobalConfig.ScrapeInterval)))
	query, err := d.engine.NewInstantQuery(ctx, d.local, options, e.String(), moment)
	if err != nil {
		return nil, err
	}
	defer query.Close()
	found, err := query.Exec(ctx).Vector()
	return slices.Clone(found), err
}

// label returns the value of a label of a series.
func label(s promql.Sample, name metric.Label) string { return s.Metric.Get(string(name)) }
