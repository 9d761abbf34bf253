package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
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
	l, err := fitLine(x, y, group)
	if err != nil {
		return TTest{}, err
	}
	return l.test(l.sd(), l.df)
}

// PairTrend tests whether the differences, b - a, of pairs depend on x, such as the time of each pair, after the mean of
// their group is subtracted from each. The difference is the slope. It needs three pairs more than there are groups.
//
// Where the pairs have nothing else in common, the sums of pairs around a line of their own have the spread of the
// differences: the test then has nearly twice the degrees of freedom. They count unless their variance differs from
// that of the differences at 5 % on its side (F).
func PairTrend(x, a, b []float64, group []bool) (TTest, error) {
	differences, _, err := differencesOf(a, b)
	if err != nil {
		return TTest{}, err
	}
	sums := make([]float64, len(a))
	for i := range a {
		sums[i] = a[i] + b[i]
	}
	l, err := fitLine(x, differences, group)
	if err != nil {
		return TTest{}, err
	}
	if l.df < 2 {
		return TTest{}, fmt.Errorf("%d pairs: %w", len(a), ErrTooFew)
	}
	if s, err := fitLine(x, sums, make([]bool, len(a))); err == nil && sameVariance(s, l) {
		sd, df := pooledResiduals(s, l)
		return l.test(sd, df)
	}
	return l.test(l.sd(), l.df)
}

// sameVariance reports whether the residuals of two lines may have one variance: neither is larger at 5 %.
func sameVariance(s, l lineFit) bool {
	const tail = 0.05
	ratio := distuv.F{D1: s.df, D2: l.df}
	f := s.sd() / l.sd() * (s.sd() / l.sd())
	return f >= ratio.Quantile(tail) && f <= ratio.Quantile(1-tail)
}

// TrendDifference tests whether b depends on its x by another slope than a: the difference is the slope of b minus that
// of a, each by least squares. It needs three values of each, and five in all.
func TrendDifference(xa, a, xb, b []float64) (TTest, error) {
	la, err := fitLine(xa, a, make([]bool, len(xa)))
	if err != nil {
		return TTest{}, err
	}
	lb, err := fitLine(xb, b, make([]bool, len(xb)))
	if err != nil {
		return TTest{}, err
	}
	sd, df := pooledResiduals(la, lb)
	se := sd * math.Hypot(1/(math.Sqrt(la.xx)*la.scale), 1/(math.Sqrt(lb.xx)*lb.scale))
	return slopeTest(lb.slope*lb.unit/lb.scale-la.slope*la.unit/la.scale, se, df)
}

// lineFit is a line through values whose group means are subtracted, both scaled to 1 so that no square overflows or
// vanishes.
type lineFit struct {
	scale, unit float64 // the largest x and y that are 1
	slope       float64
	xx, left    float64 // sums of squares of x and of the residuals of y
	df          float64
}

func fitLine(x, y []float64, group []bool) (lineFit, error) {
	if err := both(0, x, y); err != nil {
		return lineFit{}, err
	}
	if len(x) != len(y) || len(x) != len(group) {
		return lineFit{}, fmt.Errorf("%d, %d and %d groups: %w", len(x), len(y), len(group), ErrUnpaired)
	}
	rx, groups := withinGroups(x, group)
	ry, _ := withinGroups(y, group)
	l := lineFit{scale: farthest(rx), unit: farthest(ry), df: float64(len(x) - groups - 1)}
	if l.df < 1 {
		return lineFit{}, fmt.Errorf("%d of at least %d: %w", len(x), groups+2, ErrTooFew)
	}
	if isRounding(l.scale, farthest(x)) || isRounding(l.unit, farthest(y)) {
		return lineFit{}, ErrNoSpread
	}
	var xy float64
	for i := range rx {
		l.xx += rx[i] / l.scale * (rx[i] / l.scale)
		xy += rx[i] / l.scale * (ry[i] / l.unit)
	}
	l.slope = xy / l.xx
	for i := range rx {
		r := ry[i]/l.unit - l.slope*rx[i]/l.scale
		l.left += r * r
	}
	return l, nil
}

// sd returns the standard deviation of the residuals.
func (l lineFit) sd() float64 { return math.Sqrt(l.left/l.df) * l.unit }

// pooledResiduals returns the standard deviation of the residuals of two lines, and its degrees of freedom.
func pooledResiduals(a, b lineFit) (sd, df float64) {
	df = a.df + b.df
	return math.Hypot(math.Sqrt(a.left/df)*a.unit, math.Sqrt(b.left/df)*b.unit), df
}

// test tests the slope by a standard deviation of the residuals.
func (l lineFit) test(sd, df float64) (TTest, error) {
	// Values on a line leave only rounding errors: their standard error is limited by their digits.
	se := max(sd/math.Sqrt(l.xx), 0x1p-40*l.unit)
	return slopeTest(l.slope*l.unit/l.scale, se/l.scale, df)
}

func slopeTest(slope, se, df float64) (TTest, error) {
	t := slope / se
	if !usable(slope) || !usable(se) || !usable(t) || se == 0 {
		return TTest{}, fmt.Errorf("a slope of %v: %w", slope, ErrNotFinite)
	}
	return TTest{Difference: slope, SE: se, T: t, DF: df, P: probability(2 * tAbove(math.Abs(t), df))}, nil
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
