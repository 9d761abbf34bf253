package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"
)

// rangeSeries is a series of the result of a range query.
type rangeSeries struct {
	Labels map[string]string
	Points []rangePoint
}

// rangePoint is a value at a time.
type rangePoint struct {
	At    time.Time
	Value float64
}

// mostPoints is the limit of points per series of a result, the same as Prometheus'.
const mostPoints = 11_000

// rangeQuery prepares a query over a range, both ends included.
func (s *timeline) rangeQuery(ctx context.Context, query string, from, to time.Time, step time.Duration) (promql.Query, error) {
	switch {
	case step < time.Millisecond:
		return nil, fmt.Errorf("a step of %s: want a millisecond or more", step)
	case to.Before(from):
		return nil, fmt.Errorf("the end %s is before the start %s", clock(to), clock(from))
	case to.Sub(from)/step > mostPoints:
		return nil, fmt.Errorf("%s in steps of %s are more than %d points", to.Sub(from), step, mostPoints)
	}
	return s.engine.NewRangeQuery(ctx, s.database, nil, query, from, to, step)
}

// Range queries values over a range, both ends included. A native histogram has no single value: query a quantile.
func (s *timeline) Range(ctx context.Context, query string, from, to time.Time, step time.Duration) ([]rangeSeries, error) {
	done, err := s.use()
	if err != nil {
		return nil, err
	}
	defer done()
	asked, err := s.rangeQuery(ctx, query, from, to, step)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	defer asked.Close()
	matrix, err := asked.Exec(ctx).Matrix()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", query, err)
	}
	all := make([]rangeSeries, 0, len(matrix))
	for _, one := range matrix {
		if len(one.Histograms) > 0 {
			return nil, fmt.Errorf("%s: %s is a histogram", query, one.Metric)
		}
		all = append(all, rangeSeries{Labels: one.Metric.Map(), Points: points(one.Floats)})
	}
	return all, nil
}

func points(floats []promql.FPoint) []rangePoint {
	all := make([]rangePoint, 0, len(floats))
	for _, f := range floats {
		all = append(all, rangePoint{At: model.Time(f.T).Time().UTC(), Value: f.F})
	}
	return all
}
