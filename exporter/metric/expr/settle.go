package expr

import "github.com/umascope/umascope/exporter/metric"

// In sets the unit of series with the unit OfMetric, for matchers that keep metrics of that unit only, and of values
// without a unit, such as a number divided by a share.
func (e Expr) In(unit metric.Unit) Expr {
	if e.unit.known() && e.unit != (Unit{Base: metric.OfMetric}) {
		e = e.refused("", "is in %s, not in the unit of a metric", e.unit)
	}
	e.unit = Unit{Base: unit}
	return e
}

// OrZero is the expression, or 0 where it has no series. Use it for one series without labels: with several series the
// 0 would always be added.
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
