package expr

import "github.com/umascope/umascope/exporter/metric"

// Clamp keeps values within two bounds.
func (e Expr) Clamp(low, high float64) Expr { return e.call("clamp", low, high) }

// ClampMin raises values to at least the bound.
func (e Expr) ClampMin(low float64) Expr { return e.call("clamp_min", low) }

// ClampMax lowers values to at most the bound.
func (e Expr) ClampMax(high float64) Expr { return e.call("clamp_max", high) }

// Rounded rounds to whole multiples of a step.
func (e Expr) Rounded(step float64) Expr { return e.call("round", step) }

// call applies a function of a vector and numbers.
func (e Expr) call(function string, arguments ...float64) Expr {
	if e.scalar {
		e = e.failed(errScalar(function))
	}
	after := ")"
	for i := len(arguments) - 1; i >= 0; i-- {
		after = ", " + number(arguments[i]) + after
	}
	return e.wrapped(function+"(", after)
}

// Abs is the values without their signs.
func (e Expr) Abs() Expr { return e.call("abs") }

// Labelled gives every series a label of a fixed value, in place of one that it may have.
func (e Expr) Labelled(label metric.Label, value string) Expr {
	if e.scalar {
		e = e.failed(errScalar("label_replace"))
	}
	return e.replaced(label, value, "", "")
}

// One is 1, a series without labels that is always there.
func One() Expr {
	return Expr{parts: []part{{text: "vector(1)"}}, unit: Unit{Base: metric.State}, addends: []addend{{family: "vector(1)", rule: metric.SumNever()}}}
}

// Age is how many seconds ago the times in the values of a series are.
func (e Expr) Age() Expr {
	if e.unit != (Unit{Base: metric.Timestamp}) {
		e = e.refused("", "an age is of a time, not of %s", e.unit)
	}
	e = e.wrapped("time() - (", ")")
	e.loose, e.unit = true, Unit{Base: metric.Seconds}
	return e
}

// Milliseconds is a time as Grafana's links and tables want it.
func (e Expr) Milliseconds() Expr {
	if e.unit != (Unit{Base: metric.Timestamp}) {
		e = e.refused("", "milliseconds since 1970 are of a time, not of %s", e.unit)
	}
	return e.Times(Number(1000))
}

// DuringRuns keeps host series while a run lasts on that host and lends them its run and arm.
// Host series never carry these labels themselves: each run would be a full new set of series.
func (e Expr) DuringRuns(matchers ...Matcher) Expr {
	active := Select(metric.RunActive, matchers...).Equals(Number(1))
	runs := active.Max(By(metric.LabelHost, metric.LabelRun, metric.LabelArm))
	return e.Times(runs, On(metric.LabelHost).GroupLeft(metric.LabelRun, metric.LabelArm))
}
