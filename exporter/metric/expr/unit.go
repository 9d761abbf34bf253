package expr

import "github.com/umascope/umascope/exporter/metric"

// Unit is the unit of an expression's values: a base unit of the vocabulary, or that per second.
type Unit struct {
	Base      metric.Unit // "" if it is not in the vocabulary
	PerSecond bool
}

// String names the unit, for messages.
func (u Unit) String() string {
	switch {
	case u.Base == "":
		return "unknown unit"
	case u.PerSecond:
		return string(u.Base) + " per second"
	default:
		return string(u.Base)
	}
}

// known reports whether the unit has been set.
func (u Unit) known() bool { return u.Base != "" }

// marks reports whether the values are 1 by definition, so that a product with them only selects series or lends
// labels.
func (u Unit) marks() bool {
	return !u.PerSecond && (u.Base == metric.State || u.Base == metric.Info)
}

// times is the unit of a product.
func (u Unit) times(other Unit) Unit {
	switch {
	case other.marks(): // of two marks that of the left is kept
		return u
	case u.marks():
		return other
	case u == (Unit{Base: metric.Ratio}):
		return other
	case other == (Unit{Base: metric.Ratio}):
		return u
	default:
		return Unit{}
	}
}

// per is the unit of a quotient.
func (u Unit) per(other Unit) Unit {
	switch {
	case u.known() && u == other:
		return Unit{Base: metric.Ratio}
	case other.marks(), other == (Unit{Base: metric.Ratio}):
		return u
	default:
		return Unit{}
	}
}
