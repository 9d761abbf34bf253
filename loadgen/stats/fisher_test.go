package stats

import (
	"math"
	"testing"
)

// The values are those of R's fisher.test, alternative = "greater", and can be had by hand: the first is
// Fisher's tea, 17 of 70 ways.
func TestFisherGivesKnownValues(t *testing.T) {
	for _, c := range []struct {
		hits, n, otherHits, otherN int
		want                       float64
	}{
		{3, 4, 1, 4, 17. / 70},
		{4, 4, 0, 4, 1. / 70},
		{10, 13, 2, 17, 0.0004651809},   // R's example of convicted twins
		{32, 32, 0, 2, 1. / 561},        // one of the ways to choose 2 of 34
		{0, 32, 0, 8, 1},                // nothing differs
		{5, 5, 3, 3, 1},                 // everything does
		{1, 100, 0, 100, 0.5},           // either group as likely
		{2, 3, 0, 3, 3. / 15},           // C(3,2) of C(6,2)
		{500, 1000, 0, 1000, 7.65e-187}, // no overflow on the way; the order of magnitude is enough
	} {
		got := FisherExact(c.hits, c.n, c.otherHits, c.otherN)
		if c.want < 1e-100 {
			if got <= 0 || got > 1e-100 {
				t.Errorf("FisherExact(%d of %d, %d of %d) = %g", c.hits, c.n, c.otherHits, c.otherN, got)
			}
		} else if math.Abs(got-c.want) > 1e-9*math.Max(1, 1/c.want)*c.want {
			t.Errorf("FisherExact(%d of %d, %d of %d) = %.10g, want %.10g", c.hits, c.n, c.otherHits, c.otherN, got, c.want)
		}
	}
}

// enumerated counts the tables of the same margins directly.
func enumerated(hits, n, otherHits, otherN int) float64 {
	choose := func(n, k int) float64 {
		if k < 0 || k > n {
			return 0
		}
		c := 1.0
		for i := range k {
			c = c * float64(n-i) / float64(i+1)
		}
		return c
	}
	all, p := hits+otherHits, 0.0
	for k := hits; k <= n; k++ {
		p += choose(n, k) * choose(otherN, all-k)
	}
	return p / choose(n+otherN, all)
}

func TestFisherExactIsTheSumOverAllTables(t *testing.T) {
	for n := range 8 {
		for m := range 8 {
			for hits := range n + 1 {
				for other := range m + 1 {
					if got, want := FisherExact(hits, n, other, m), enumerated(hits, n, other, m); math.Abs(got-want) > 1e-12 {
						t.Fatalf("FisherExact(%d of %d, %d of %d) = %v, want %v", hits, n, other, m, got, want)
					}
				}
			}
		}
	}
}

func TestFisherOfNoCountsIsNoEvidence(t *testing.T) {
	for _, p := range []float64{FisherExact(-1, 2, 0, 2), FisherExact(3, 2, 0, 2), FisherExact(0, 2, 3, 2), FisherExact(0, 0, 0, 0)} {
		if p != 1 {
			t.Errorf("p = %v", p)
		}
	}
}
