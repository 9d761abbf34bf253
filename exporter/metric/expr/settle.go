package expr

import "github.com/umascope/umascope/exporter/metric"

// In says what the unit is of series whose unit is that of the metric they are about, where matchers keep
// metrics of that unit only.
func (e Expr) In(unit metric.Unit) Expr {
	if e.unit != (Unit{Base: metric.OfMetric}) {
		e = e.refused("", "is in %s, not in the unit of a metric", e.unit)
	}
	e.unit = Unit{Base: unit}
	return e
}

// OrZero is the expression, or 0 where it has no series. It is of one series without labels: beside others the
// 0 would always stand.
func (e Expr) OrZero() Expr {
	if e.scalar {
		e = e.failed(errScalar("or"))
	}
	if len(e.labels) > 0 {
		e = e.refused("", "0 would stand beside series with labels")
	}
	e = e.wrapped("(", ") or vector(0)")
	e.loose = true
	return e
}
