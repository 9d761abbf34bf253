package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// skewed is drawn from an exponential distribution.
var skewed = []float64{1.073, 0.308, 5.375, 0.366, 0.115, 1.8, 0.499, 0.551, 0.03, 0.764, 1.041, 0.231, 1.677,
	0.209, 0.786, 0.129, 0.923, 0.462, 0.689, 2.649, 1.115, 0.899, 2.84, 2.031, 1.166}

// The values here are SciPy 1.17.1's. W and p of ShapiroWilk are those of scipy.stats.shapiro.
func TestShapiroWilkIsAsSciPyHasIt(t *testing.T) {
	var many []float64
	for i := range 300 {
		many = append(many, float64(i*7919%1009)/10)
	}
	for _, c := range []struct {
		name string
		x    []float64
		w, p float64
	}{
		{"sleep 1", sleepA, 0.9258060286233032, 0.4079287935393071},
		{"sleep 2", sleepB, 0.9192977011993819, 0.35113468473328946},
		{"gob old", gobOld, 0.47185913328663875, 1.7041333534985868e-06},
		{"gob new", gobNew, 0.7199799568255902, 0.0015393457997585572},
		{"json old", jsonOld, 0.7989934265146408, 0.0140958308764422},
		{"Grubbs", grubbs, 0.48465005194538935, 6.745012893723918e-06},
		{"three", []float64{1, 2, 4}, 0.9642857142857142, 0.6368868450289689},
		{"four", []float64{1, 2, 4, 4.5}, 0.9156860679675836, 0.5130400900610478},
		{"five", []float64{3, 1, 4, 1, 5}, 0.8939244932314427, 0.3772224660924305},
		{"six", []float64{2, 7, 1, 8, 2, 8}, 0.7935239790205142, 0.051354187299008626},
		{"skewed", skewed, 0.7646158835099108, 6.17330400648585e-05},
		{"many", many, 0.9543362981836598, 4.638082078199871e-08},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := must[Normality](t)(ShapiroWilk(c.x))
			nearly(t, "W", n.W, c.w, 1e-8)
			nearly(t, "p", n.P, c.p, 1e-6)
		})
	}
}

// p is the share of all permutations whose correlation is as far from 0, counted one by one in NumPy.
func TestSpearmanCountsAllOrders(t *testing.T) {
	places := func(n int) (x []float64) {
		for i := range n {
			x = append(x, float64(i))
		}
		return x
	}
	for _, c := range []struct {
		name string
		x, y []float64
		r, p float64
	}{
		{"with time", sleepA[:8], places(8), 0.6666666666666669, 0.08308531746031746},
		{"two figures", sleepA[:8], sleepB[:8], 0.8095238095238096, 0.02177579365079365},
		{"ties in both", []float64{1, 2, 2, 3, 3}, []float64{2, 1, 1, 5, 4}, 0.6488856845230502, 0.3333333333333333},
		{"rising", grubbs, []float64{3, 1, 2, 5, 4, 8, 6, 7}, 0.8333333333333335, 0.015376984126984126},
		{"nine with ties", jsonOld[:9], places(9), -0.27122540144832413, 0.48273809523809524},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := must[Correlation](t)(Spearman(c.x, c.y))
			near(t, "r", got.R, c.r, 14)
			near(t, "p", got.P, c.p, 14)
			if !got.Exact || got.Permutations != 0 || got.N != len(c.x) {
				t.Errorf("%+v", got)
			}
		})
	}
	near(t, "r of ten", must[Correlation](t)(Spearman(gobOld, gobNew)).R, -0.6360886012685448, 14)
	near(t, "r of sleep", must[Correlation](t)(Spearman(sleepA, sleepB)).R, 0.7818181818181817, 14)
}

// More than ten are drawn: the estimate is the same every time and near what is true of it.
func TestSpearmanDrawsTheOrdersOfMany(t *testing.T) {
	x, y := slices.Concat(sleepA, []float64{9, -3}), slices.Concat(sleepB, []float64{0, 1.5})
	drawn := must[Correlation](t)(Spearman(x, y))
	if drawn.Exact || drawn.Permutations != 9999 || drawn.Seed == 0 {
		t.Errorf("%+v", drawn)
	}
	if again := must[Correlation](t)(Spearman(x, y)); again != drawn {
		t.Errorf("%+v, then %+v", drawn, again)
	}
	if exact := exactOrder(centredRanks(x), centredRanks(y)); math.Abs(drawn.P-exact) > .015 {
		t.Errorf("drawn p = %v, of all orders %v", drawn.P, exact)
	}
}

// An order that no random one comes near has the least p that so many draws can show.
func TestSpearmanOfManyIsNeverCertain(t *testing.T) {
	sorted := slices.Sorted(slices.Values(thirty))
	down := mapped(sorted, func(v float64) float64 { return -v })
	for _, c := range []Correlation{must[Correlation](t)(Spearman(sorted, sorted)), must[Correlation](t)(Spearman(sorted, down))} {
		if math.Abs(c.R) != 1 || c.P != 1./(drawnOrders+1) {
			t.Errorf("%+v", c)
		}
	}
}

// samples of 30 and 28: beyond the exact test of ranks.
var (
	thirty      = []float64{100.0, 100.6, 99.45, 98.22, 99.09, 98.02, 100.12, 102.68, 99.02, 98.76, 100.98, 100.71, 100.21, 98.14, 99.94, 101.39, 97.31, 99.08, 96.2, 97.42, 96.32, 99.53, 97.47, 100.54, 100.31, 99.63, 94.97, 98.92, 99.9, 100.23}
	twentyEight = []float64{96.41, 99.57, 98.06, 98.57, 104.18, 98.58, 100.9, 103.65, 99.25, 100.66, 101.33, 101.19, 97.32, 101.23, 105.08, 96.36, 103.58, 101.36, 99.08, 107.0, 103.29, 97.4, 101.22, 102.73, 100.43, 103.05, 100.8, 103.0}
)

func TestLargeSamplesAreAsSciPyHasThem(t *testing.T) {
	ranks := must[RankTest](t)(MannWhitney(thirty, twentyEight))
	near(t, "U", ranks.U, 595.5, 15)
	nearly(t, "p of ranks", ranks.P, 0.006466497627304414, 1e-12)
	if ranks.Exact {
		t.Error("30 and 28 count as exact")
	}
	near(t, "shift", must[float64](t)(HodgesLehmann(thirty, twentyEight)), 1.65, 13)
	w := must[TTest](t)(Welch(thirty, twentyEight))
	nearly(t, "t", w.T, 2.9392002659364658, 1e-12)
	nearly(t, "df", w.DF, 44.83478940151629, 1e-12)
	nearly(t, "p", w.P, 0.005184832256349596, 1e-11)
	ci := w.Interval(.9)
	nearly(t, "low", ci.Low, 0.7417874039180133, 1e-11)
	nearly(t, "high", ci.High, 2.71992688179628, 1e-11)
}

// On the log scale a difference is a ratio, and the bounds of a ratio are not as far from 0.
func TestRatiosAreTestedOnTheLogScale(t *testing.T) {
	a, b := must[[]float64](t)(Logs(jsonOld)), must[[]float64](t)(Logs(jsonNew))
	w := must[TTest](t)(Welch(a, b))
	nearly(t, "t", w.T, -42.73506230184696, 1e-9)
	nearly(t, "df", w.DF, 14.818831247009316, 1e-9)
	nearly(t, "p", w.P, 6.215579716172896e-17, 1e-7)
	e := w.EquivalentBetween(math.Log(.8), math.Log(.85))
	nearly(t, "tL", e.TL, (w.Difference-math.Log(.8))/w.SE, 1e-12)
	if ci := w.Interval(.9); (e.P <= .05) != ci.Inside(math.Log(.8), math.Log(.85)) || e.P > .05 {
		t.Errorf("p = %v, interval of ratios %v to %v", e.P, math.Exp(ci.Low), math.Exp(ci.High))
	}
}

// ofArms is the test of two arms of n runs each whose standard deviation is 1.
func ofArms(n float64) TTest { return TTest{SE: math.Sqrt(2 / n), DF: 2*n - 2} }

// SciPy: nct.sf(t.ppf(1 - alpha/2, df), df, d sqrt(n/2)), and quadrature of the density of the standard
// deviation for two one-sided tests.
func TestPowerIsAsSciPyHasIt(t *testing.T) {
	for _, c := range []struct{ d, n, alpha, want float64 }{
		{1, 20, .05, 0.8689528016921273}, {.5, 10, .05, 0.18383752956641344},
		{1.325, 10, .05, 0.8000301650066585}, {3, 3, .01, 0.3777765706935057},
	} {
		nearly(t, "power", must[float64](t)(ofArms(c.n).Power(c.d, c.alpha)), c.want, 1e-9)
	}
	for _, c := range []struct{ margin, n, want float64 }{
		{1, 10, 0.39093922216291666}, {.5, 10, 0.0009725035583374308}, {1.5, 10, 0.8857272718726364},
		{2, 5, 0.7835798746854916}, {.3, 200, 0.8229973260559386},
	} {
		nearly(t, "power of equivalence", must[float64](t)(ofArms(c.n).EquivalencePower(c.margin, .05)), c.want, 1e-8)
	}
	// Two runs of each arm show next to nothing.
	nearly(t, "detectable by two", must[float64](t)(MinimumDetectable(2, .9, .01)), 15.179114046287607, 1e-9)
	nearly(t, "detectable by two at .001", must[float64](t)(MinimumDetectable(2, .8, .001)), 40.11535906753486, 1e-9)
	// A test of two equal samples says the same in the unit of its difference.
	ten := TTest{SE: 2 * math.Sqrt(2./10), DF: 18} // standard deviation 2
	nearly(t, "power of a test", must[float64](t)(ten.Power(1, .05)), 0.18383752956641344, 1e-9)
	nearly(t, "equivalence of a test", must[float64](t)(ten.EquivalencePower(3, .05)), 0.8857272718726364, 1e-8)
	w := must[TTest](t)(Pooled(sleepA, sleepB))
	nearly(t, "detectable", must[float64](t)(w.Detectable(.8, .05)), 1.3249488954670048*pooledSD(
		must[Moments](t)(MomentsOf(sleepA)), must[Moments](t)(MomentsOf(sleepB))), 1e-8)
}

// SciPy's own BCa intervals with 99,999 resamples or more; the draws are others, so that the ends agree to the
// noise of 9,999.
func TestBCaIsAsSciPyHasIt(t *testing.T) {
	means := func(a, b []float64) float64 { return mean(b) - mean(a) }
	medians := func(a, b []float64) float64 { return Median(b) / Median(a) }
	spreads := func(a, b []float64) float64 { return momentsOf(b).SD / max(momentsOf(a).SD, 1e-9) }
	spread := func(_, b []float64) float64 { return momentsOf(b).SD }
	digits := []float64{3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8}
	for _, c := range []struct {
		name      string
		a, b      []float64
		figure    func(a, b []float64) float64
		level     float64
		low, high float64
		within    float64
	}{
		{"means", sleepA, sleepB, means, .95, 0, 3.15, .08},
		{"means at 99 %", sleepA, sleepB, means, .99, -.48, 3.63, .15},
		// Without the corrections it is 0.215 to 0.880.
		{"ratio of spreads", digits, skewed, spreads, .95, 0.2350, 0.9994, .04},
		// Without them it is 0.554 to 1.677.
		{"spread", digits, skewed, spread, .95, 0.6934, 2.0134, .06},
		{"ratio of medians", jsonOld, jsonNew, medians, .95, 0.820081253627394, 0.8345049794961921, 1e-3},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := must[Bootstrap](t)(BCa(c.a, c.b, c.figure, 9999, c.level, 7))
			if math.Abs(got.Low-c.low) > c.within || math.Abs(got.High-c.high) > c.within {
				t.Errorf("%v to %v, want %v to %v", got.Low, got.High, c.low, c.high)
			}
			if got.Seed != 7 || got.Resamples != 9999 || got.Estimate != c.figure(c.a, c.b) {
				t.Errorf("%+v", got)
			}
			if again := must[Bootstrap](t)(BCa(c.a, c.b, c.figure, 9999, c.level, 7)); again != got {
				t.Errorf("%+v, then %+v", got, again)
			}
		})
	}
}

// Of a difference of means the acceleration is the skewness of all distances from their means, each by its
// share; of a symmetric sample it is 0.
func TestBCaAcceleratesBySkewness(t *testing.T) {
	means := func(a, b []float64) float64 { return mean(b) - mean(a) }
	cubes, squares := 0.0, 0.0
	for sign, x := range map[float64][]float64{-1: gobOld, 1: gobNew[:7]} {
		for _, v := range x {
			d := sign * (v - mean(x)) / float64(len(x))
			cubes += d * d * d
			squares += d * d
		}
	}
	got := must[Bootstrap](t)(BCa(gobOld, gobNew[:7], means, 999, .95, 1))
	nearly(t, "acceleration", got.Acceleration, cubes/(6*math.Pow(squares, 1.5)), 1e-9)
	even := must[Bootstrap](t)(BCa([]float64{1, 2, 3}, []float64{4, 6, 8}, means, 999, .95, 1))
	near(t, "acceleration of symmetric samples", even.Acceleration, 0, 12)
}

// What the tables promise is what happens: of 20,000 made-up experiments as many find the difference, show
// equality and hold the truth in their interval as the arithmetic says, to four standard deviations of
// such a count.
func TestSimulatedExperimentsAgreeWithTheComputedPower(t *testing.T) {
	const experiments, n, shift, margin = 20_000, 8, 1.2, 1.6
	random := rand.New(rand.NewPCG(1, 1))
	found, equal, held, pairs := 0, 0, 0, 0
	a, b := make([]float64, n), make([]float64, n)
	for range experiments {
		for i := range n {
			a[i], b[i] = random.NormFloat64(), random.NormFloat64()
		}
		w := must[TTest](t)(Pooled(a, b))
		if ci := w.Interval(.95); ci.Holds(0) {
			held++
		}
		if w.EquivalentBetween(-margin, margin).P <= .05 {
			equal++
		}
		if w.Interval(.95).Low+shift > 0 { // as if b were larger by the shift
			found++
		}
		if must[TTest](t)(Paired(a, b)).EquivalentBetween(-margin, margin).P <= .05 {
			pairs++
		}
	}
	paired := TTest{SE: math.Sqrt(2. / n), DF: n - 1}
	for _, c := range []struct {
		what string
		n    int
		want float64
	}{
		{"interval holds the truth", held, .95},
		{"difference found", found, must[float64](t)(ofArms(n).Power(shift, .05))},
		{"shown equal", equal, must[float64](t)(ofArms(n).EquivalencePower(margin, .05))},
		{"shown equal by pairs", pairs, must[float64](t)(paired.EquivalencePower(margin, .05))},
	} {
		if off := math.Abs(float64(c.n) - experiments*c.want); off > 4*math.Sqrt(experiments*c.want*(1-c.want)) {
			t.Errorf("%s in %d of %d, the arithmetic says %.0f", c.what, c.n, experiments, experiments*c.want)
		}
	}
}

func mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// scipy.stats.t, where degrees of freedom and tails are far from the usual.
func TestStudentsTHoldsFarOut(t *testing.T) {
	nearly(t, "df 1e6", tQuantile(.975, 1e6), 1.959966356814107, 1e-9)
	nearly(t, "df 1", tQuantile(.975, 1), 12.706204736174694, 1e-9)
	nearly(t, "df 2.5", tQuantile(.9995, 2.5), 18.277893528131457, 1e-9)
	nearly(t, "t 60", 2*tAbove(60, 9), 5.001190471672901e-13, 1e-9)
	nearly(t, "t 8", 2*tAbove(8, 300.5), 2.7226662134584223e-14, 1e-9)
}

// SciPy 1.17.1: scipy.stats.mannwhitneyu(b, a, method="asymptotic"). Below 1e-16 one less a distribution
// function has no digit left.
func TestMannWhitneyHasItsDigitsFarOut(t *testing.T) {
	a, b := make([]float64, 40), make([]float64, 40)
	low, high := make([]float64, 200), make([]float64, 200)
	for i := range a {
		a[i], b[i] = float64(i+1), 100+float64((i+1)*7%41)
	}
	for i := range low {
		low[i], high[i] = float64(i+1), 301+float64(i)
	}
	for _, c := range []struct {
		name       string
		a, b       []float64
		p, greater float64
	}{
		{"40 apart", a, b, 1.435085306393668e-14, 7.17542653196834e-15},
		{"200 apart", low, high, 4.830856390397399e-67, 2.4154281951986995e-67},
	} {
		r := must[RankTest](t)(MannWhitney(c.a, c.b))
		nearly(t, c.name+": p", r.P, c.p, 1e-12)
		nearly(t, c.name+": greater", r.Greater, c.greater, 1e-12)
		back := must[RankTest](t)(MannWhitney(c.b, c.a))
		nearly(t, c.name+": p of the arms exchanged", back.P, c.p, 1e-12)
		nearly(t, c.name+": less", back.Less, c.greater, 1e-12)
	}
}

// SciPy 1.17.1: scipy.stats.shapiro.
func TestShapiroWilkHasItsDigitsFarOut(t *testing.T) {
	outlier := make([]float64, 301)
	for i := range outlier {
		outlier[i] = float64(i*7919%1009) / 10
	}
	outlier[300] = 1e4
	for _, c := range []struct {
		name string
		x    []float64
		w, p float64
	}{
		{"one far out of 301", outlier, 0.05163648455871861, 5.455547112717542e-36},
		{"ninth powers", powers(200, 9), 0.5445918391936977, 1.4151998070639795e-22},
		{"fifth powers", powers(1000, 5), 0.694604655264033, 4.2618828654821606e-39},
		{"one far out of eleven", []float64{1, 2, 4, 1e6, 3, 2, 5, 1, 2, 3, 1}, 0.344994902809592, 2.2436229724849037e-08},
	} {
		n := must[Normality](t)(ShapiroWilk(c.x))
		nearly(t, c.name+": W", n.W, c.w, 1e-7)
		nearly(t, c.name+": p", n.P, c.p, 1e-4) // of such a p a digit of W is several
	}
}

// powers are n values that begin anew after 97, each to a power.
func powers(n, power int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 1
		for range power {
			x[i] *= float64(i % 97)
		}
	}
	return x
}

// SciPy 1.17.1: 2 scipy.stats.t.sf.
func TestStudentsTHasItsDigitsFarOut(t *testing.T) {
	for _, c := range []struct{ t, df, p float64 }{
		{40, 60, 5.755480486627385e-45}, {30, 18, 8.016968967131056e-17}, {1000, 8, 1.1199677445913502e-21},
	} {
		nearly(t, "p", 2*tAbove(c.t, c.df), c.p, 1e-9)
	}
}
