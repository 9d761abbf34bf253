package stats

import (
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// TTest is a test of the difference of two means, b - a, against 0.
type TTest struct {
	Difference float64
	SE         float64 // standard error of the difference
	T          float64
	DF         float64 // degrees of freedom
	P          float64 // two-sided
}

// Welch tests two samples that need not have the same spread.
func Welch(a, b []float64) (TTest, error) { return ofSamples(a, b, WelchOf) }

// WelchOf is Welch for samples of which only the moments are known.
func WelchOf(a, b Moments) (TTest, error) {
	if err := checkMoments(a, b); err != nil {
		return TTest{}, err
	}
	sa, sb := a.SD/math.Sqrt(float64(a.N)), b.SD/math.Sqrt(float64(b.N))
	se := math.Hypot(sa, sb)
	if se == 0 {
		return TTest{}, ErrNoSpread
	}
	// Welch-Satterthwaite, by the shares in the variance, to avoid overflow.
	wa, wb := sa/se*sa/se, sb/se*sb/se
	return tTest(b.Mean-a.Mean, se, 1/(wa*wa/float64(a.N-1)+wb*wb/float64(b.N-1)), a.Mean, b.Mean)
}

// Pooled tests two samples that are assumed to have the same spread: Student's own test.
func Pooled(a, b []float64) (TTest, error) { return ofSamples(a, b, PooledOf) }

// PooledOf is Pooled for samples of which only the moments are known.
func PooledOf(a, b Moments) (TTest, error) {
	if err := checkMoments(a, b); err != nil {
		return TTest{}, err
	}
	se := pooledSD(a, b) * math.Sqrt(1/float64(a.N)+1/float64(b.N))
	return tTest(b.Mean-a.Mean, se, float64(a.N+b.N-2), a.Mean, b.Mean)
}

// Paired tests two samples in which values of the same index are pairs.
func Paired(a, b []float64) (TTest, error) {
	differences, size, err := differencesOf(a, b)
	if err != nil {
		return TTest{}, err
	}
	m, err := MomentsOf(differences)
	if err != nil {
		return TTest{}, err
	}
	return tTest(m.Mean, m.SD/math.Sqrt(float64(m.N)), float64(m.N-1), size, size)
}

// MeanAgainst tests whether the mean of a few values, or one, is that of a sample, by the spread of the sample alone. The
// difference is the mean of the values minus that of the sample.
func MeanAgainst(sample, values []float64) (TTest, error) {
	if err := needs(1, values); err != nil {
		return TTest{}, err
	}
	m, err := MomentsOf(sample)
	if err != nil {
		return TTest{}, err
	}
	v := momentsOf(values)
	se := m.SD * math.Sqrt(1/float64(m.N)+1/float64(v.N))
	return tTest(v.Mean-m.Mean, se, float64(m.N-1), m.Mean, v.Mean)
}

// ofSamples runs a test of moments on two samples.
func ofSamples(a, b []float64, test func(a, b Moments) (TTest, error)) (TTest, error) {
	ma, err := MomentsOf(a)
	if err != nil {
		return TTest{}, err
	}
	mb, err := MomentsOf(b)
	if err != nil {
		return TTest{}, err
	}
	return test(ma, mb)
}

func checkMoments(a, b Moments) error {
	if err := a.check(); err != nil {
		return err
	}
	return b.check()
}

// tTest returns the test of a difference with its standard error; sizeA and sizeB are the sizes of the values, relative
// to which a standard error may be rounding only.
func tTest(difference, se, df, sizeA, sizeB float64) (TTest, error) {
	if se == 0 || isRounding(se, max(math.Abs(sizeA), math.Abs(sizeB))) {
		return TTest{}, ErrNoSpread
	}
	t := difference / se
	return TTest{Difference: difference, SE: se, T: t, DF: df, P: probability(2 * tAbove(math.Abs(t), df))}, nil
}

// Interval returns the confidence interval of the difference; level is .95 for 95 %.
func (t TTest) Interval(level float64) Interval {
	half := tQuantile((1+min(max(level, 0), 1-0x1p-50))/2, t.DF) * t.SE
	return Interval{Low: t.Difference - half, High: t.Difference + half}
}

// Equivalence is two one-sided tests of whether a difference lies within bounds.
type Equivalence struct {
	TL, TU float64 // of the difference against the lower and the upper bound
	PL, PU float64
	// P is the larger of the two: at or below alpha, the 1 - 2 alpha interval lies within the bounds.
	P float64
}

// EquivalentBetween tests whether the difference lies between two bounds, which need not be symmetric around 0: a ratio
// within 2 % is between log(.98) and log(1.02) on the log scale.
func (t TTest) EquivalentBetween(low, high float64) Equivalence {
	e := Equivalence{TL: (t.Difference - low) / t.SE, TU: (t.Difference - high) / t.SE}
	e.PL, e.PU = probability(tAbove(e.TL, t.DF)), probability(tAbove(-e.TU, t.DF))
	e.P = max(e.PL, e.PU)
	return e
}

// tAbove returns the probability that Student's t is above a value.
func tAbove(t, df float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: df}.Survival(t) }

// tQuantile returns the value below which Student's t is with probability p.
func tQuantile(p, df float64) float64 { return distuv.StudentsT{Sigma: 1, Nu: df}.Quantile(p) }
