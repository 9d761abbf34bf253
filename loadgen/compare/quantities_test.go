package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// measured makes a campaign of ten rounds in which the metrics of a run follow from two figures of it.
func measured(of func(speed, delay float64) map[string]float64) experiment {
	var e experiment
	random := rand.New(rand.NewPCG(11, 1))
	for i := range 20 {
		speed, delay := 100*math.Exp(.015*random.NormFloat64()), .3*math.Exp(.02*random.NormFloat64())
		e.run(string("abba"[i%4]), of(speed, delay), func(r *compare.Run) { r.Pair = fmt.Sprint("p", i/2) })
	}
	return e
}

// Requests, input and output tokens of a load with fixed lengths have the same test three times over.
func TestWhatIsOneQuantityIsAdjustedOnce(t *testing.T) {
	c := mustCompare(t, measured(func(speed, delay float64) map[string]float64 {
		return map[string]float64{
			figure.OutputTokensPerSecond: speed, "requests_per_second": speed / 128, "input_tokens_per_second": 12 * speed,
			figure.TimeToFirstToken: delay, "time_to_first_token_send_p50_seconds": .999 * delay, "request_duration_p50_seconds": delay + 1/speed,
		}
	}).runs, compare.Options{})
	first := metricOf(t, c, figure.TimeToFirstToken)
	for name, want := range map[string]string{
		figure.OutputTokensPerSecond: "", "requests_per_second": figure.OutputTokensPerSecond, "input_tokens_per_second": figure.OutputTokensPerSecond,
		figure.TimeToFirstToken: "", "time_to_first_token_send_p50_seconds": figure.TimeToFirstToken,
	} {
		if m := metricOf(t, c, name); m.SameAs != want {
			t.Errorf("%s is one quantity with %q, want %q", name, m.SameAs, want)
		}
	}
	// As if the first token and the duration were the only two that do not decide.
	if p := *first.PairedP; math.Abs(*first.HolmP-min(1, 2*p)) > 1e-12 && math.Abs(*first.HolmP-p) > 1e-12 {
		t.Errorf("p %v is adjusted to %v", p, *first.HolmP)
	}
	// A quantity of the metric that decides is decided with it.
	if m := metricOf(t, c, "requests_per_second"); *m.HolmP != *m.PairedP || m.Verdict != tokens(t, c).Verdict {
		t.Errorf("requests: p %v, adjusted %v, %s", *m.PairedP, *m.HolmP, m.Verdict)
	}
}

// Metrics that have the effect of the arm in common, or the noise of the runs, are two quantities.
func TestWhatHasOnlyItsArmOrItsNoiseInCommonIsTwoQuantities(t *testing.T) {
	e := measured(func(speed, delay float64) map[string]float64 {
		return map[string]float64{figure.OutputTokensPerSecond: speed, figure.TimeToFirstToken: delay, figure.TimePerOutputToken: delay / 10, "energy_joules": speed}
	})
	for i := range e.runs {
		if e.runs[i].Labels["arm"] == "b" {
			e.runs[i].Metrics[figure.OutputTokensPerSecond] *= 2
			e.runs[i].Metrics[figure.TimeToFirstToken] *= 2
			e.runs[i].Metrics["energy_joules"] *= 1.5
		}
	}
	c := mustCompare(t, e.runs, compare.Options{})
	for _, m := range c.Strata[0].Pairs[0].Metrics {
		if m.SameAs != "" {
			t.Errorf("%s is one quantity with %s", m.Name, m.SameAs)
		}
	}
}

// A plan for a difference like the one that was seen, and one for the margin, are two plans.
func TestRunsNeededAreOfTheEffectAndOfTheMarginApart(t *testing.T) {
	for name, c := range map[string]struct {
		shift, spread float64
		effect        bool // fewer runs for the effect than for the margin
	}{
		"a large effect in a large spread": {6, 5, true},
		"hardly any effect":                {.2, 4, false},
	} {
		var e experiment
		e.throughput(order("abbaabba"), map[string][]float64{"a": shifted(0, c.spread), "b": shifted(c.shift, c.spread)})
		m := tokens(t, mustCompare(t, e.runs, compare.Options{}))
		if m.Verdict != compare.Inconclusive || m.NeedN == nil || *m.NeedN <= 4 {
			t.Fatalf("%s: %s, %v", name, m.Verdict, m.NeedN)
		}
		if fewer := m.NeedForEffect != nil && *m.NeedForEffect < *m.NeedN; fewer != c.effect {
			t.Errorf("%s: %v for the effect, %d for the margin", name, m.NeedForEffect, *m.NeedN)
		}
	}
	// sd 5, difference 6: by the noncentral t of SciPy 11 of each arm find it in 76 % of repetitions, 12 in 80 %.
	var e experiment
	e.throughput(order("abbaabba"), map[string][]float64{"a": shifted(0, 5), "b": shifted(6, 5)})
	linear := compare.Options{Margins: map[string]figure.Margin{figure.OutputTokensPerSecond: {Value: 2}}}
	if m := tokens(t, mustCompare(t, e.runs, linear)); m.NeedForEffect == nil || *m.NeedForEffect != 12 {
		t.Errorf("for the effect: %v", m.NeedForEffect)
	}
}

// The change is that of the means beside it, on whatever scale the interval is.
func TestTheChangeIsThatOfTheMeansOfItsRow(t *testing.T) {
	var e experiment
	e.throughput(order("abbaabba"), map[string][]float64{"a": {100, 100.5, 99.5, 100}, "b": {60, 150, 90, 120}})
	m := tokens(t, mustCompare(t, e.runs, compare.Options{}))
	if math.Abs(*m.Ratio - *m.B.Mean / *m.A.Mean) > 1e-12 || m.Scale != figure.ScaleLog {
		t.Errorf("ratio %v of means %v and %v", *m.Ratio, *m.B.Mean, *m.A.Mean)
	}
	if want := math.Pow(60*150*90*120, .25) / math.Pow(100*100.5*99.5*100, .25); math.Abs(*m.GeometricRatio-want) > 1e-9 {
		t.Errorf("geometric ratio %v, want %v", *m.GeometricRatio, want)
	}
}

// GPU-held memory was 5.16 GiB less in every run, with a margin of 1 GiB.
func TestADifferenceInEveryRunIsAVerdict(t *testing.T) {
	const held = "gpu_held_peak_bytes"
	var e experiment
	for i, arm := range order("abbaabba") {
		e.run(arm, map[string]float64{
			figure.OutputTokensPerSecond: 100 + float64(i%3), held: map[string]float64{"a": 15.86, "b": 10.70}[arm] * gib,
			figure.KVCapacity: map[string]float64{"a": 8, "b": 4}[arm] * gib, figure.MemoryOccupiedWithoutKV: 5.29 * gib,
		}, func(r *compare.Run) { r.Pair = fmt.Sprint(i / 2) })
	}
	c := mustCompare(t, e.runs, compare.Options{})
	for name, want := range map[string]compare.Verdict{held: compare.Different, figure.KVCapacity: compare.Worse, figure.MemoryOccupiedWithoutKV: compare.Equivalent} {
		if m := metricOf(t, c, name); m.Verdict != want || !m.Constant || m.Confounded || m.HolmP != nil {
			t.Errorf("%s: %s, constant %v, confounded %v", name, m.Verdict, m.Constant, m.Confounded)
		}
	}
}

// The same difference in every pair needs no test either, however much the rounds differ.
func TestADifferenceThatIsTheSameInEveryPairIsAVerdict(t *testing.T) {
	for shift, want := range map[float64]compare.Verdict{3: compare.Worse, .5: compare.Irrelevant, 0: compare.Equivalent} {
		var e experiment
		for i, arm := range order("abbaabbaabba") {
			v := 60 + float64(i/2*3%7)
			if arm == "b" {
				v += shift
			}
			e.run(arm, map[string]float64{figure.MemoryOccupiedWithoutKV: v * gib, figure.OutputTokensPerSecond: 100 + float64(i%5)}, func(r *compare.Run) { r.Pair = fmt.Sprint(i / 2) })
		}
		m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.MemoryOccupiedWithoutKV)
		if m.Verdict != want || !m.Constant || math.Abs(*m.Difference-shift*gib) > 1e-3 || m.PairedP != nil {
			t.Errorf("%v GiB in every pair: %s, constant %v, %q", shift, m.Verdict, m.Constant, m.Notes)
		}
	}
}

// Capacities are written with two digits of a GiB: of runs that hardly differ that is a large share of what differs.
func TestALineThatFitsExplainsTheKVCache(t *testing.T) {
	var e experiment
	for i, arm := range order("abbaabba") {
		free := (60 + .3*float64(i*3%8)/7) * gib
		kv := .9 * free
		if i == 5 {
			kv += .004 * gib // an eightieth of the range
		}
		e.run(arm, map[string]float64{figure.OutputTokensPerSecond: 100 + float64(i%3)}, func(r *compare.Run) {
			r.KV = compare.KV{FreeAtSizingBytes: &free, CapacityBytes: &kv}
		})
	}
	if m := mustCompare(t, e.runs, compare.Options{}).KVModel; m == nil || !m.Explained || m.Fails || m.Share < .999 {
		t.Errorf("%+v", m)
	}
	for residual, want := range map[float64][2]bool{.01: {true, false}, 2: {false, false}, 60: {false, true}} {
		if m := mustCompare(t, sized(residual).runs, compare.Options{}).KVModel; m == nil || m.Explained != want[0] || m.Fails != want[1] {
			t.Errorf("a residual of %v GiB: %+v", residual, m)
		}
	}
}
