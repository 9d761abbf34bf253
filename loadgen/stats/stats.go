// Package stats is the statistics that comparisons of runs stand on: moments, tests, intervals, effect
// sizes, power and what speaks against a sample. It is pure: numbers in, numbers out.
//
// Where two samples are taken, a is the baseline and b what is set against it: a difference is b - a,
// and a share is of the pairs in which b is the larger. Input that a method cannot answer for gives one
// of the errors below; no result holds a p value of 0, a NaN or an infinity.
package stats

import (
	"errors"
	"fmt"
	"math"
)

var (
	// ErrTooFew is of a sample too small for what is asked of it.
	ErrTooFew = errors.New("too few values")
	// ErrNoSpread is of values that are all the same, up to the rounding of their sum.
	ErrNoSpread = errors.New("no spread: the values are all the same")
	// ErrNotFinite is of values that are not numbers, or too large to be computed with: above 1e150.
	ErrNotFinite = errors.New("not a finite number that can be computed with")
	// ErrNotPositive is of values that have no logarithm.
	ErrNotPositive = errors.New("a value is not above zero")
	// ErrUnpaired is of two samples of which not every value has its partner.
	ErrUnpaired = errors.New("the samples are not of one length")
	// ErrRange is of a parameter outside of what makes sense: a level of 2, a power of 0.
	ErrRange = errors.New("out of range")
)

// Interval is from Low to High, both ends in it.
type Interval struct {
	Low, High float64
}

// Holds says whether x lies in the interval.
func (i Interval) Holds(x float64) bool { return i.Low <= x && x <= i.High }

// Inside says whether the interval lies in the open one from low to high.
func (i Interval) Inside(low, high float64) bool { return low < i.Low && i.High < high }

// leastP stands for every p value too small to be told from 0: a test never says impossible.
const leastP = 0x1p-1022

// probability keeps a p value above 0 and at most 1.
func probability(p float64) float64 { return min(max(p, leastP), 1) }

// normalAbove is how likely a normal value lies above z standard deviations. gonum's Survival is one less the
// rest, which has no digit left beyond 8.
func normalAbove(z float64) float64 { return math.Erfc(z/math.Sqrt2) / 2 }

// largest is the size above which the square of a value is none.
const largest = 1e150

// usable says whether a value can be computed with.
func usable(v float64) bool { return math.Abs(v) <= largest } // not so of NaN

// needs says whether a sample has at least n values, all of them finite.
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

// share says whether a level, a power or an alpha is between 0 and 1, neither included.
func share(name string, v float64) error {
	if !(v > 0 && v < 1) {
		return fmt.Errorf("%s %v, not between 0 and 1: %w", name, v, ErrRange)
	}
	return nil
}

// Logs are the natural logarithms of x, for an analysis of ratios: the difference of two means of
// logarithms is the logarithm of a ratio.
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
