package expr

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/umascope/umascope/exporter/metric"
)

// Number is a constant.
func Number(value float64) Expr {
	e := Expr{parts: []part{{text: number(value)}}, scalar: true}
	if math.IsNaN(value) || math.IsInf(value, 0) {
		e = e.failed(fmt.Errorf("%v is no constant to compute with", value))
	}
	return e
}

// number writes a constant without an exponent, as people write thresholds.
func number(value float64) string { return strconv.FormatFloat(value, 'f', -1, 64) }

// errScalar is why a number cannot be used in place of series.
func errScalar(operation string) error { return errors.New(operation + " needs series, not a number") }

// class is a group of operators that treat values, units and labels alike.
type class int

const (
	additive class = iota
	product
	quotient
	comparison
	membership // and, or, unless: sets of series, not values
)

// Plus adds.
func (e Expr) Plus(other Expr, m ...Matching) Expr { return e.combine(additive, "+", other, m) }

// Minus subtracts.
func (e Expr) Minus(other Expr, m ...Matching) Expr { return e.combine(additive, "-", other, m) }

// Times multiplies.
func (e Expr) Times(other Expr, m ...Matching) Expr { return e.combine(product, "*", other, m) }

// DividedBy divides. Where the divisor can be 0, give it as divisor.Above(Number(0)).
func (e Expr) DividedBy(other Expr, m ...Matching) Expr { return e.combine(quotient, "/", other, m) }

// Above keeps values greater than the other's.
func (e Expr) Above(other Expr, m ...Matching) Expr { return e.combine(comparison, ">", other, m) }

// AtLeast keeps values not less than the other's.
func (e Expr) AtLeast(other Expr, m ...Matching) Expr { return e.combine(comparison, ">=", other, m) }

// Below keeps values less than the other's.
func (e Expr) Below(other Expr, m ...Matching) Expr { return e.combine(comparison, "<", other, m) }

// AtMost keeps values not greater than the other's.
func (e Expr) AtMost(other Expr, m ...Matching) Expr { return e.combine(comparison, "<=", other, m) }

// Equals keeps values equal to the other's.
func (e Expr) Equals(other Expr, m ...Matching) Expr { return e.combine(comparison, "==", other, m) }

// Differs keeps values that are not equal to the other's.
func (e Expr) Differs(other Expr, m ...Matching) Expr { return e.combine(comparison, "!=", other, m) }

// And keeps series that the other has too.
func (e Expr) And(other Expr, m ...Matching) Expr { return e.combine(membership, "and", other, m) }

// Or adds the other's series that e does not have.
func (e Expr) Or(other Expr, m ...Matching) Expr { return e.combine(membership, "or", other, m) }

// Unless keeps series that the other does not have.
func (e Expr) Unless(other Expr, m ...Matching) Expr {
	return e.combine(membership, "unless", other, m)
}

// combine writes a binary operation and derives unit, labels and addends of its result.
func (e Expr) combine(c class, operator string, other Expr, given []Matching) Expr {
	m, err := oneMatching(given)
	result := Expr{
		parts:      slices.Concat(e.operand(), []part{{text: " " + operator}}, m.written(), []part{{text: " "}}, other.operand()),
		scalar:     e.scalar && other.scalar,
		loose:      true,
		labels:     resultLabels(c, operator, e, other, m),
		addends:    resultAddends(c, operator, e, other),
		percentile: e.percentile || (other.percentile && (c != membership || operator == "or")),
		unit:       resultUnit(c, operator, e, other),
		err:        errors.Join(e.Err(), other.Err(), err, checkMatching(c, m, e, other), checkKinds(c, operator, e, other)),
	}
	sameUnit := c == additive || c == comparison || operator == "or"
	if sameUnit && e.unit.known() && other.unit.known() && e.unit != other.unit {
		result = result.refused("", "%s %s %s", e.unit, operator, other.unit)
	}
	return result
}

// checkKinds refuses operations that PromQL does not allow on numbers.
func checkKinds(c class, operator string, e, other Expr) error {
	if c == membership && (e.scalar || other.scalar) {
		return errScalar(operator)
	}
	if c == comparison && e.scalar && other.scalar {
		return errScalar(operator)
	}
	return nil
}

// resultUnit is the unit of a binary operation; a number takes that of the other side, and the difference of two times
// is in seconds.
func resultUnit(c class, operator string, e, other Expr) Unit {
	moment := Unit{Base: metric.Timestamp}
	switch {
	case operator == "-" && e.unit == moment && other.unit == moment:
		return Unit{Base: metric.Seconds}
	case other.scalar:
		return e.unit
	case e.scalar && c == quotient:
		return Unit{}
	case e.scalar:
		return other.unit
	case c == product:
		return e.unit.times(other.unit)
	case c == quotient:
		return e.unit.per(other.unit)
	default:
		return e.unit
	}
}

// resultAddends are the addends of a sum over a binary operation.
func resultAddends(c class, operator string, e, other Expr) []addend {
	switch {
	case other.scalar, c == comparison && !e.scalar, c == membership && operator != "or":
		return e.addends
	case e.scalar && c != quotient:
		return other.addends
	case c == additive, operator == "or":
		return slices.Concat(e.addends, other.addends)
	case other.unit.marks():
		return e.addends
	case c == product && e.unit.marks():
		return other.addends
	default:
		return []addend{{family: Expr{parts: slices.Concat(e.parts, other.parts)}.families(), rule: metric.SumNever()}}
	}
}
