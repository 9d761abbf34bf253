package stats

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// The samples of the vectors. sleepA and sleepB are groups 1 and 2 of R's data set sleep; the timings are
// those of the documentation of benchstat.
var (
	sleepA  = []float64{0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0}
	sleepB  = []float64{1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4}
	gobOld  = []float64{3069, 3075, 3069, 3067, 3207, 3064, 3064, 3058, 3059, 3062}
	gobNew  = []float64{3075, 3065, 3059, 3065, 3060, 3081, 3186, 3135, 3087, 3062}
	jsonOld = []float64{1726, 1723, 1707, 1707, 1713, 1729, 1736, 1707, 1705, 1774}
	jsonNew = []float64{1423, 1416, 1411, 1413, 1412, 1426, 1422, 1424, 1447, 1425}
	grubbs  = []float64{199.31, 199.53, 200.19, 200.82, 201.92, 201.95, 202.18, 245.57}
)

// near fails unless got is want to so many digits after the point; the last may be rounded or cut.
func near(t *testing.T, what string, got, want float64, digits int) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > 1.01*math.Pow(10, -float64(digits)) {
		t.Errorf("%s = %.17g, want %.*f", what, got, digits, want)
	}
}

// nearly fails unless got is want up to a share of it.
func nearly(t *testing.T, what string, got, want, share float64) {
	t.Helper()
	if math.IsNaN(got) || math.Abs(got-want) > share*math.Abs(want) {
		t.Errorf("%s = %.17g, want %.17g", what, got, want)
	}
}

func must[T any](t *testing.T) func(v T, err error) T {
	t.Helper()
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// R gives group 1 - group 2; a difference here is b - a, so that group 1 is b.
func TestVector1WelchOfSleep(t *testing.T) {
	one := must[Description](t)(Describe(sleepA))
	two := must[Description](t)(Describe(sleepB))
	near(t, "mean 1", one.Mean, .75, 15)
	near(t, "mean 2", two.Mean, 2.33, 14)
	near(t, "sd 1", *one.SD, 1.7890097, 7)
	near(t, "sd 2", *two.SD, 2.0022487, 7)
	w := must[TTest](t)(Welch(sleepB, sleepA))
	near(t, "t", w.T, -1.8608134674868533, 14)
	near(t, "df", w.DF, 17.77647351617849, 13)
	near(t, "p", w.P, .07939414018735817, 14)
	near(t, "se", w.SE, .8490910172, 10)
	ci := w.Interval(.95)
	near(t, "low", ci.Low, -3.3654832, 7)
	near(t, "high", ci.High, .2054832, 7)
	forth := must[TTest](t)(Welch(sleepA, sleepB))
	near(t, "difference b - a", forth.Difference, 1.58, 14)
}

func TestVector2PooledAndPairedOfSleep(t *testing.T) {
	pooled := must[TTest](t)(Pooled(sleepB, sleepA))
	near(t, "pooled t", pooled.T, -1.8608135, 7)
	near(t, "pooled df", pooled.DF, 18, 15)
	near(t, "pooled p", pooled.P, .0791867, 7)
	paired := must[TTest](t)(Paired(sleepB, sleepA))
	near(t, "paired t", paired.T, -4.0621277, 7)
	near(t, "paired df", paired.DF, 9, 15)
	near(t, "paired p", paired.P, .0028329, 7)
}

func TestVector3MannWhitneyOfSleep(t *testing.T) {
	exact := must[RankTest](t)(MannWhitney(sleepB, sleepA))
	if !exact.Exact {
		t.Error("ten values each are not exact")
	}
	near(t, "U", exact.U, 25.5, 15)
	near(t, "exact p", exact.P, .0658165364, 10)
	ranks := doubledRanks(slices.Concat(sleepA, sleepB))
	near(t, "normal p with continuity", normalMannWhitney(ranks, 10, .5).P, .06932757543362662, 13)
	near(t, "normal p without", normalMannWhitney(ranks, 10, 0).P, .0637223, 7)
}

func TestVector4EffectSizesOfSleep(t *testing.T) {
	near(t, "d", must[float64](t)(CohenD(sleepB, sleepA)), -.8321810813, 10)
	near(t, "J", hedgesJ(18), .9576464270, 10)
	near(t, "g", must[float64](t)(HedgesG(sleepB, sleepA)), -.7969352, 7)
}

func TestVector5EquivalenceOfSleep(t *testing.T) {
	w := must[TTest](t)(Welch(sleepB, sleepA))
	e := w.EquivalentBetween(-.5, .5)
	near(t, "tL", e.TL, -1.2719484, 7)
	near(t, "pL", e.PL, .8901100, 7)
	near(t, "tU", e.TU, -2.4496785, 7)
	near(t, "pU", e.PU, .0124513, 7)
	near(t, "p", e.P, .8901100, 7)
	ci := w.Interval(.90)
	near(t, "low", ci.Low, -3.0533815, 7)
	near(t, "high", ci.High, -.1066185, 7)
	if ci.Inside(-.5, .5) {
		t.Error("equivalent")
	}
}

func TestVector6PooledOfMoments(t *testing.T) {
	us, japan := Moments{N: 249, Mean: 20.14458, SD: 6.414700}, Moments{N: 79, Mean: 30.48101, SD: 6.107710}
	near(t, "pooled sd", pooledSD(us, japan), 6.342600, 6)
	pooled := must[TTest](t)(PooledOf(japan, us))
	near(t, "T", pooled.T, -12.62059, 5)
	near(t, "df", pooled.DF, 326, 15)
	near(t, "critical", tQuantile(.975, 326), 1.9673, 4)
	w := must[TTest](t)(WelchOf(japan, us))
	near(t, "Welch T", w.T, -12.946, 3)
	near(t, "Welch df", w.DF, 136.875, 3)
}

func TestVector7TestsOfMoments(t *testing.T) {
	b, a := Moments{N: 13, Mean: 15, SD: math.Sqrt(87.5)}, Moments{N: 11, Mean: 12, SD: math.Sqrt(39)}
	pooled := must[TTest](t)(PooledOf(a, b))
	near(t, "t", pooled.T, .905135809331027, 14)
	near(t, "p", pooled.P, .3751996797581, 13)
	w := must[TTest](t)(WelchOf(a, b))
	near(t, "Welch t", w.T, .9358461935556, 13)
	near(t, "Welch df", w.DF, 20.984611, 6)
	near(t, "Welch p", w.P, .3599981869324, 13)
}

func TestVector8MannWhitneyOfFiveAndFour(t *testing.T) {
	b, a := []float64{19, 22, 16, 29, 24}, []float64{20, 11, 17, 12}
	exact := must[RankTest](t)(MannWhitney(a, b))
	near(t, "U", exact.U, 17, 15)
	near(t, "p", exact.P, .1111111111111111, 15)
	near(t, "normal p", normalMannWhitney(doubledRanks(slices.Concat(b, a)), 5, .5).P, .11134688653314, 14)
}

func TestVector9MannWhitneyOfFours(t *testing.T) {
	exact := must[RankTest](t)(MannWhitney([]float64{0, 4, 6, 7}, []float64{2, 1, 3, 5}))
	near(t, "U", exact.U, 5, 15)
	near(t, "p", exact.P, .4857142857, 10)
	near(t, "less", exact.Less, .2428571429, 10)
}

func TestVector10TiesLeaveAProbability(t *testing.T) {
	exact := must[RankTest](t)(MannWhitney([]float64{1, 1, 1, 1, 1}, []float64{2, 1, 3, 5}))
	near(t, "U", exact.U, 17.5, 15)
	near(t, "greater", exact.Greater, .0476190476, 10)
	near(t, "p", exact.P, .0952380952, 10)
}

func TestVector11MannWhitneyOfGob(t *testing.T) {
	near(t, "old", Median(gobOld), 3065.5, 15)
	near(t, "new", Median(gobNew), 3070, 15)
	exact := must[RankTest](t)(MannWhitney(gobNew, gobOld))
	near(t, "U", exact.U, 39.5, 15)
	near(t, "p", exact.P, .4461018857, 10)
}

func TestVector12MannWhitneyAndWelchOfJSON(t *testing.T) {
	exact := must[RankTest](t)(MannWhitney(jsonNew, jsonOld))
	near(t, "U", exact.U, 100, 15)
	nearly(t, "p", exact.P, 1.082508822e-5, 1e-9)
	near(t, "delta in percent", 100*(Median(jsonNew)/Median(jsonOld)-1), -17.20, 2)
	w := must[TTest](t)(Welch(jsonNew, jsonOld))
	near(t, "t", w.T, 40.3605911, 7)
	near(t, "df", w.DF, 13.2030604, 7)
	nearly(t, "p", w.P, 3.2091e-15, 2e-5)
}

func TestVector13Power(t *testing.T) {
	near(t, "power", must[float64](t)(ofArms(20).Power(1, .05)), .8689528, 7)
	near(t, "n", must[float64](t)(SampleSize(1, .9, .05)), 22.02110, 5)
}

func TestVector14AdjustedP(t *testing.T) {
	p := []float64{.01, .04, .03, .005}
	for _, c := range []struct {
		name      string
		got, want []float64
	}{
		{"Holm", Holm(p), []float64{.03, .06, .06, .02}},
		{"Benjamini-Hochberg", BenjaminiHochberg(p), []float64{.02, .04, .04, .02}},
	} {
		for i := range p {
			near(t, c.name, c.got[i], c.want[i], 15)
		}
	}
	if !slices.Equal(p, []float64{.01, .04, .03, .005}) {
		t.Error("the p values themselves were changed")
	}
}

func TestVector15Grubbs(t *testing.T) {
	d := must[Description](t)(Describe(grubbs))
	near(t, "mean", d.Mean, 206.434, 3)
	near(t, "sd", *d.SD, 15.8526, 4)
	g := must[GrubbsTest](t)(Grubbs(grubbs, .05))
	near(t, "G", g.G, 2.4687646, 7)
	if g.At != 7 || !g.Outlier {
		t.Errorf("outlier %v at %d", g.Outlier, g.At)
	}
	near(t, "one-sided critical", grubbsCritical(8, .10), 2.0317, 4)
	near(t, "critical of ten", grubbsCritical(10, .05), 2.290, 3)
	near(t, "one-sided critical of ten", grubbsCritical(10, .10), 2.176, 3)
}

func TestVector16Quantiles(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	for p, want := range map[float64]float64{0: 1, .5: 5.5, .9: 9.1, .99: 9.91, 1: 10} {
		near(t, "quantile", Quantile(x, p), want, 14)
	}
}

func TestVector17StudentsQuantiles(t *testing.T) {
	near(t, "df 4", tQuantile(.975, 4), 2.7764451, 7)
	near(t, "df 9", tQuantile(.975, 9), 2.2621572, 7)
	near(t, "df 18", tQuantile(.975, 18), 2.1009220, 7)
	near(t, "df 18, one-sided", tQuantile(.95, 18), 1.7340636, 7)
}

// One value as far from ten as Student's quantile of 9 degrees of freedom has a p of 5 %; two values may
// be as far as the smaller error of their mean has it.
func TestAMeanAgainstASampleIsTestedByTheSpreadOfTheSample(t *testing.T) {
	const mean, sd, quantile = .75, 1.7890097, 2.2621572
	for n, values := range map[float64][]float64{1: {quantile}, 2: {quantile - .3, quantile + .3}} {
		se := sd * math.Sqrt(1./10+1/n)
		for i, v := range values {
			values[i] = mean + v*se
		}
		test := must[TTest](t)(MeanAgainst(sleepA, values))
		near(t, "p", test.P, .05, 6)
		near(t, "t", test.T, quantile, 6)
		near(t, "degrees of freedom", test.DF, 9, 9)
	}
	if _, err := MeanAgainst(sleepA[:1], sleepB); !errors.Is(err, ErrTooFew) {
		t.Errorf("beside one value: %v", err)
	}
}

func TestVector18MeanOfFiveRuns(t *testing.T) {
	x := []float64{150, 152, 148, 155, 151}
	d := must[Description](t)(Describe(x))
	near(t, "mean", d.Mean, 151.2, 13)
	near(t, "sd", *d.SD, 2.588, 3)
	near(t, "cv in percent", 100**d.CV, 1.71, 2)
	ci := must[Interval](t)(MeanInterval(x, .95))
	near(t, "low", ci.Low, 148.0, 1)
	near(t, "high", ci.High, 154.4, 1)
}

// What so many runs can say: the least differences and margins in standard deviations of a run, as
// tabulated to three digits and as SciPy 1.17.1 gives them by noncentral t and by quadrature.
func TestDetectableDifferencesByNumberOfRuns(t *testing.T) {
	for _, c := range []struct{ n, mde80, mde90, margin80, margin90 float64 }{
		{3, 3.070892843773154, 3.5892055535724676, 2.922022516675597, 3.314362111500126},
		{5, 2.024440977358963, 2.3479513485470007, 2.0320349065214014, 2.2876011010409734},
		{6, 1.795542617610486, 2.0806258522403462, 1.8181842612951808, 2.0455663495135075},
		{8, 1.506635850233147, 1.7445320175670276, 1.5401324189682601, 1.7319813344117514},
		{10, 1.3249488954670048, 1.5336922619995046, 1.3612407325828115, 1.5305699079232946},
		{15, 1.0598008421158944, 1.2264437740742096, 1.0954919042631117, 1.2316025941786182},
		{20, 0.9091301276269926, 1.0519931266584586, 0.9423988047045989, 1.0594447375136031},
		{30, 0.7356219641260285, 0.8511715143367038, 0.7645857492707763, 0.8595236654024024},
	} {
		for power, want := range map[float64][2]float64{.8: {c.mde80, c.margin80}, .9: {c.mde90, c.margin90}} {
			nearly(t, "detectable", must[float64](t)(MinimumDetectable(c.n, power, .05)), want[0], 1e-8)
			nearly(t, "margin", must[float64](t)(EquivalenceMargin(c.n, power, .05)), want[1], 1e-8)
			nearly(t, "runs", must[float64](t)(SampleSize(want[0], power, .05)), c.n, 1e-7)
			nearly(t, "runs for equivalence", must[float64](t)(EquivalenceSampleSize(want[1], power, .05)), c.n, 1e-7)
		}
	}
	// A claim "the same within 2 %" by ten runs needs a CV of 1.47 % at most for 80 % power.
	near(t, "CV in percent", 2/must[float64](t)(EquivalenceMargin(10, .8, .05)), 1.47, 2)
}

// The least p that a rank test can reach by so many runs of each arm.
func TestLeastPOfMannWhitney(t *testing.T) {
	for n, want := range map[int]float64{3: .1, 4: .02857, 5: .00794, 6: .00216, 8: .000155, 10: 1.0825e-5} {
		var a, b []float64
		for i := range n {
			a, b = append(a, float64(i)), append(b, float64(n+i))
		}
		nearly(t, "p", must[RankTest](t)(MannWhitney(a, b)).P, want, 5e-3)
	}
}
