package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// The distance of the outlier is 43.7 from the median of 201.37, and the median distance 0.995.
func TestModifiedZIsByTheMedianDistance(t *testing.T) {
	z := must[[]float64](t)(ModifiedZ(grubbs))
	for i, want := range []float64{-1.3964, -1.2473, -.7999, -.3728, .3728, .3932, .5491, 29.9627} {
		near(t, "z", z[i], want, 4)
	}
	for i, v := range z {
		if far := v > OutlyingZ || v < -OutlyingZ; far != (i == 7) {
			t.Errorf("%v is an outlier: %v", grubbs[i], far)
		}
	}
}

// Two outliers widen the spread so that Grubbs finds neither; the median distance does not move.
func TestModifiedZIsNotMaskedByASecondOutlier(t *testing.T) {
	x := []float64{10.1, 9.9, 10, 10.2, 9.8, 10.1, 9.9, 10, 19, 19.2}
	if g := must[GrubbsTest](t)(Grubbs(x, .05)); g.Outlier {
		t.Errorf("%+v", g)
	}
	z := must[[]float64](t)(ModifiedZ(x))
	if z[8] <= OutlyingZ || z[9] <= OutlyingZ || z[3] > OutlyingZ {
		t.Error(z)
	}
}

// Without an outlier none is called one.
func TestGrubbsLeavesOrdinarySamplesAlone(t *testing.T) {
	for _, x := range [][]float64{sleepA, sleepB, {1, 1, 2, 2, 3, 3, 4}, {60, 60, 60, 61, 61, 62, 60}} {
		if g := must[GrubbsTest](t)(Grubbs(x, .05)); g.Outlier {
			t.Errorf("%v: %+v", x, g)
		}
	}
}

// Two runs that came out about the same are no evidence against the third.
func TestNoOutlierIsLookedForAmongThree(t *testing.T) {
	if g, err := Grubbs([]float64{60, 60, 61}, .05); !errors.Is(err, ErrTooFew) {
		t.Errorf("%+v, %v", g, err)
	}
	if z, err := ModifiedZ([]float64{60, 60.1, 61}); !errors.Is(err, ErrTooFew) {
		t.Errorf("%v, %v", z, err)
	}
}

// The comment of ModifiedZ says how often chance alone makes an outlier.
func TestModifiedZHasTheStatedRateOfFalseOutliers(t *testing.T) {
	const samples = 4000
	for n, want := range map[int]float64{5: .21, 10: .13, 30: .09} {
		random, flagged := rand.New(rand.NewPCG(uint64(n), 0)), 0
		for range samples {
			x := make([]float64, n)
			for i := range x {
				x[i] = random.NormFloat64()
			}
			if slices.ContainsFunc(must[[]float64](t)(ModifiedZ(x)), func(z float64) bool { return math.Abs(z) > OutlyingZ }) {
				flagged++
			}
		}
		if share := float64(flagged) / samples; math.Abs(share-want) > .02 {
			t.Errorf("of %d values: %.3f, want %.2f", n, share, want)
		}
	}
}
