package stats

import (
	"errors"
	"math"
)

// driftBlocks is the largest number of blocks in which TrendInTime averages values: what values of one block have in
// common counts once.
const driftBlocks = 30

// TrendInTime is Trend for autocorrelated values, such as samples of one machine. Neighbours are averaged in at most 30
// blocks of equal size; standard error and degrees of freedom are those of the number of independent values that the
// blocks are worth by the lag-1 correlation of their residuals, corrected for its bias in so few values. It needs 12
// values.
func TrendInTime(seconds, values []float64) (TTest, error) {
	if err := both(12, seconds, values); err != nil {
		return TTest{}, err
	}
	if len(seconds) != len(values) {
		return TTest{}, ErrUnpaired
	}
	n := min(driftBlocks, len(values)/2)
	x, y := blockMeans(seconds, n), blockMeans(values, n)
	trend, err := Trend(x, y, make([]bool, n))
	if err != nil {
		return TTest{}, err
	}
	residuals := make([]float64, n)
	for i := range residuals {
		residuals[i] = y[i] - trend.Difference*x[i]
	}
	rho, err := Lag1(residuals)
	if err != nil && !errors.Is(err, ErrNoSpread) { // values on a line leave no residuals to correlate
		return TTest{}, err
	}
	rho += (1 + 4*rho) / float64(n)
	independent := max(EffectiveN(n, rho), 3) // the fewest values for which a slope has a spread
	trend.SE *= math.Sqrt(float64(n) / independent)
	trend.DF = independent - 2
	trend.T = trend.Difference / trend.SE
	trend.P = probability(2 * tAbove(math.Abs(trend.T), trend.DF))
	return trend, nil
}

// blockMeans returns the means of n runs of neighbours, whose lengths differ by one value at most.
func blockMeans(x []float64, n int) []float64 {
	means := make([]float64, n)
	for i := range means {
		block := x[i*len(x)/n : (i+1)*len(x)/n]
		means[i] = momentsOf(block).Mean
	}
	return means
}
