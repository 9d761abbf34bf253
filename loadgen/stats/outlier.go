package stats

import (
	"fmt"
	"math"
)

// GrubbsTest tests the value farthest from the mean.
type GrubbsTest struct {
	At       int     // its index in the sample
	G        float64 // its distance, in standard deviations
	Critical float64
	// Outlier is true if G is above Critical, which a normal sample exceeds with probability alpha only.
	Outlier bool
}

// LeastForOutlier is the smallest sample that is tested. Of three values, Grubbs calls one an outlier just when the
// other two are closer than a thirtieth of the way to it: 60, 60 and 61 degrees, which is rounding. The modified z does
// when they are closer than a fifth, which happens by chance in 29 of 100.
const LeastForOutlier = 4

// Grubbs tests at least four values for one outlier, two-sided.
func Grubbs(x []float64, alpha float64) (GrubbsTest, error) {
	if err := share("alpha", alpha); err != nil {
		return GrubbsTest{}, err
	}
	if err := needs(LeastForOutlier, x); err != nil {
		return GrubbsTest{}, err
	}
	m := momentsOf(x)
	if m.SD == 0 {
		return GrubbsTest{}, ErrNoSpread
	}
	var t GrubbsTest
	for i, v := range x {
		if g := math.Abs(v-m.Mean) / m.SD; g > t.G {
			t.At, t.G = i, g
		}
	}
	t.Critical = grubbsCritical(len(x), alpha)
	t.Outlier = t.G > t.Critical
	return t, nil
}

// grubbsCritical is two-sided; one side at alpha is both at twice that.
func grubbsCritical(n int, alpha float64) float64 {
	size := float64(n)
	t := -tQuantile(alpha/(2*size), size-2)
	// In parts: the square of t overflows for extremely small alpha.
	return (size - 1) / math.Sqrt(size) / math.Sqrt((size-2)/t/t+1)
}

// OutlyingZ is the modified z from which on a value counts as an outlier (Iglewicz and Hoaglin).
const OutlyingZ = 3.5

// ModifiedZ returns the distance of each of at least four values from the median, in units of the median of these
// distances: an outlier does not hide itself by widening the spread. If half of the values or more are equal, there is
// no such spread. By chance alone it finds an outlier in 21 of 100 normal samples of five, 13 of ten and 9 of thirty;
// Grubbs at 5 % in 5.
func ModifiedZ(x []float64) ([]float64, error) {
	if err := needs(LeastForOutlier, x); err != nil {
		return nil, err
	}
	median := Median(x)
	distances := make([]float64, len(x))
	for i, v := range x {
		distances[i] = math.Abs(v - median)
	}
	mad := Median(distances)
	if mad == 0 || isRounding(mad, median) {
		return nil, ErrNoSpread
	}
	z := make([]float64, len(x))
	for i, v := range x {
		if z[i] = 0.6745 * ((v - median) / mad); math.IsInf(z[i], 0) || math.IsNaN(z[i]) {
			return nil, fmt.Errorf("the values are too large: %w", ErrNotFinite)
		}
	}
	return z, nil
}
