package stats

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat/distuv"
)

// ShareDifference returns a two-sided confidence interval of the difference of two shares, hits/n - otherHits/otherN,
// by Newcombe's hybrid score method (Statistics in Medicine 17, 1998, 873-890, method 10, without correction for
// continuity). It fails with ErrTooFew for an empty group and with ErrRange for impossible counts or an invalid
// confidence.
func ShareDifference(hits, n, otherHits, otherN int, confidence float64) (low, high float64, err error) {
	switch {
	case n < 1 || otherN < 1:
		return 0, 0, fmt.Errorf("shares of %d and of %d: %w", n, otherN, ErrTooFew)
	case hits < 0 || hits > n || otherHits < 0 || otherHits > otherN:
		return 0, 0, fmt.Errorf("%d of %d and %d of %d: %w", hits, n, otherHits, otherN, ErrRange)
	case !(confidence > 0 && confidence < 1):
		return 0, 0, fmt.Errorf("confidence %v: %w", confidence, ErrRange)
	}
	z := -distuv.UnitNormal.Quantile((1 - confidence) / 2)
	one, other := float64(hits)/float64(n), float64(otherHits)/float64(otherN)
	oneLow, oneHigh := wilson(one, n, z)
	otherLow, otherHigh := wilson(other, otherN, z)
	low = one - other - math.Hypot(one-oneLow, otherHigh-other)
	high = one - other + math.Hypot(oneHigh-one, other-otherLow)
	return max(low, -1), min(high, 1), nil
}

// wilson returns the score interval of one share of n.
func wilson(share float64, n int, z float64) (low, high float64) {
	z2n := z * z / float64(n)
	middle := (share + z2n/2) / (1 + z2n)
	half := math.Sqrt(share*(1-share)*z2n+z2n*z2n/4) / (1 + z2n)
	return max(middle-half, 0), min(middle+half, 1)
}
