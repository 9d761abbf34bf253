package stats

import (
	"errors"
	"math"
	"testing"
)

// The values are those of table II, method 10, of Newcombe's paper.
func TestShareDifferenceGivesThePublishedIntervals(t *testing.T) {
	for _, c := range []struct {
		hits, n, otherHits, otherN int
		low, high                  float64
	}{
		{56, 70, 48, 80, 0.0524, 0.3339},
		{9, 10, 3, 10, 0.1705, 0.8090},
		{6, 7, 2, 7, 0.0582, 0.8062},
		{5, 56, 0, 29, -0.0381, 0.1926},
		{0, 10, 0, 20, -0.1611, 0.2775},
		{0, 10, 0, 10, -0.2775, 0.2775},
		{10, 10, 0, 20, 0.6791, 1},
		{10, 10, 0, 10, 0.6075, 1},
	} {
		low, high, err := ShareDifference(c.hits, c.n, c.otherHits, c.otherN, .95)
		if err != nil || math.Abs(low-c.low) > 5e-5 || math.Abs(high-c.high) > 5e-5 {
			t.Errorf("%d of %d - %d of %d: %.4f to %.4f (%v), want %.4f to %.4f", c.hits, c.n, c.otherHits, c.otherN, low, high, err, c.low, c.high)
		}
	}
}

func TestShareDifferenceRefusesWhatAreNoShares(t *testing.T) {
	for _, c := range []struct {
		counts     [4]int
		confidence float64
		want       error
	}{
		{[4]int{0, 0, 0, 2}, .95, ErrTooFew},
		{[4]int{0, 2, 0, 0}, .95, ErrTooFew},
		{[4]int{3, 2, 0, 2}, .95, ErrRange},
		{[4]int{0, 2, -1, 2}, .95, ErrRange},
		{[4]int{1, 2, 1, 2}, 1, ErrRange},
		{[4]int{1, 2, 1, 2}, math.NaN(), ErrRange},
	} {
		if _, _, err := ShareDifference(c.counts[0], c.counts[1], c.counts[2], c.counts[3], c.confidence); !errors.Is(err, c.want) {
			t.Errorf("%v at %v: %v", c.counts, c.confidence, err)
		}
	}
}

// FuzzShareDifference: the interval has the difference inside, lies within -1 to 1, and is the mirror image of that of the
// groups exchanged.
func FuzzShareDifference(f *testing.F) {
	f.Add(8, 16, 0, 8, .9)
	f.Add(0, 1, 1, 1, 1-1e-16)
	f.Fuzz(func(t *testing.T, hits, n, otherHits, otherN int, confidence float64) {
		low, high, err := ShareDifference(hits, n, otherHits, otherN, confidence)
		if err != nil {
			return
		}
		difference := float64(hits)/float64(n) - float64(otherHits)/float64(otherN)
		if !(low >= -1 && low <= difference+1e-9 && difference-1e-9 <= high && high <= 1) {
			t.Errorf("%d of %d - %d of %d at %v: %v to %v", hits, n, otherHits, otherN, confidence, low, high)
		}
		if otherLow, otherHigh, err := ShareDifference(otherHits, otherN, hits, n, confidence); err != nil || math.Abs(otherLow+high) > 1e-9 || math.Abs(otherHigh+low) > 1e-9 {
			t.Errorf("exchanged: %v to %v (%v) against %v to %v", otherLow, otherHigh, err, low, high)
		}
	})
}
