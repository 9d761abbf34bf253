package stats

import (
	"fmt"
	"math"
)

// BalancedPairs tests the differences, b - a, of pairs that were made in two orders; aFirst is true for the pairs in
// which a came first. The difference is the mean of the means of the two halves, so that a linear drift cancels (ABBA);
// the spread is that within the halves, with n - 2 degrees of freedom. Each half needs two pairs.
func BalancedPairs(a, b []float64, aFirst []bool) (TTest, error) {
	differences, size, err := differencesOf(a, b)
	if err != nil {
		return TTest{}, err
	}
	if len(aFirst) != len(a) {
		return TTest{}, fmt.Errorf("%d orders of %d pairs: %w", len(aFirst), len(a), ErrUnpaired)
	}
	var first, second []float64
	for i, d := range differences {
		if aFirst[i] {
			first = append(first, d)
		} else {
			second = append(second, d)
		}
	}
	x, err := MomentsOf(first)
	if err != nil {
		return TTest{}, err
	}
	y, err := MomentsOf(second)
	if err != nil {
		return TTest{}, err
	}
	se := pooledSD(x, y) * math.Sqrt(1/float64(x.N)+1/float64(y.N)) / 2
	return tTest((x.Mean+y.Mean)/2, se, float64(x.N+y.N-2), size, size)
}

// differencesOf returns b - a of each pair, and the size of the largest value.
func differencesOf(a, b []float64) (differences []float64, size float64, err error) {
	if err := both(0, a, b); err != nil {
		return nil, 0, err
	}
	if len(a) != len(b) {
		return nil, 0, fmt.Errorf("%d and %d: %w", len(a), len(b), ErrUnpaired)
	}
	differences = make([]float64, len(a))
	for i := range a {
		differences[i] = b[i] - a[i]
		size = max(size, math.Abs(a[i]), math.Abs(b[i]))
	}
	return differences, size, nil
}

// Trend tests whether y depends on x after the mean of its group is subtracted from each: the slope of the residuals,
// by least squares. The difference is the slope. It needs two values more than there are groups, of which one or two
// are allowed.
func Trend(x, y []float64, group []bool) (TTest, error) {
	if err := both(0, x, y); err != nil {
		return TTest{}, err
	}
	if len(x) != len(y) || len(x) != len(group) {
		return TTest{}, fmt.Errorf("%d, %d and %d groups: %w", len(x), len(y), len(group), ErrUnpaired)
	}
	rx, groups := withinGroups(x, group)
	ry, _ := withinGroups(y, group)
	df := float64(len(x) - groups - 1)
	if df < 1 {
		return TTest{}, fmt.Errorf("%d of at least %d: %w", len(x), groups+2, ErrTooFew)
	}
	scaleX, scaleY := farthest(rx), farthest(ry)
	if isRounding(scaleX, farthest(x)) || isRounding(scaleY, farthest(y)) {
		return TTest{}, ErrNoSpread
	}
	var xx, xy float64
	for i := range rx { // scaled to 1, so that no square overflows or vanishes
		xx += rx[i] / scaleX * (rx[i] / scaleX)
		xy += rx[i] / scaleX * (ry[i] / scaleY)
	}
	slope, left := xy/xx, 0.0
	for i := range rx {
		r := ry[i]/scaleY - slope*rx[i]/scaleX
		left += r * r
	}
	// Values on a line leave only rounding errors: their standard error is limited by their digits.
	se := max(math.Sqrt(left/df/xx), 0x1p-40)
	t := slope / se
	unit := scaleY / scaleX
	trend := TTest{Difference: slope * unit, SE: se * unit, T: t, DF: df, P: probability(2 * tAbove(math.Abs(t), df))}
	if !usable(trend.Difference) || !usable(trend.SE) || trend.SE == 0 {
		return TTest{}, fmt.Errorf("a slope of %v: %w", trend.Difference, ErrNotFinite)
	}
	return trend, nil
}

// withinGroups returns the values minus the mean of their group, and the number of groups with values.
func withinGroups(x []float64, group []bool) (residuals []float64, groups int) {
	residuals = make([]float64, len(x))
	for _, which := range []bool{false, true} {
		var own []float64
		for i, v := range x {
			if group[i] == which {
				own = append(own, v)
			}
		}
		if len(own) == 0 {
			continue
		}
		groups++
		mean := momentsOf(own).Mean
		for i, v := range x {
			if group[i] == which {
				residuals[i] = v - mean
			}
		}
	}
	return residuals, groups
}

// farthest returns the size of the value that is farthest from 0.
func farthest(x []float64) float64 {
	most := 0.0
	for _, v := range x {
		most = max(most, math.Abs(v))
	}
	return most
}
