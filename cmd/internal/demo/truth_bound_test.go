package demo

import (
	"testing"

	"gonum.org/v1/gonum/stat/distuv"
)

// byChance is how seldom a test of a share may fail although the share is what it should be. What is due at the same
// moment of a virtual clock runs in any order, so two passes of these tests may see different figures: a bound that chance
// crosses now and then would fail now and then.
const byChance = 1e-6

// often fails if something that should come about with a probability was seen so seldom, of so many, that chance
// does not make it.
func often(t *testing.T, what string, n, of int, probability float64) {
	t.Helper()
	if of > 0 && (distuv.Binomial{N: float64(of), P: probability}).CDF(float64(n)) < byChance {
		t.Errorf("%s: %d of %d, too few for %.3g of 100", what, n, of, 100*probability)
	}
	t.Logf("%s: %d of %d", what, n, of)
}

// seldom fails if something that should not come about more often than that was seen too often.
func seldom(t *testing.T, what string, n, of int, probability float64) {
	t.Helper()
	if n > 0 && (distuv.Binomial{N: float64(of), P: probability}).Survival(float64(n-1)) < byChance {
		t.Errorf("%s: %d of %d, too many for %.3g of 100", what, n, of, 100*probability)
	}
	t.Logf("%s: %d of %d", what, n, of)
}

// always and never are of what no chance is in.
func always(t *testing.T, what string, n, of int) {
	t.Helper()
	if n != of {
		t.Errorf("%s: %d of %d, want all", what, n, of)
	}
	t.Logf("%s: %d of %d", what, n, of)
}

func never(t *testing.T, what string, n, of int) {
	t.Helper()
	if n != 0 {
		t.Errorf("%s: %d of %d, want none", what, n, of)
	}
	t.Logf("%s: %d of %d", what, n, of)
}
