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

// now returns the series of an expression at the present.
func (d *database) now(ctx context.Context, e expr.Expr) (promql.Vector, error) {
	query, err := d.engine.NewInstantQuery(ctx, d.local, nil, e.String(), time.Now())
	if err != nil {
		return nil, err
	}
	defer query.Close()
	found, err := query.Exec(ctx).Vector()
	return slices.Clone(found), err
}

// label returns the value of a label of a series.
func label(s promql.Sample, name metric.Label) string { return s.Metric.Get(string(name)) }
