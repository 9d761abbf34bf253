package stats

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
)

// Nine pairs, of which five had a first, with the time of each.
var (
	roundsA = []float64{100.2, 101.9, 98.7, 103.1, 99.4, 97.8, 102.2, 100.9, 96.5}
	roundsB = []float64{103.1, 104.2, 103.0, 104.4, 103.9, 99.9, 107.1, 102.4, 100.8}
	aFirst  = []bool{true, false, true, false, true, false, true, true, false}
	hours   = []float64{0, 2.1, 4.0, 6.2, 8.1, 10.0, 12.3, 16.2, 18.0}
)

// The values here are those of ordinary least squares in NumPy 2 with p of SciPy 1.17.1: of the differences on a
// constant and the order (plus and minus one half), whose constant is the estimate; and with the time beside them,
// whose coefficient is the trend. Of one group it is scipy.stats.linregress.
func TestBalancedPairsAreAsLeastSquaresHasThem(t *testing.T) {
	b := must[TTest](t)(BalancedPairs(roundsA, roundsB, aFirst))
	nearly(t, "difference", b.Difference, 3.06, 1e-12)
	nearly(t, "se", b.SE, 0.452990066116244, 1e-12)
	nearly(t, "t", b.T, 6.755115021031738, 1e-12)
	nearly(t, "df", b.DF, 7, 0)
	nearly(t, "p", b.P, 0.0002637755998453312, 1e-10)
}

func TestTrendIsAsLeastSquaresHasIt(t *testing.T) {
	differences, _, err := differencesOf(roundsA, roundsB)
	if err != nil {
		t.Fatal(err)
	}
	two := must[TTest](t)(Trend(hours, differences, aFirst))
	nearly(t, "slope", two.Difference, 0.038892032379233596, 1e-11)
	nearly(t, "se", two.SE, 0.08227266308968631, 1e-11)
	nearly(t, "df", two.DF, 6, 0)
	nearly(t, "p", two.P, 0.6531175145574379, 1e-10)
	one := must[TTest](t)(Trend(hours, differences, make([]bool, len(hours))))
	nearly(t, "slope of one group", one.Difference, 0.030843742034157642, 1e-11)
	nearly(t, "se of one group", one.SE, 0.084540823080016, 1e-11)
	nearly(t, "p of one group", one.P, 0.7260052216379341, 1e-10)
}

// What one round takes from an arm the next gives back: a drift leaves the difference and its spread alone.
func TestALinearDriftLeavesBalancedPairsAlone(t *testing.T) {
	still, a, b := must[TTest](t)(BalancedPairs(roundsA[:8], roundsB[:8], abba(8))), make([]float64, 8), make([]float64, 8)
	for i, first := range abba(8) {
		early, late := float64(2*i), float64(2*i+1)
		if !first {
			early, late = late, early
		}
		a[i], b[i] = roundsA[i]+.7*early, roundsB[i]+.7*late
	}
	drifting := must[TTest](t)(BalancedPairs(a, b, abba(8)))
	nearly(t, "difference", drifting.Difference, still.Difference, 1e-10)
	nearly(t, "se", drifting.SE, still.SE, 1e-10)
	plain := must[TTest](t)(Paired(a, b))
	if plain.SE < 1.05*still.SE {
		t.Errorf("the plain paired test has the drift in its spread: %v, without drift %v", plain.SE, still.SE)
	}
}

func abba(n int) []bool {
	first := make([]bool, n)
	for i := range first {
		first[i] = i%2 == 0
	}
	return first
}

// A line without any rest is a trend; a figure that does not change is none.
func TestATrendOfALineIsSure(t *testing.T) {
	line := must[TTest](t)(Trend(hours, mapped(hours, func(v float64) float64 { return 3 - 2*v }), aFirst))
	nearly(t, "slope", line.Difference, -2, 1e-12)
	if line.P > 1e-12 {
		t.Errorf("p = %v", line.P)
	}
	for name, err := range map[string]error{
		"values that are the same": second(Trend(hours, make([]float64, 9), aFirst)),
		"one moment":               second(Trend(make([]float64, 9), hours, aFirst)),
		"constant halves":          second(Trend(hours[:4], []float64{1, 2, 1, 2}, abba(4))),
	} {
		if !errors.Is(err, ErrNoSpread) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, err := range map[string]error{
		"three in two groups": second(Trend(hours[:3], hours[:3], abba(3))),
		"one pair of a half":  second(BalancedPairs(roundsA[:3], roundsB[:3], abba(3))),
		"no pair":             second(BalancedPairs(nil, nil, nil)),
	} {
		if !errors.Is(err, ErrTooFew) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Requests, input and output tokens of one load are one quantity: three tests of it are as one.
func TestAQuantityCountsOnceInHolmsFamily(t *testing.T) {
	p := []float64{.01, .01, .01, .02, .3}
	got := HolmOnce(p, []int{0, 0, 0, 1, 2})
	for i, want := range []float64{.03, .03, .03, .04, .3} {
		if math.Abs(got[i]-want) > 1e-15 {
			t.Errorf("test %d: %v, want %v", i, got[i], want)
		}
	}
	for i, v := range HolmOnce(p, []int{0, 1, 2, 3, 4}) {
		if v != Holm(p)[i] {
			t.Errorf("test %d: %v", i, v)
		}
	}
}

// The slope of the differences is that of Trend. Where the sums of pairs spread as the differences do, the test has their
// degrees of freedom too; where pairs share more, such as the load of the machine, only those of the differences.
func TestPairsThatShareNothingTestTheirTrendByTheirSumsToo(t *testing.T) {
	const n = 10
	random := rand.New(rand.NewPCG(5, 1))
	hours, a, b := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		hours[i], a[i], b[i] = float64(i), random.NormFloat64(), 3+.2*float64(i)+random.NormFloat64()
	}
	differences := make([]float64, n)
	for i := range n {
		differences[i] = b[i] - a[i]
	}
	plain := must[TTest](t)(Trend(hours, differences, abba(n)))
	pooled := must[TTest](t)(PairTrend(hours, a, b, abba(n)))
	if math.Abs(pooled.Difference-plain.Difference) > 1e-12 || plain.DF != n-3 || pooled.DF != n-3+n-2 {
		t.Errorf("slope %v with %v degrees of freedom, by the differences alone %v with %v", pooled.Difference, pooled.DF, plain.Difference, plain.DF)
	}
	for i := range n { // what a pair shares is not in its difference
		shared := 50 * float64(i*3%7)
		a[i], b[i] = a[i]+shared, b[i]+shared
	}
	shared := must[TTest](t)(PairTrend(hours, a, b, abba(n)))
	if math.Abs(shared.SE-plain.SE) > 1e-9 || shared.DF != plain.DF || math.Abs(shared.Difference-plain.Difference) > 1e-9 {
		t.Errorf("pairs that share much: %+v, want %+v", shared, plain)
	}
}

// The standard error is that of two lines with one spread: the residuals of both, over the sum of squares of x, which is 5.
func TestTheDifferenceOfTwoTrendsIsAsLeastSquaresHasIt(t *testing.T) {
	x := []float64{0, 1, 2, 3}
	a, b := []float64{.2, .4, 2.6, 2.8}, []float64{.4, 1.8, 7.2, 8.6}
	got := must[TTest](t)(TrendDifference(x, a, x, b))
	slope := func(y []float64) (slope, left float64) {
		test := must[TTest](t)(Trend(x, y, make([]bool, len(x))))
		return test.Difference, test.SE * test.SE * 5 * 2
	}
	sa, la := slope(a)
	sb, lb := slope(b)
	if se := math.Sqrt((la + lb) / 4 * (1./5 + 1./5)); math.Abs(got.Difference-(sb-sa)) > 1e-12 || math.Abs(got.SE-se) > 1e-12 || got.DF != 4 {
		t.Errorf("%+v, want a difference of %v with %v", got, sb-sa, se)
	}
	if _, err := TrendDifference(x[:2], a[:2], x, b); !errors.Is(err, ErrTooFew) {
		t.Errorf("two values of an arm: %v", err)
	}
}

// Whatever pairs share, slopes that are not there are found about as often as the level says: at 0.2 %, in at most 0.6 %.
func TestATrendOfPairsHoldsItsLevel(t *testing.T) {
	const campaigns, n, level = 4000, 10, .002
	for name, c := range map[string]struct{ shared, curve float64 }{"nothing": {0, 0}, "as much as they differ": {1, 0}, "much": {3, 0}, "a warm-up": {0, 10}} {
		found := 0
		hours, a, b := make([]float64, n), make([]float64, n), make([]float64, n)
		for seed := range campaigns {
			random := rand.New(rand.NewPCG(uint64(seed), 9))
			for i := range n {
				shared := c.shared*random.NormFloat64() + c.curve*math.Exp(-float64(i)/2)
				hours[i], a[i], b[i] = float64(i), shared+random.NormFloat64(), shared+random.NormFloat64()
			}
			if must[TTest](t)(PairTrend(hours, a, b, abba(n))).P <= level {
				found++
			}
		}
		if found > 24 {
			t.Errorf("pairs share %s: found in %d of %d", name, found, campaigns)
		}
	}
}
