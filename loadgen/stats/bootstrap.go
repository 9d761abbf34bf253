package stats

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Bootstrap is an interval from resampled runs, with all inputs of its recomputation.
type Bootstrap struct {
	Interval
	Estimate     float64 // of the original samples
	Resamples    int
	Seed         uint64
	Bias         float64 // z0 of Efron
	Acceleration float64
}

// leastResamples is the number of resamples below which the ends of an interval have no meaning.
const leastResamples = 99

// BCa returns the bias-corrected and accelerated bootstrap interval of a figure of two samples, such as the ratio of
// their medians; runs are drawn within each sample. 9,999 resamples are usual. With ten values or fewer its coverage is
// below its level: it complements Welch's interval and does not replace it.
func BCa(a, b []float64, figure func(a, b []float64) float64, resamples int, level float64, seed uint64) (Bootstrap, error) {
	if err := share("level", level); err != nil {
		return Bootstrap{}, err
	}
	if err := both(2, a, b); err != nil {
		return Bootstrap{}, err
	}
	if resamples < leastResamples {
		return Bootstrap{}, fmt.Errorf("%d resamples: %w", resamples, ErrRange)
	}
	r := Bootstrap{Estimate: figure(a, b), Resamples: resamples, Seed: seed}
	drawn := resampled(a, b, figure, resamples, seed)
	if err := needs(1, append(drawn, r.Estimate)); err != nil {
		return Bootstrap{}, fmt.Errorf("the figure of a resample: %w", err)
	}
	slices.Sort(drawn)
	if isRounding(drawn[resamples-1]-drawn[0], r.Estimate) {
		return Bootstrap{}, ErrNoSpread
	}
	acceleration, err := acceleration(a, b, figure)
	if err != nil {
		return Bootstrap{}, err
	}
	r.Acceleration = acceleration
	r.Bias = distuv.UnitNormal.Quantile(shareBelow(drawn, r.Estimate))
	end := func(p float64) float64 {
		z := r.Bias + distuv.UnitNormal.Quantile(p)
		return Quantile(drawn, distuv.UnitNormal.CDF(r.Bias+z/(1-r.Acceleration*z)))
	}
	r.Interval = Interval{Low: end((1 - level) / 2), High: end((1 + level) / 2)}
	return r, nil
}

// resampled draws each sample with replacement, and returns the figures.
func resampled(a, b []float64, figure func(a, b []float64) float64, times int, seed uint64) []float64 {
	random := rand.New(rand.NewPCG(seed, 0))
	draw := func(to, from []float64) {
		for i := range to {
			to[i] = from[random.IntN(len(from))]
		}
	}
	ra, rb := make([]float64, len(a)), make([]float64, len(b))
	figures := make([]float64, times, times+1)
	for i := range figures {
		draw(ra, a)
		draw(rb, b)
		figures[i] = figure(ra, rb)
	}
	return figures
}

// shareBelow returns the share of the drawn figures below the estimate; equal ones count half. It stays off 0 and 1,
// which no finite number of draws can show.
func shareBelow(sorted []float64, estimate float64) float64 {
	below, _ := slices.BinarySearch(sorted, estimate)
	notAbove := below
	for notAbove < len(sorted) && sorted[notAbove] == estimate {
		notAbove++
	}
	n := float64(len(sorted))
	return min(max(float64(below+notAbove)/(2*n), .5/n), 1-.5/n)
}

// acceleration returns how fast the spread of the figure changes with the figure, by leaving out one value at a time;
// of two samples, each with its own weight.
func acceleration(a, b []float64, figure func(a, b []float64) float64) (float64, error) {
	ofA := leftOut(a, func(rest []float64) float64 { return figure(rest, b) })
	ofB := leftOut(b, func(rest []float64) float64 { return figure(a, rest) })
	cubes, squares := 0.0, 0.0
	for _, influences := range [][]float64{ofA, ofB} {
		if err := needs(1, influences); err != nil {
			return 0, fmt.Errorf("the figure without a value: %w", err)
		}
		for _, u := range influences {
			squares += u * u
			cubes += u * u * u
		}
	}
	if squares == 0 {
		return 0, nil
	}
	value := cubes / (6 * math.Pow(squares, 1.5))
	if math.IsNaN(value) || math.IsInf(value, 0) {
		return 0, ErrNotFinite
	}
	return value, nil
}

// leftOut returns the influence of each value on the figure: the mean of the figures without one value, minus that
// without this one, times the share of a value.
func leftOut(x []float64, figure func(rest []float64) float64) []float64 {
	n, mean := float64(len(x)), 0.0
	without := make([]float64, len(x))
	for i := range x {
		without[i] = figure(slices.Concat(x[:i], x[i+1:]))
		mean += without[i] / n
	}
	for i := range without {
		without[i] = (mean - without[i]) * (n - 1) / n
	}
	return without
}
