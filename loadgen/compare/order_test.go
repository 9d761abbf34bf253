package compare_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

func TestTheKindOfAnOrderFollowsFromItsSequence(t *testing.T) {
	for sequence, want := range map[string]string{
		"ab":               compare.OrderSingle,
		"aaabbb":           compare.OrderBlocked,
		"aab":              compare.OrderBlocked,
		"abba":             compare.OrderABBA,
		"abbaabba":         compare.OrderABBA,
		"abbaab":           compare.OrderABBA, // the last round was cut off
		"abab":             compare.OrderAlternating,
		"abaabbab":         compare.OrderRandom,
		"aaaaabbbbbaaaaab": compare.OrderBlocked, // chance changes arms more often
		"aaabbbaaabbb":     compare.OrderRandom,
		"abccba":           compare.OrderABBA,
		"abcabc":           compare.OrderAlternating,
		"aabbcc":           compare.OrderBlocked,
		"abc":              compare.OrderSingle,
		"aaaaabbbbbccccca": compare.OrderBlocked, // of three arms as of two
		"abcbcacabacb":     compare.OrderRandom,
		"abccab":           compare.OrderRandom,
		"aabbccaabb":       compare.OrderRandom, // chance alone changes arms as seldom in 8 of 100
	} {
		var e experiment
		e.throughput(order(sequence), map[string][]float64{"a": noise, "b": noise, "c": noise})
		c := mustCompare(t, e.runs, compare.Options{})
		if got := c.Strata[0].Order; got.Kind != want || strings.Join(got.Sequence, "") != sequence {
			t.Errorf("%s is %s by %v, want %s", sequence, got.Kind, got.Sequence, want)
		}
	}
}

// A plan of which a run is invalid is still that plan, whether the run was repeated in its place or not.
func TestAnInvalidRunLeavesThePlanAsItWas(t *testing.T) {
	for sequence, invalid := range map[string]int{"abbaabba": 3, "abbbaabba": 2} {
		var e experiment
		e.throughput(order(sequence), map[string][]float64{"a": noise, "b": noise})
		e.runs[invalid].Valid = false
		s := mustCompare(t, e.runs, compare.Options{}).Strata[0]
		if s.Order.Kind != compare.OrderABBA || s.Pairs[0].Order.Kind != compare.OrderABBA || len(s.Order.Sequence) != len(sequence)-1 {
			t.Errorf("%s without run %d is %s, the pair %s, by %v", sequence, invalid+1, s.Order.Kind, s.Pairs[0].Order.Kind, s.Order.Sequence)
		}
	}
	var e experiment // and what is in blocks without its invalid run is in blocks
	e.throughput(order("aaaabbbba"), map[string][]float64{"a": noise, "b": noise})
	e.runs[8].Valid = false
	if s := mustCompare(t, e.runs, compare.Options{}).Strata[0]; s.Order.Kind != compare.OrderBlocked {
		t.Errorf("it is %s", s.Order.Kind)
	}
}

func TestAStartThatIsNotKnownIsNoOrder(t *testing.T) {
	var e experiment
	e.throughput(order("aaaabbbb"), map[string][]float64{"a": shifted(0, 1), "b": shifted(9, 1)})
	e.runs[2].StartedAt = time.Time{}
	c := mustCompare(t, e.runs, compare.Options{})
	s := c.Strata[0]
	if s.Order.Kind != compare.OrderUnknown || codes(c)[compare.CodeOrderUnknown] == nil {
		t.Errorf("order %s, warnings %v", s.Order.Kind, codes(c))
	}
	for _, series := range s.Arms["a"].Metrics {
		if series.Drift.Spearman != nil || series.Drift.Significant {
			t.Errorf("%s drifts by %v with times that are not known", series.Name, *series.Drift.Spearman)
		}
	}
}

func TestBlocksAndDriftConfoundAFinding(t *testing.T) {
	falling := []float64{110, 109, 108, 107, 106, 105}
	level := []float64{100.2, 99.9, 100.1, 99.8, 100, 100.15}
	for name, c := range map[string]struct {
		order      string
		b          []float64
		confounded bool
	}{
		"in blocks":                 {"aaaaaabbbbbb", []float64{110.2, 109.9, 110.1, 109.8, 110, 110.15}, true},
		"forth and back":            {"abbaabbaabba", []float64{110.2, 109.9, 110.1, 109.8, 110, 110.15}, false},
		"forth and back, one falls": {"abbaabbaabba", falling, true},
	} {
		var e experiment
		e.throughput(order(c.order), map[string][]float64{"a": level, "b": c.b})
		got := mustCompare(t, e.runs, compare.Options{})
		m := metricOf(t, got, figure.OutputTokensPerSecond)
		want := map[bool][2]compare.Verdict{false: {compare.Better, ""}, true: {compare.Confounded, compare.Better}}[c.confounded]
		if m.Verdict != want[0] || m.VerdictIgnoringOrder != want[1] || m.Confounded != c.confounded {
			t.Errorf("%s: %s, confounded %v, ignoring the order %s", name, m.Verdict, m.Confounded, m.VerdictIgnoringOrder)
		}
		if _, told := codes(got)[compare.CodeDrift]; told != slices.Equal(c.b, falling) {
			t.Errorf("%s: drift told: %v", name, told)
		}
	}
}

// Arms in blocks that do not drift can be equivalent. With a drift, the time between the blocks may hide a difference.
func TestEquivalentArmsInBlocksAreConfoundedIfTheyDrift(t *testing.T) {
	for name, c := range map[string]struct {
		a, b []float64
		want compare.Verdict
	}{
		"neither drifts": {[]float64{100.1, 99.9, 100, 100.2, 99.8, 100.05}, []float64{100, 100.1, 99.9, 100.15, 99.95, 100.02}, compare.Equivalent},
		"both fall":      {[]float64{101, 100.6, 100.3, 100.1, 99.8, 99.5}, []float64{101.1, 100.7, 100.2, 100, 99.7, 99.4}, compare.Confounded},
	} {
		var e experiment
		e.throughput(order("aaaaaabbbbbb"), map[string][]float64{"a": c.a, "b": c.b})
		if m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.OutputTokensPerSecond); m.Verdict != c.want || m.Confounded != (c.want == compare.Confounded) {
			t.Errorf("%s: %s, confounded %v", name, m.Verdict, m.Confounded)
		}
	}
}

func TestDriftHasItsCorrelationAndWhatTheRunsAreWorth(t *testing.T) {
	var e experiment
	e.throughput(order("aaaaaab"), map[string][]float64{"a": {110, 108, 109, 106, 104, 103}, "b": {100}})
	d := mustCompare(t, e.runs, compare.Options{}).Strata[0].Arms["a"].Metrics[0].Drift
	// 6 (d^2) of ranks 6 4 5 3 2 1 against 1..6: sum d^2 = 25+4+4+1+9+25 = 68; 1 - 6*68/210 = -0.942857
	if math.Abs(*d.Spearman+0.942857) > 1e-6 || !d.Significant || d.HighestAt != 1 || d.LowestAt != 6 {
		t.Errorf("Spearman %v, significant %v, highest %d, lowest %d", *d.Spearman, d.Significant, d.HighestAt, d.LowestAt)
	}
	if *d.Lag1 <= 0 || *d.EffectiveN >= 6 {
		t.Errorf("lag-1 %v, effective n %v", *d.Lag1, *d.EffectiveN)
	}
}

// Each block of b begins high and falls, as reclaimable memory does after another engine used it.
func carryOver(blocks int) experiment {
	var e experiment
	for block := range blocks {
		for i := range 4 {
			e.run("a", map[string]float64{figure.MemoryOccupiedWithoutKV: (70 + 0.1*float64((i+block)%4)) * (1 << 30)})
		}
		for i := range 4 {
			carried := 12 * math.Exp(-1.5*float64(i))
			e.run("b", map[string]float64{figure.MemoryOccupiedWithoutKV: (80 + carried + 0.1*float64((i+2*block)%4)) * (1 << 30)})
		}
	}
	return e
}

func TestTheFirstRunAfterAChangeOfArmsIsSetAgainstTheRest(t *testing.T) {
	c := mustCompare(t, carryOver(3).runs, compare.Options{})
	var found compare.AfterSwitch
	for _, s := range c.Strata[0].Pairs[0].Order.AfterSwitch {
		if s.Arm == "b" && s.Metric == figure.MemoryOccupiedWithoutKV {
			found = s
		}
	}
	if found.N != 3 || found.Extreme != "highest" || !found.StandsOut || found.First < found.Rest+8*(1<<30) {
		t.Errorf("%+v", found)
	}
	if told := codes(c)[compare.CodeFirstAfterSwitch]; len(told) == 0 || !strings.Contains(strings.Join(told, "\n"), "b after a change of arms") {
		t.Errorf("told: %q", told)
	}
}

func TestFirstRunsThatAreHighestInEveryBlockAreNoChance(t *testing.T) {
	// In each of several strata b is one block after a, and begins with its highest run: by chance one
	// in four each.
	strata := func(n int, change func(i int) float64) experiment {
		var all experiment
		for stratum := range n {
			for block := range 2 {
				for i := range 4 {
					value := 70 + 0.1*float64((i*3+stratum)%4)
					if block == 1 {
						value = 80 + change(i) + 0.1*float64((i*3+stratum)%4)
					}
					all.run([]string{"a", "b"}[block], map[string]float64{figure.MemoryOccupiedWithoutKV: value * (1 << 30)},
						func(r *compare.Run) { r.Model = fmt.Sprintf("model%d", stratum) })
				}
			}
		}
		return all
	}
	falling := func(i int) float64 { return 12 * math.Exp(-1.5*float64(i)) }
	within := compare.Options{Within: []string{"model"}}
	for n, want := range map[int]bool{2: false, 4: true} { // 2 x 4^-2, 2 x 4^-4
		c := mustCompare(t, strata(n, falling).runs, within)
		var told []string
		for _, w := range c.Warnings {
			if w.Code == compare.CodeFirstAfterSwitch {
				told = append(told, w.Text)
			}
		}
		if (len(told) == 1) != want {
			t.Errorf("%d strata: %q", n, told)
		}
		if want && !strings.Contains(told[0], "of b ") || want && !strings.Contains(told[0], "highest memory occupied without KV cache in 4 of 4 blocks (by chance: p 0.0078)") {
			t.Errorf("%q", told)
		}
	}
	c := mustCompare(t, strata(4, func(int) float64 { return 0 }).runs, within)
	for _, w := range c.Warnings {
		if w.Code == compare.CodeFirstAfterSwitch {
			t.Errorf("without any carry-over: %s", w.Text)
		}
	}
}

func TestAFirstRunThatIsLikeTheOthersDoesNotStandOut(t *testing.T) {
	for first, want := range map[float64]bool{40: false, 40.7: true} {
		var e experiment
		e.throughput(order("aaaabbbbbbbbbb"), map[string][]float64{"a": noise, "b": {first, 40.1, 40.1, 40.1, 40.1, 40.1, 40.1, 40.1, 40.1, 40.1}})
		if first == 40 {
			for i := range e.runs[4:] {
				e.runs[4+i].Metrics[figure.OutputTokensPerSecond] = 40.1 // no spread at all
			}
		}
		after := mustCompare(t, e.runs, compare.Options{}).Strata[0].Pairs[0].Order.AfterSwitch
		if len(after) != 1 || after[0].StandsOut != want {
			t.Errorf("%v: %+v", first, after)
		}
	}
}

func TestTheHalvesOfPairsShowWhetherOrderMatters(t *testing.T) {
	for name, c := range map[string]struct {
		late    float64 // what the second run of a pair has more
		suspect bool
	}{"it does": {5, true}, "it does not": {0, false}} {
		var e experiment
		for i, letter := range "abbaabbaabbaabba" {
			value := 100 + 0.2*float64((i*7)%5)
			if letter == 'b' {
				value += 10
			}
			if i%2 == 1 {
				value += c.late
			}
			e.run(string(letter), map[string]float64{figure.OutputTokensPerSecond: value}, func(r *compare.Run) { r.Pair = fmt.Sprint("p", i/2) })
		}
		got := mustCompare(t, e.runs, compare.Options{})
		halves := got.Strata[0].Pairs[0].Order.Halves
		if len(halves) != 1 || halves[0].Suspect != c.suspect || halves[0].P == nil {
			t.Fatalf("%s: %+v", name, halves)
		}
		if c.suspect && *halves[0].AB-*halves[0].BA < 8 {
			t.Errorf("a first: %v, b first: %v", *halves[0].AB, *halves[0].BA)
		}
		if _, told := codes(got)[compare.CodeOrderEffect]; told != c.suspect {
			t.Errorf("%s: told %v", name, told)
		}
	}
}

// An invalid run leaves its traces in the machine: what comes after it is not the first after a change.
func TestAnInvalidRunComesBetween(t *testing.T) {
	var e experiment
	e.throughput(order("aaabbbb"), map[string][]float64{"a": noise, "b": {130, 110, 110.2, 110.1}})
	e.runs[3].Valid = false
	c := mustCompare(t, e.runs, compare.Options{})
	if after := c.Strata[0].Pairs[0].Order.AfterSwitch; len(after) != 0 {
		t.Errorf("%+v", after)
	}
	if len(c.Strata[0].Arms["b"].Excluded) != 1 || metricOf(t, c, figure.OutputTokensPerSecond).B.N != 3 {
		t.Error("an invalid run enters a figure")
	}
}

// Equal arms of many figures: what order does to each of them is a test, and one in twenty tests is wrong.
func TestOfManyFiguresOfNoiseOrderDoesNothing(t *testing.T) {
	const experiments = 40
	told := map[string]int{}
	for seed := range uint64(experiments) {
		random := rand.New(rand.NewPCG(seed, 1))
		var e experiment
		for i, letter := range "abbaabbaabbaabba" {
			metrics := map[string]float64{}
			for _, m := range figure.Compared()[:12] {
				metrics[m.Name] = 100 * math.Exp(.03*random.NormFloat64())
			}
			e.run(string(letter), metrics, func(r *compare.Run) { r.Pair = fmt.Sprint("p", i/2) })
		}
		for code := range codes(mustCompare(t, e.runs, compare.Options{})) {
			told[code]++
		}
	}
	for _, code := range []string{compare.CodeOrderEffect, compare.CodeFirstAfterSwitch} {
		if told[code] > 6 { // 5 % are 2
			t.Errorf("%s is told of %d of %d experiments of noise", code, told[code], experiments)
		}
	}
}

// A pair with two runs of an arm is no pair, here as in the test of the difference.
func TestHalvesAreOfPairsOfTwoRuns(t *testing.T) {
	for _, more := range []string{"a", "b"} {
		var e experiment
		e.run(more, map[string]float64{figure.OutputTokensPerSecond: 900}, func(r *compare.Run) { r.Pair = "p1" })
		for i, letter := range "abbaabba" {
			e.run(string(letter), map[string]float64{figure.OutputTokensPerSecond: 100 + float64(i)}, func(r *compare.Run) { r.Pair = fmt.Sprint("p", i/2) })
		}
		halves := mustCompare(t, e.runs, compare.Options{Baseline: "a"}).Strata[0].Pairs[0].Order.Halves
		if len(halves) != 1 || *halves[0].AB != 1 || *halves[0].BA != -1 {
			t.Errorf("a run more of %s: %+v", more, halves)
		}
	}
}

func TestOneBlockOfTwoRunsHasNoExtreme(t *testing.T) {
	for sequence, want := range map[string]bool{"abba": false, "abbbaa": true, "abbaabba": true} {
		var e experiment
		e.throughput(order(sequence), map[string][]float64{"a": {40, 41, 42, 43}, "b": {52, 51, 50.5, 50}})
		for _, after := range mustCompare(t, e.runs, compare.Options{}).Strata[0].Pairs[0].Order.AfterSwitch {
			if after.Arm == "b" && (after.Extreme != "") != want {
				t.Errorf("%s: %+v", sequence, after)
			}
		}
	}
}
