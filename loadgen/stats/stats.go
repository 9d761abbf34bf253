// Package stats has the statistics of comparisons of runs: moments, tests, intervals, effect sizes, power and checks of
// a sample. It is pure: numbers in, numbers out.
//
// With two samples, a is the baseline and b the candidate: a difference is b - a, and a share is of the pairs in which
// b is larger. Input that a method cannot handle returns one of the errors below; no result holds a p value of 0, a NaN
// or an infinity.
package stats

import (
	"errors"
	"fmt"
	"math"
)

var (
	// ErrTooFew is returned for a sample that is too small for the method.
	ErrTooFew = errors.New("too few values")
	// ErrNoSpread is returned for values that are all equal, up to the rounding of their sum.
	ErrNoSpread = errors.New("no spread: the values are all the same")
	// ErrNotFinite is returned for values that are not numbers, or too large for computations: above 1e150.
	ErrNotFinite = errors.New("not a finite number that can be computed with")
	// ErrNotPositive is returned for values that have no logarithm.
	ErrNotPositive = errors.New("a value is not above zero")
	// ErrUnpaired is returned for two samples of unequal length where pairs are needed.
	ErrUnpaired = errors.New("the samples are not of one length")
	// ErrRange is returned for a parameter outside of its range: a level of 2, a power of 0.
	ErrRange = errors.New("out of range")
)

// Interval is from Low to High, both included.
type Interval struct {
	Low, High float64
}

// Holds reports whether x is in the interval.
func (i Interval) Holds(x float64) bool { return i.Low <= x && x <= i.High }

// Inside reports whether the interval is in the open one from low to high.
func (i Interval) Inside(low, high float64) bool { return low < i.Low && i.High < high }

// leastP replaces every p value too small to differ from 0: a test never proves that something is impossible.
const leastP = 0x1p-1022

// probability keeps a p value above 0 and at most 1.
func probability(p float64) float64 { return min(max(p, leastP), 1) }

// normalAbove returns the probability that a normal value lies above z standard deviations. gonum's Survival is one
// minus the rest, which has no digit left beyond 8.
func normalAbove(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// largest is the size above which the square of a value may overflow.
const largest = 1e150

// usable reports whether a value can be used in computations.
func usable(v float64) bool { return math.Abs(v) <= largest } // false for NaN

// needs returns an error unless a sample has at least n values, all of them finite.
func needs(n int, x []float64) error {
	for i, v := range x {
		if !usable(v) {
			return fmt.Errorf("value %d of %d is %v: %w", i+1, len(x), v, ErrNotFinite)
		}
	}
	if len(x) < n {
		return fmt.Errorf("%d of at least %d: %w", len(x), n, ErrTooFew)
	}
	return nil
}

// both is needs for two samples.
func both(n int, a, b []float64) error {
	if err := needs(n, a); err != nil {
		return err
	}
	return needs(n, b)
}

// share returns an error unless a level, a power or an alpha is between 0 and 1, neither included.
func share(name string, v float64) error {
	if !(v > 0 && v < 1) {
		return fmt.Errorf("%s %v, not between 0 and 1: %w", name, v, ErrRange)
	}
	return nil
}

// Logs returns the natural logarithms of x, for an analysis of ratios: the difference of two means of logarithms is the
// logarithm of a ratio.
func Logs(x []float64) ([]float64, error) {
	if err := needs(0, x); err != nil {
		return nil, err
	}
	logs := make([]float64, len(x))
	for i, v := range x {
		if v <= 0 {
			return nil, fmt.Errorf("value %d of %d is %v: %w", i+1, len(x), v, ErrNotPositive)
		}
		logs[i] = math.Log(v)
	}
	return logs, nil
}
