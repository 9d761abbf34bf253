package stats

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Normality is the test of Shapiro and Wilk.
type Normality struct {
	W float64 // 1 for a perfectly normal sample
	P float64
}

// mostNormal is the largest sample for which Royston's approximation is valid.
const mostNormal = 5000

// ShapiroWilk tests whether 3 to 5,000 values may be of a normal distribution, by Royston's approximation (algorithm AS
// R94). gonum has none.
func ShapiroWilk(x []float64) (Normality, error) {
	if err := needs(3, x); err != nil {
		return Normality{}, err
	}
	if len(x) > mostNormal {
		return Normality{}, fmt.Errorf("%d values, at most %d: %w", len(x), mostNormal, ErrRange)
	}
	m := momentsOf(x)
	if m.SD == 0 {
		return Normality{}, ErrNoSpread
	}
	sorted := slices.Sorted(slices.Values(x))
	weighted, squares := 0.0, 0.0
	for i, weight := range shapiroWeights(len(x)) {
		z := (sorted[i] - m.Mean) / m.SD
		weighted += weight * z
		squares += z * z
	}
	w := min(weighted*weighted/squares, 1)
	return Normality{W: w, P: probability(shapiroP(w, len(x)))}, nil
}

// shapiroWeights returns the weights of the ascending values: about the expected order statistics of a normal sample,
// scaled to length 1, with polynomials for the two at each end.
func shapiroWeights(n int) []float64 {
	weights := make([]float64, n)
	if n == 3 {
		weights[0], weights[2] = -math.Sqrt(.5), math.Sqrt(.5)
		return weights
	}
	length := 0.0
	for i := range weights {
		weights[i] = distuv.UnitNormal.Quantile((float64(i+1) - .375) / (float64(n) + .25))
		length += weights[i] * weights[i]
	}
	root := 1 / math.Sqrt(float64(n))
	last := weights[n-1]/math.Sqrt(length) +
		polynomial(root, 0, .221157, -.147981, -2.07119, 4.434685, -2.706056)
	ends := []float64{last}
	left := length - 2*weights[n-1]*weights[n-1]
	taken := 2 * last * last
	if n > 5 {
		second := weights[n-2]/math.Sqrt(length) +
			polynomial(root, 0, .042981, -.293762, -1.752461, 5.682633, -3.582633)
		ends = append(ends, second)
		left -= 2 * weights[n-2] * weights[n-2]
		taken += 2 * second * second
	}
	scale := math.Sqrt(left / (1 - taken))
	for i := range weights {
		weights[i] /= scale
	}
	for i, end := range ends {
		weights[n-1-i], weights[i] = end, -end
	}
	return weights
}

// shapiroP returns the probability that a normal sample has a W as small.
func shapiroP(w float64, n int) float64 {
	size := float64(n)
	if n == 3 { // exact
		return max(6/math.Pi*(math.Asin(math.Sqrt(w))-math.Asin(math.Sqrt(.75))), 0)
	}
	y := math.Log1p(-w)
	if n <= 11 {
		bound := polynomial(size, -2.273, .459)
		if y >= bound {
			return 0
		}
		y = -math.Log(bound - y)
		mean := polynomial(size, .544, -.39978, .025054, -.0006714)
		sd := math.Exp(polynomial(size, 1.3822, -.77857, .062767, -.0020322))
		return normalAbove((y - mean) / sd)
	}
	logN := math.Log(size)
	mean := polynomial(logN, -1.5861, -.31082, -.083751, .0038915)
	sd := math.Exp(polynomial(logN, -.4803, -.082676, .0030302))
	return normalAbove((y - mean) / sd)
}

// polynomial is c0 + c1 x + c2 x² and so on.
func polynomial(x float64, coefficients ...float64) float64 {
	sum := 0.0
	for _, c := range slices.Backward(coefficients) {
		sum = sum*x + c
	}
	return sum
}
