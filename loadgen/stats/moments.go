package stats

import (
	"fmt"
	"math"
	"slices"
)

// Moments are the inputs that tests of means need of a sample.
type Moments struct {
	N    int
	Mean float64
	SD   float64 // of the sample: divided by n - 1
}

// MomentsOf takes the moments of at least two values.
func MomentsOf(x []float64) (Moments, error) {
	if err := needs(2, x); err != nil {
		return Moments{}, err
	}
	return momentsOf(x), nil
}

// momentsOf computes the moments of finite values in passes that keep all digits: the mean is corrected by the mean of
// the residuals, and the squares are of values scaled to 1, so that the smallest do not vanish. gonum does neither. The
// SD of one value is 0.
func momentsOf(x []float64) Moments {
	n := float64(len(x))
	mean, rest, farthest := 0.0, 0.0, 0.0
	for _, v := range x {
		mean += v / n
	}
	for _, v := range x {
		rest += (v - mean) / n
	}
	mean += rest
	for _, v := range x {
		farthest = max(farthest, math.Abs(v-mean))
	}
	m := Moments{N: len(x), Mean: mean}
	if m.N == 1 || isRounding(farthest, mean) {
		return m
	}
	squares := 0.0
	for _, v := range x {
		d := (v - mean) / farthest
		squares += d * d
	}
	m.SD = farthest * math.Sqrt(squares/(n-1))
	return m
}

// isRounding reports whether a spread is no more than the rounding error of values of that size.
func isRounding(spread, size float64) bool { return spread <= 4*0x1p-52*math.Abs(size) }

// check reports whether moments from outside can be used in computations.
func (m Moments) check() error {
	if m.N < 2 {
		return fmt.Errorf("%d of at least 2: %w", m.N, ErrTooFew)
	}
	switch {
	case !usable(m.Mean) || !usable(m.SD):
		return fmt.Errorf("mean %v, standard deviation %v: %w", m.Mean, m.SD, ErrNotFinite)
	case m.SD < 0:
		return fmt.Errorf("standard deviation %v: %w", m.SD, ErrRange)
	}
	return nil
}

// Description describes a sample. Figures that one value does not have, such as its spread, are nil.
type Description struct {
	N      int
	Mean   float64
	Median float64
	Min    float64
	Max    float64
	// SD divides by n - 1, PopulationSD by n.
	SD           *float64
	PopulationSD *float64
	// CV is the SD as a share of the mean's size; nil also where the mean is 0.
	CV *float64
}

// Describe describes at least one value.
func Describe(x []float64) (Description, error) {
	if err := needs(1, x); err != nil {
		return Description{}, err
	}
	m := momentsOf(x)
	d := Description{N: m.N, Mean: m.Mean, Median: Median(x), Min: slices.Min(x), Max: slices.Max(x)}
	if m.N == 1 {
		return d, nil
	}
	population := m.SD * math.Sqrt(float64(m.N-1)/float64(m.N))
	d.SD, d.PopulationSD = &m.SD, &population
	if cv := m.SD / math.Abs(m.Mean); !math.IsNaN(cv) && !math.IsInf(cv, 0) {
		d.CV = &cv
	}
	return d, nil
}

// Quantile returns the type-7 quantile of ascending values, the default of NumPy and R; p is from 0 to 1. It panics
// without a value.
func Quantile(sorted []float64, p float64) float64 {
	h := float64(len(sorted)-1) * min(max(p, 0), 1)
	low := int(h)
	high := min(low+1, len(sorted)-1)
	return min(sorted[low]+(h-float64(low))*(sorted[high]-sorted[low]), sorted[high]) // a sum may round up
}

// Median returns the median of values in any order; it panics without one.
func Median(x []float64) float64 {
	return Quantile(slices.Sorted(slices.Values(x)), .5)
}

// MeanInterval returns the confidence interval of a mean by Student's t.
func MeanInterval(x []float64, level float64) (Interval, error) {
	if err := share("level", level); err != nil {
		return Interval{}, err
	}
	m, err := MomentsOf(x)
	if err != nil {
		return Interval{}, err
	}
	half := tQuantile((1+level)/2, float64(m.N-1)) * m.SD / math.Sqrt(float64(m.N))
	return Interval{Low: m.Mean - half, High: m.Mean + half}, nil
}
