package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// The functions below plan two arms of n runs each. Differences and margins are in standard deviations of a run: divide
// a margin of 2 % by a CV of 1.5 %. n need not be an integer; for arms of unequal size it is the harmonic mean.

// mostRuns is the upper limit of the search for a sample size.
const mostRuns = 1e6

// SampleSize returns the runs that each arm needs to find a difference d with the given power. The result is a
// fraction: round it up.
func SampleSize(d, power, alpha float64) (float64, error) {
	if err := planned(d, 2, alpha); err != nil {
		return 0, err
	}
	return smallest("runs", power, 2, mostRuns, func(n float64) float64 {
		return tPower(d*math.Sqrt(n/2), 2*n-2, alpha)
	})
}

// MinimumDetectable returns the smallest true difference that n runs of each arm find with the given power.
func MinimumDetectable(n, power, alpha float64) (float64, error) {
	if err := planned(1, n, alpha); err != nil {
		return 0, err
	}
	shift, err := detectable(2*n-2, power, alpha)
	return shift * math.Sqrt(2/n), err
}

// Power returns the probability that a repetition of the test would find a true difference, in its unit, at alpha. For
// a planned test, SE and DF are the expected ones.
func (t TTest) Power(difference, alpha float64) (float64, error) {
	if err := t.planned(difference, alpha); err != nil {
		return 0, err
	}
	return tPower(difference/t.SE, t.DF, alpha), nil
}

// Detectable returns the smallest true difference that a repetition of the test would find with the given power at
// alpha, in the unit of the difference.
func (t TTest) Detectable(power, alpha float64) (float64, error) {
	if err := t.planned(t.SE, alpha); err != nil {
		return 0, err
	}
	shift, err := detectable(t.DF, power, alpha)
	return shift * t.SE, err
}

// EquivalencePower returns the probability that a repetition of the test would show two equal arms to be within a
// margin, in the unit of the difference.
func (t TTest) EquivalencePower(margin, alpha float64) (float64, error) {
	if err := t.planned(margin, alpha); err != nil {
		return 0, err
	}
	return tostPower(margin/t.SE, t.DF, alpha), nil
}

// planned returns an error if the parameters of a plan are invalid.
func (t TTest) planned(difference, alpha float64) error {
	if shift := difference / t.SE; !(shift > 0 && shift <= mostShift) || !(t.DF > 0) {
		return fmt.Errorf("a difference of %v with a standard error of %v and %v degrees of freedom: %w", difference, t.SE, t.DF, ErrRange)
	}
	return risk(alpha)
}

// EquivalenceMargin returns the smallest margin within which n runs of two equal arms are shown to be, with the given
// power.
func EquivalenceMargin(n, power, alpha float64) (float64, error) {
	if err := planned(1, n, alpha); err != nil {
		return 0, err
	}
	shift, err := smallest("a margin", power, 0, mostShift, func(shift float64) float64 {
		return tostPower(shift, 2*n-2, alpha)
	})
	return shift * math.Sqrt(2/n), err
}

// EquivalenceSampleSize returns the runs that each of two equal arms needs to be shown within a margin with the given
// power. The result is a fraction: round it up.
func EquivalenceSampleSize(margin, power, alpha float64) (float64, error) {
	if err := planned(margin, 2, alpha); err != nil {
		return 0, err
	}
	return smallest("runs", power, 2, mostRuns, func(n float64) float64 {
		return tostPower(margin*math.Sqrt(n/2), 2*n-2, alpha)
	})
}

// planned returns an error if the parameters of a plan are invalid.
func planned(d, n, alpha float64) error {
	switch {
	case !(d > 0) || math.IsInf(d, 0):
		return fmt.Errorf("a difference of %v standard deviations: %w", d, ErrRange)
	case !(n >= 2) || n > mostRuns:
		return fmt.Errorf("%v runs in each arm: %w", n, ErrRange)
	}
	return risk(alpha)
}

// risk returns an error unless alpha is below one half: at and above it a test is meaningless.
func risk(alpha float64) error {
	if !(alpha > 0 && alpha < .5) {
		return fmt.Errorf("alpha %v, not between 0 and 0.5: %w", alpha, ErrRange)
	}
	return nil
}

// mostShift is beyond any practical use.
const mostShift = 1e4

// detectable returns the noncentrality at which a test has the power.
func detectable(df, power, alpha float64) (float64, error) {
	critical := tQuantile(1-alpha/2, df)
	return smallest("a difference", power, 0, mostShift, func(shift float64) float64 {
		return shiftedAbove(critical, shift, df)
	})
}

// tPower returns the probability that t lies above its critical value when its true centre is shifted. The other side,
// where a test would find the opposite of the truth, does not count as power.
func tPower(shift, df, alpha float64) float64 {
	return shiftedAbove(tQuantile(1-alpha/2, df), shift, df)
}

// shiftedAbove returns the probability that t, its centre shifted, is above a value: noncentral t. gonum's is a series
// that for shifts above 38 switches to an approximation 2 % off.
func shiftedAbove(t, shift, df float64) float64 {
	return overErrors(df, shift/t, 1/t, func(se float64) float64 { return math.Erfc((t*se-shift)/math.Sqrt2) / 2 })
}

// tostPower returns the probability that both one-sided tests reject that the difference reaches a margin of so many
// standard errors, when the difference is 0: it has to lie in a symmetric range of the normal distribution. The
// shortcut by one noncentral t is wrong where power is low, which is the range of interest.
func tostPower(margin, df, alpha float64) float64 {
	critical := tQuantile(1-alpha, df)
	return overErrors(df, margin/critical, 1/critical, func(se float64) float64 {
		return math.Erf(max(margin-critical*se, 0) / math.Sqrt2)
	})
}

// overErrors returns the mean of f over the distribution of the estimated standard error, in units of the true one. f
// bends at a place, within some widths of it; the integral is computed in parts from there.
func overErrors(df, bend, width float64, f func(se float64) float64) float64 {
	const tail, widths, points = 1e-13, 8, 40
	variance := distuv.ChiSquared{K: df}
	from, end := math.Sqrt(variance.Quantile(tail)/df), math.Sqrt(variance.Quantile(1-tail)/df)
	sum := 0.0
	for _, to := range []float64{bend - widths*width, bend, bend + widths*width, end} {
		if to = min(to, end); to <= from {
			continue
		}
		sum += quad.Fixed(func(se float64) float64 {
			return 2 * df * se * variance.Prob(df*se*se) * f(se)
		}, from, to, points, quad.Legendre{}, 0)
		from = to
	}
	return min(sum, 1) // the density of a million runs has nine digits
}

// smallest returns where a power that rises from least to most reaches the requested one.
func smallest(what string, power, least, most float64, at func(float64) float64) (float64, error) {
	if err := share("power", power); err != nil {
		return 0, err
	}
	if at(least) >= power {
		return least, nil
	}
	low, high := least, max(2*least, 1)
	for at(high) < power {
		if high >= most {
			return 0, fmt.Errorf("%s beyond %g: %w", what, most, ErrRange)
		}
		low, high = high, min(2*high, most)
	}
	for high-low > 1e-10*high {
		if middle := low + (high-low)/2; at(middle) >= power {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}
