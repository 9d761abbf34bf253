package stats

import (
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"
)

// outcomes are all methods for two samples, by the numbers that they give.
var outcomes = map[string]func(a, b []float64) (p, other []float64, err error){
	"Describe": func(a, _ []float64) ([]float64, []float64, error) {
		d, err := Describe(a)
		numbers := []float64{d.Mean, d.Median, d.Min, d.Max}
		for _, v := range []*float64{d.SD, d.PopulationSD, d.CV} {
			if v != nil {
				numbers = append(numbers, *v)
			}
		}
		return nil, numbers, err
	},
	"MeanInterval": func(a, _ []float64) ([]float64, []float64, error) {
		i, err := MeanInterval(a, .95)
		return nil, []float64{i.Low, i.High}, err
	},
	"Welch":         ofTTest(Welch),
	"Pooled":        ofTTest(Pooled),
	"Paired":        ofTTest(Paired),
	"Beside":        ofTTest(MeanAgainst),
	"BalancedPairs": ofTTest(func(a, b []float64) (TTest, error) { return BalancedPairs(a, b, abba(len(a))) }),
	"Trend":         ofTTest(func(a, b []float64) (TTest, error) { return Trend(a, b, abba(len(a))) }),
	"TrendInTime":   ofTTest(TrendInTime),
	"PairTrend": ofTTest(func(a, b []float64) (TTest, error) {
		places := make([]float64, len(a))
		for i := range places {
			places[i] = float64(i)
		}
		return PairTrend(places, a, b, abba(len(a)))
	}),
	"TrendDifference": ofTTest(func(a, b []float64) (TTest, error) { return TrendDifference(a, b, b, a) }),
	"MannWhitney": func(a, b []float64) ([]float64, []float64, error) {
		r, err := MannWhitney(a, b)
		return []float64{r.P, r.Less, r.Greater}, []float64{r.U}, err
	},
	"HodgesLehmann": ofFigure(HodgesLehmann),
	"CohenD":        ofFigure(CohenD),
	"HedgesG":       ofFigure(HedgesG),
	"Grubbs": func(a, _ []float64) ([]float64, []float64, error) {
		g, err := Grubbs(a, .05)
		return nil, []float64{g.G, g.Critical}, err
	},
	"ModifiedZ": func(a, _ []float64) ([]float64, []float64, error) {
		z, err := ModifiedZ(a)
		return nil, z, err
	},
	"Spearman": func(a, b []float64) ([]float64, []float64, error) {
		c, err := Spearman(a, b)
		return []float64{c.P}, []float64{c.R}, err
	},
	"Lag1": ofFigure(func(a, _ []float64) (float64, error) { return Lag1(a) }),
	"BCa": func(a, b []float64) ([]float64, []float64, error) {
		r, err := BCa(a, b, func(a, b []float64) float64 { return Median(b) - Median(a) }, 99, .9, 1)
		return nil, []float64{r.Low, r.High, r.Bias, r.Acceleration, r.Estimate}, err
	},
	"ShapiroWilk": func(a, _ []float64) ([]float64, []float64, error) {
		n, err := ShapiroWilk(a)
		return []float64{n.P}, []float64{n.W}, err
	},
	"Logs": func(a, _ []float64) ([]float64, []float64, error) {
		logs, err := Logs(a)
		return nil, logs, err
	},
}

func ofTTest(test func(a, b []float64) (TTest, error)) func(a, b []float64) ([]float64, []float64, error) {
	return func(a, b []float64) ([]float64, []float64, error) {
		w, err := test(a, b)
		if err != nil {
			return nil, nil, err
		}
		e, i := w.EquivalentBetween(-w.SE, w.SE), w.Interval(.95)
		return []float64{w.P, e.P, e.PL, e.PU}, []float64{w.Difference, w.SE, w.T, w.DF, e.TL, e.TU, i.Low, i.High}, nil
	}
}

func ofFigure(figure func(a, b []float64) (float64, error)) func(a, b []float64) ([]float64, []float64, error) {
	return func(a, b []float64) ([]float64, []float64, error) {
		v, err := figure(a, b)
		return nil, []float64{v}, err
	}
}

// isStated fails unless a method gives one of the errors of the package, or numbers alone.
func isStated(t *testing.T, name string, a, b []float64) error {
	t.Helper()
	p, numbers, err := outcomes[name](a, b)
	if err != nil {
		for _, known := range []error{ErrTooFew, ErrNoSpread, ErrNotFinite, ErrNotPositive, ErrUnpaired} {
			if errors.Is(err, known) {
				return known
			}
		}
		t.Fatalf("%s of %v and %v: %v is none of the errors", name, a, b, err)
	}
	for _, v := range p {
		if !(v > 0 && v <= 1) {
			t.Fatalf("%s of %v and %v: p = %v", name, a, b, v)
		}
	}
	for _, v := range numbers {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Fatalf("%s of %v and %v: %v", name, a, b, numbers)
		}
	}
	return nil
}

func TestDegenerateInputHasAStatedOutcome(t *testing.T) {
	one, same, twoOf := []float64{4}, []float64{.1, .1, .1, .1, .1, .1, .1}, []float64{1, 2}
	rounded := []float64{.1 + .2, .3, .3, .3, .3, .3, .3} // the same but for the last bit
	several := []float64{3, 1, 2, 5, 4, 7, 6}
	for _, c := range []struct {
		what string
		a, b []float64
		// want is what the methods say that are named; all others have to say something that is allowed.
		want map[string]error
	}{
		{"no values", nil, nil, map[string]error{"Describe": ErrTooFew, "Welch": ErrTooFew, "Paired": ErrTooFew, "MannWhitney": ErrTooFew, "HodgesLehmann": ErrTooFew, "Spearman": ErrTooFew, "Lag1": ErrTooFew, "ShapiroWilk": ErrTooFew, "BCa": ErrTooFew}},
		{"one value", one, one, map[string]error{"Describe": nil, "Welch": ErrTooFew, "Pooled": ErrTooFew, "MeanInterval": ErrTooFew, "MannWhitney": ErrNoSpread, "HodgesLehmann": nil, "HedgesG": ErrTooFew, "Grubbs": ErrTooFew, "ModifiedZ": ErrTooFew, "BCa": ErrTooFew}},
		{"one against several", one, several, map[string]error{"Welch": ErrTooFew, "MannWhitney": nil}},
		{"two values", twoOf, several, map[string]error{"Welch": nil, "HedgesG": nil, "Grubbs": ErrTooFew, "Spearman": ErrTooFew}},
		{"all the same", same, same, map[string]error{"Describe": nil, "Welch": ErrNoSpread, "Pooled": ErrNoSpread, "Paired": ErrNoSpread, "MannWhitney": ErrNoSpread, "CohenD": ErrNoSpread, "HedgesG": ErrNoSpread, "Grubbs": ErrNoSpread, "ModifiedZ": ErrNoSpread, "Spearman": ErrNoSpread, "Lag1": ErrNoSpread, "ShapiroWilk": ErrNoSpread, "BCa": ErrNoSpread, "MeanInterval": nil}},
		{"the same but for rounding", rounded, same, map[string]error{"Welch": ErrNoSpread, "Pooled": ErrNoSpread, "HedgesG": ErrNoSpread, "Grubbs": ErrNoSpread, "Lag1": ErrNoSpread, "ShapiroWilk": ErrNoSpread}},
		{"two constants apart", same, []float64{9, 9, 9, 9, 9, 9, 9}, map[string]error{"Welch": ErrNoSpread, "Paired": ErrNoSpread, "MannWhitney": nil, "BCa": ErrNoSpread}},
		{"one arm without spread", same, several, map[string]error{"Welch": nil, "Pooled": nil, "Paired": nil, "MannWhitney": nil, "Spearman": ErrNoSpread}},
		{"a constant shift", several, []float64{4, 2, 3, 6, 5, 8, 7}, map[string]error{"Paired": ErrNoSpread, "BalancedPairs": ErrNoSpread, "Trend": nil, "Welch": nil}},
		{"not a number", []float64{1, math.NaN(), 3, 4}, several, map[string]error{"Describe": ErrNotFinite, "Welch": ErrNotFinite, "Paired": ErrNotFinite, "MannWhitney": ErrNotFinite, "HodgesLehmann": ErrNotFinite, "Grubbs": ErrNotFinite, "ModifiedZ": ErrNotFinite, "Spearman": ErrNotFinite, "Lag1": ErrNotFinite, "ShapiroWilk": ErrNotFinite, "BCa": ErrNotFinite, "MeanInterval": ErrNotFinite, "Logs": ErrNotFinite}},
		{"infinite", several, []float64{1, 2, math.Inf(-1), 4, 5}, map[string]error{"Welch": ErrNotFinite, "MannWhitney": ErrNotFinite, "HodgesLehmann": ErrNotFinite, "BCa": ErrNotFinite}},
		{"too large", []float64{1e308, -1e308, 1e308, -1.7e308}, []float64{-1e308, 1e308, 1.7e308, 1e308}, map[string]error{"Describe": ErrNotFinite, "Welch": ErrNotFinite, "HodgesLehmann": ErrNotFinite}},
		{"large", []float64{1e150, -1e150, 1e150, -1e149}, []float64{-1e150, 1e150, 1e149, 1e150}, map[string]error{"Describe": nil, "MeanInterval": nil, "Welch": nil, "HodgesLehmann": nil, "MannWhitney": nil, "HedgesG": nil}},
		{"very small", []float64{1e-300, 2e-300, 4e-300}, []float64{3e-300, 5e-300, 9e-300}, map[string]error{"Welch": nil, "HedgesG": nil, "ShapiroWilk": nil, "Lag1": nil}},
		{"worlds apart", []float64{1, 1.0000001, 1}, []float64{1e12, 1e12 + 1, 1e12}, map[string]error{"Welch": nil}},
		{"not as many", several, twoOf, map[string]error{"Paired": ErrUnpaired, "BalancedPairs": ErrUnpaired, "Trend": ErrUnpaired, "Welch": nil}},
		{"not positive", []float64{1, 0, 2}, several, map[string]error{"Logs": ErrNotPositive}},
		{"mean of zero", []float64{-1, 0, 1}, several, map[string]error{"Describe": nil}},
	} {
		t.Run(strings.ReplaceAll(c.what, " ", "_"), func(t *testing.T) {
			for name := range outcomes {
				got := isStated(t, name, c.a, c.b)
				if want, told := c.want[name]; told && got != want {
					t.Errorf("%s: %v, want %v", name, got, want)
				}
			}
		})
	}
}

func TestFiguresThatOneValueDoesNotHaveAreAbsent(t *testing.T) {
	d := must[Description](t)(Describe([]float64{7}))
	if d.N != 1 || d.Mean != 7 || d.Median != 7 || d.Min != 7 || d.Max != 7 || d.SD != nil || d.PopulationSD != nil || d.CV != nil {
		t.Errorf("%+v", d)
	}
	if d := must[Description](t)(Describe([]float64{-1, 1})); d.CV != nil || d.SD == nil {
		t.Errorf("of a mean of 0: %+v", d)
	}
	if d := must[Description](t)(Describe([]float64{5, 5, 5})); d.SD == nil || *d.SD != 0 || *d.PopulationSD != 0 || *d.CV != 0 {
		t.Errorf("of values that are all 5: %+v", d)
	}
}

func TestParametersOutOfRangeAreRefused(t *testing.T) {
	for name, err := range map[string]error{
		"level 1":                               second(MeanInterval(sleepA, 1)),
		"level 95":                              second(MeanInterval(sleepA, 95)),
		"NaN alpha":                             second(Grubbs(sleepA, math.NaN())),
		"alpha 0":                               second(MinimumDetectable(10, .8, 0)),
		"power 1":                               second(SampleSize(1, 1, .05)),
		"no difference":                         second(SampleSize(0, .8, .05)),
		"one run":                               second(MinimumDetectable(1, .8, .05)),
		"NaN runs":                              second(EquivalenceMargin(math.NaN(), .8, .05)),
		"no margin":                             second(EquivalenceSampleSize(0, .8, .05)),
		"NaN margin":                            second(EquivalenceSampleSize(math.NaN(), .8, .05)),
		"beyond a million runs":                 second(SampleSize(1e-4, .8, .05)),
		"beyond a million runs for equivalence": second(EquivalenceSampleSize(1e-4, .8, .05)),
		"alpha of one half":                     second(EquivalenceMargin(10, .8, .5)),
		"no test":                               second(TTest{}.Power(1, .05)),
		"no test to detect":                     second(TTest{}.Detectable(.8, .05)),
		"no margin of a test":                   second(TTest{SE: 1, DF: 9}.EquivalencePower(0, .05)),
		"no resamples":                          second(BCa(sleepA, sleepB, shiftOf, 0, .95, 1)),
		"bootstrap level":                       second(BCa(sleepA, sleepB, shiftOf, 999, 1.5, 1)),
		"negative SD":                           second(WelchOf(Moments{3, 1, -1}, Moments{3, 1, 1})),
		"too many for normality":                second(ShapiroWilk(make([]float64, 5001))),
	} {
		if !errors.Is(err, ErrRange) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := second(WelchOf(Moments{3, math.NaN(), 1}, Moments{3, 1, 1})); !errors.Is(err, ErrNotFinite) {
		t.Errorf("NaN mean: %v", err)
	}
	if err := second(PooledOf(Moments{1, 1, 1}, Moments{3, 1, 1})); !errors.Is(err, ErrTooFew) {
		t.Errorf("one value: %v", err)
	}
}

func shiftOf(a, b []float64) float64 { v, _ := HodgesLehmann(a, b); return v }

func second[T any](_ T, err error) error { return err }

// FuzzAnyNumbersHaveAStatedOutcome feeds every method any bits at all as numbers.
func FuzzAnyNumbersHaveAStatedOutcome(f *testing.F) {
	for _, x := range [][]float64{nil, {1}, sleepA, {1e308, -1e308, 5e-324, 0, 3}, {math.NaN(), 1, 2}, {1, 1, 1, 1, 2, 2}} {
		var raw []byte
		for _, v := range append(x, x...) {
			raw = binary.LittleEndian.AppendUint64(raw, math.Float64bits(v))
		}
		f.Add(raw, uint8(len(x)))
	}
	f.Fuzz(func(t *testing.T, raw []byte, split uint8) {
		var x []float64
		for ; len(raw) >= 8 && len(x) < 60; raw = raw[8:] {
			x = append(x, math.Float64frombits(binary.LittleEndian.Uint64(raw)))
		}
		at := min(int(split), len(x))
		for name := range outcomes {
			isStated(t, name, x[:at], x[at:])
		}
	})
}
