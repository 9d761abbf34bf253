package compare_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// A margin of 50 % is from half to one and a half times the baseline, which are not as far from it on the
// logarithmic scale.
func TestAShareIsOneOfTheBaselineBothWays(t *testing.T) {
	for ratio, want := range map[float64]compare.Verdict{.55: compare.Irrelevant, .45: compare.Worse, 1.45: compare.Irrelevant, 1.6: compare.Better} {
		var e experiment
		e.throughput(order("abbaabba"), map[string][]float64{"a": shifted(0, .1), "b": shifted(100*(ratio-1), .1)})
		o := compare.Options{Margins: map[string]figure.Margin{figure.OutputTokensPerSecond: {Value: .5, Relative: true}}}
		if m := metricOf(t, mustCompare(t, e.runs, o), figure.OutputTokensPerSecond); m.Verdict != want {
			t.Errorf("%v of the baseline is %s, want %s", ratio, m.Verdict, want)
		}
	}
}

// On the logarithmic scale an interval is one of ratios; its ends in the unit, and the least difference
// that would be found, are those ratios of the baseline.
func TestTheScalesOfAnIntervalAgree(t *testing.T) {
	var e experiment
	e.throughput(order("abbaabba"), map[string][]float64{"a": shifted(0, 10), "b": shifted(60, 30)})
	m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.OutputTokensPerSecond)
	for end := range 2 {
		if want := (m.RatioCI95[end] - 1) * *m.A.Mean; math.Abs(m.CI95[end]-want) > 1e-9 {
			t.Errorf("end %d: %v in the unit, %v by the ratio", end, m.CI95[end], want)
		}
	}
	// Half the interval in standard errors is t at 95 %, about 2.8 here; the detectable is about 1.4 times that.
	half := math.Log(m.RatioCI95[1]/m.RatioCI95[0]) / 2
	if ratio := math.Log1p(*m.MDE) / half; ratio < 1.2 || ratio > 1.6 {
		t.Errorf("detectable is %v, half the interval %v", *m.MDE, half)
	}
}

// Three pairs among many runs that are in none are not what was measured.
func TestFewPairsAmongManyRunsAreNoPairedTest(t *testing.T) {
	for pairs, want := range map[int]bool{2: false, 3: false, 4: true} {
		var e experiment
		for i, arm := range order("abbaabbaabbaab") {
			e.run(arm, map[string]float64{figure.OutputTokensPerSecond: 100 + float64(i*5%7)}, func(r *compare.Run) {
				if i/2 < pairs {
					r.Pair = fmt.Sprint("p", i/2)
				}
			})
		}
		if m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.OutputTokensPerSecond); m.Paired != want {
			t.Errorf("%d pairs of 7 runs of an arm: paired %v", pairs, m.Paired)
		}
	}
	var e experiment // two pairs, and no other run
	e.throughput(order("abba"), map[string][]float64{"a": noise, "b": noise[1:]})
	for i := range e.runs {
		e.runs[i].Pair = fmt.Sprint(i / 2)
	}
	if m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.OutputTokensPerSecond); m.Paired {
		t.Error("two pairs are tested as such")
	}
}
