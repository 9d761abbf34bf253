package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat/distuv"
)

// The functions below plan two arms of n runs each. Differences and margins are in standard deviations
// of a run: divide a margin of 2 % by a CV of 1.5 %. n need not be whole; of arms of unlike size it is the
// harmonic mean.

// mostRuns is where the search for a sample size ends.
const mostRuns = 1e6

// Power is how likely a true difference d is found by a two-sided t test at alpha.
func Power(d, n, alpha float64) (float64, error) {
	if err := planned(d, n, alpha); err != nil {
		return 0, err
	}
	return tPower(d*math.Sqrt(n/2), 2*n-2, alpha), nil
}

// SampleSize is the runs that each arm needs to find a difference d with the given power. It comes out
// as a fraction: round it up.
func SampleSize(d, power, alpha float64) (float64, error) {
	if err := planned(d, 2, alpha); err != nil {
		return 0, err
	}
	return smallest("runs", power, 2, mostRuns, func(n float64) float64 {
		return tPower(d*math.Sqrt(n/2), 2*n-2, alpha)
	})
}

// MinimumDetectable is the least true difference that n runs of each arm find with the given power.
func MinimumDetectable(n, power, alpha float64) (float64, error) {
	if err := planned(1, n, alpha); err != nil {
		return 0, err
	}
	shift, err := detectable(2*n-2, power, alpha)
	return shift * math.Sqrt(2/n), err
}

// Power is how likely a repetition of the test would find a true difference, in its unit, at alpha. Of a
// test that was never made, SE and DF are what a plan expects.
func (t TTest) Power(difference, alpha float64) (float64, error) {
	if err := t.planned(difference, alpha); err != nil {
		return 0, err
	}
	return tPower(difference/t.SE, t.DF, alpha), nil
}

// Detectable is the least true difference that a repetition of the test would find with the given power
// at alpha, in the unit of the difference.
func (t TTest) Detectable(power, alpha float64) (float64, error) {
	if err := t.planned(t.SE, alpha); err != nil {
		return 0, err
	}
	shift, err := detectable(t.DF, power, alpha)
	return shift * t.SE, err
}

// EquivalencePower is how likely a repetition of the test would show two equal arms to be within a margin,
// in the unit of the difference.
func (t TTest) EquivalencePower(margin, alpha float64) (float64, error) {
	if err := t.planned(margin, alpha); err != nil {
		return 0, err
	}
	return tostPower(margin/t.SE, t.DF, alpha), nil
}

// planned says whether what a test would find of a difference makes sense.
func (t TTest) planned(difference, alpha float64) error {
	if shift := difference / t.SE; !(shift > 0 && shift <= mostShift) || !(t.DF > 0) {
		return fmt.Errorf("a difference of %v with a standard error of %v and %v degrees of freedom: %w", difference, t.SE, t.DF, ErrRange)
	}
	return share("alpha", alpha)
}

// EquivalencePower is how likely two equal arms are shown to be within a margin of each other, by two
// one-sided tests at alpha.
func EquivalencePower(margin, n, alpha float64) (float64, error) {
	if err := planned(margin, n, alpha); err != nil {
		return 0, err
	}
	return tostPower(margin*math.Sqrt(n/2), 2*n-2, alpha), nil
}

// EquivalenceMargin is the least margin within which n runs of two equal arms are shown to be, with the
// given power.
func EquivalenceMargin(n, power, alpha float64) (float64, error) {
	if err := planned(1, n, alpha); err != nil {
		return 0, err
	}
	shift, err := smallest("a margin", power, 0, mostShift, func(shift float64) float64 {
		return tostPower(shift, 2*n-2, alpha)
	})
	return shift * math.Sqrt(2/n), err
}

// EquivalenceSampleSize is the runs that each of two equal arms needs to be shown within a margin with
// the given power. It comes out as a fraction: round it up.
func EquivalenceSampleSize(margin, power, alpha float64) (float64, error) {
	if err := planned(margin, 2, alpha); err != nil {
		return 0, err
	}
	return smallest("runs", power, 2, mostRuns, func(n float64) float64 {
		return tostPower(margin*math.Sqrt(n/2), 2*n-2, alpha)
	})
}

// planned says whether a plan makes sense.
func planned(d, n, alpha float64) error {
	switch {
	case !(d > 0) || math.IsInf(d, 0):
		return fmt.Errorf("a difference of %v standard deviations: %w", d, ErrRange)
	case !(n >= 2) || n > mostRuns:
		return fmt.Errorf("%v runs in each arm: %w", n, ErrRange)
	}
	return share("alpha", alpha)
}

// mostShift is beyond any use, and within what the noncentral distribution can be computed for.
const mostShift = 1e4

// detectable is the noncentrality at which a test has the power.
func detectable(df, power, alpha float64) (float64, error) {
	critical := tQuantile(1-alpha/2, df)
	return smallest("a difference", power, 0, mostShift, func(shift float64) float64 {
		return shiftedAbove(critical, shift, df)
	})
}

// tPower is how likely t lies above its critical value when its true centre is shifted. The other side,
// where a test would find the opposite of what is true, is not power.
func tPower(shift, df, alpha float64) float64 {
	return shiftedAbove(tQuantile(1-alpha/2, df), shift, df)
}

// shiftedAbove is how likely t, its centre shifted, is above a value.
func shiftedAbove(t, shift, df float64) float64 {
	return min(max(1-distuv.NoncentralT{Nu: df, Mu: shift}.CDF(t), 0), 1)
}

// tostPower is how likely both one-sided tests reject that the difference reaches a margin of so many
// standard errors, when there is none. It integrates over what the estimate of the standard error may
// come out as: given that, the difference has to lie in a symmetric range of the normal distribution. The
// shortcut by one noncentral t is wrong where power is low, which is where one looks.
func tostPower(margin, df, alpha float64) float64 {
	critical := tQuantile(1-alpha, df)
	variance := distuv.ChiSquared{K: df}
	const tail = 1e-12
	low, high := math.Sqrt(variance.Quantile(tail)/df), math.Sqrt(variance.Quantile(1-tail)/df)
	high = min(high, margin/critical)
	if high <= low {
		return 0
	}
	power := quad.Fixed(func(se float64) float64 {
		density := 2 * df * se * variance.Prob(df*se*se)
		return density * math.Erf((margin-critical*se)/math.Sqrt2)
	}, low, high, 200, quad.Legendre{}, 0)
	return min(power, 1) // the density of a million runs has nine digits
}

// smallest finds where a power that rises from low to high reaches what is wanted.
func smallest(what string, power, low, high float64, at func(float64) float64) (float64, error) {
	if err := share("power", power); err != nil {
		return 0, err
	}
	if at(low) >= power {
		return low, nil
	}
	if !(at(high) >= power) {
		return 0, fmt.Errorf("%s beyond %g: %w", what, high, ErrRange)
	}
	// The bisection is on the logarithm where it can be: sizes span decades.
	for range 200 {
		middle := low + (high-low)/2
		if low > 0 {
			middle = math.Sqrt(low * high)
		}
		if middle <= low || middle >= high || high-low <= 1e-12*high {
			break
		}
		if at(middle) >= power {
			high = middle
		} else {
			low = middle
		}
	}
	return high, nil
}
