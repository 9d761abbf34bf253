package compare_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// noise is around 100: its mean is 100, its standard deviation 1.
var noise = []float64{100 - 1.1619, 100 - 0.3873, 100 + 0.3873, 100 + 1.1619}

func shifted(by, spread float64) []float64 {
	var x []float64
	for _, v := range noise {
		x = append(x, 100+by+(v-100)*spread)
	}
	return x
}

func TestVerdictsGoByTheirPrecedence(t *testing.T) {
	for name, c := range map[string]struct {
		shift, spread float64 // in percent of the baseline; the margin is 2 %
		want          compare.Verdict
	}{
		"no difference, small spread":                              {0, 0.3, compare.Equivalent},
		"a sure difference within the margin":                      {1, 0.2, compare.Irrelevant},
		"the 95 % interval reaches out of the margin, 90 % not":    {0, 1.25, compare.Equivalent},
		"more than the margin":                                     {5, 0.5, compare.Better},
		"less than the margin":                                     {-5, 0.5, compare.Worse},
		"surely less, and by less than the margin or more":         {-1.5, 0.7, compare.WorseExtentOpen},
		"sure, and it may be more than the margin or less":         {2, 0.5, compare.BetterExtentOpen},
		"a large spread":                                           {1, 4, compare.Inconclusive},
		"an interval that holds 0 and reaches out of the margin":   {-1.5, 2, compare.Inconclusive},
		"equal, and far too few runs for so much spread":           {0, 10, compare.Inconclusive},
		"a sure difference that begins inside and ends at the 2 %": {1.9, 0.6, compare.BetterExtentOpen},
	} {
		t.Run(name, func(t *testing.T) {
			var e experiment
			e.throughput(order("abbaabba"), map[string][]float64{"a": shifted(0, c.spread), "b": shifted(c.shift, c.spread)})
			m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.OutputTokensPerSecond)
			if m.Verdict != c.want {
				t.Errorf("%s of ratio %.4f %v, want %s", m.Verdict, *m.Ratio, *m.RatioCI95, c.want)
			}
			if !m.Primary || m.HolmP != nil {
				t.Error("the throughput of scenario standard is primary and not adjusted")
			}
			if open := c.shift == 2; !open && (m.NeedN != nil) != (c.want == compare.Inconclusive || c.want.ExtentOpen()) {
				t.Errorf("%s needs %v runs", m.Verdict, m.NeedN)
			}
			if m.NeedN != nil && *m.NeedN <= 4 {
				t.Errorf("%d runs of an arm would tell, and 4 did not", *m.NeedN)
			}
		})
	}
}

func TestLessIsBetterOfALatencyAndNeitherOfMemoryThatIsFilled(t *testing.T) {
	var e experiment
	for i, arm := range order("abbaabba") {
		up := 1.0
		if arm == "b" {
			up = 1.1
		}
		small := float64(i%4) / 1000
		e.run(arm, map[string]float64{
			figure.TimeToFirstToken: up * (1 + small), figure.MemoryOccupiedWhenReady: up * (100 + small) * (1 << 30),
			figure.KVCapacity: up * (40 + small) * (1 << 30), figure.MemoryOccupiedWithoutKV: up * (60 + small) * (1 << 30),
		})
	}
	c := mustCompare(t, e.runs, compare.Options{})
	for name, want := range map[string]compare.Verdict{
		figure.TimeToFirstToken: compare.Worse, figure.MemoryOccupiedWhenReady: compare.Different,
		figure.KVCapacity: compare.Better, figure.MemoryOccupiedWithoutKV: compare.Worse,
	} {
		if m := metricOf(t, c, name); m.Verdict != want {
			t.Errorf("%s is %s, want %s", name, m.Verdict, want)
		}
	}
}

func TestOneRunOfAnArmGivesADifferenceOnly(t *testing.T) {
	var e experiment
	e.throughput(order("aaab"), map[string][]float64{"a": {100, 101, 102}, "b": {120}})
	m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.OutputTokensPerSecond)
	if m.Verdict != compare.Undecided || *m.Difference != 19 || math.Abs(*m.Ratio-120.0/101) > 1e-12 {
		t.Errorf("%s of %v, %v", m.Verdict, *m.Difference, *m.Ratio)
	}
	for what, v := range map[string]*float64{"Welch p": m.WelchP, "TOST p": m.TOSTP, "Hedges g": m.HedgesG, "MDE": m.MDE, "sd of one": m.B.SD, "Holm p": m.HolmP} {
		if v != nil {
			t.Errorf("%s of one run is %v", what, *v)
		}
	}
	if m.CI95 != nil || len(m.Notes) == 0 {
		t.Errorf("interval %v, notes %q", m.CI95, m.Notes)
	}
}

func TestRanksOfOneRunEachAreNotTested(t *testing.T) {
	var e experiment
	e.throughput(order("ab"), map[string][]float64{"a": {100}, "b": {120}})
	if m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.OutputTokensPerSecond); m.MannWhitneyP != nil || m.HodgesLehmann != nil {
		t.Errorf("Mann-Whitney p %v, Hodges-Lehmann %v", m.MannWhitneyP, m.HodgesLehmann)
	}
}

// A difference that every run has is one: whether it matters is for the margin to say.
func TestADifferenceWithoutSpreadGetsItsVerdictByTheMargin(t *testing.T) {
	for b, want := range map[float64]compare.Verdict{100: compare.Equivalent, 101: compare.Irrelevant, 102: compare.Irrelevant, 102.1: compare.Better, 150: compare.Better, 97: compare.Worse} {
		var e experiment
		e.throughput(order("abbaab"), map[string][]float64{"a": {100}, "b": {b}})
		m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.OutputTokensPerSecond)
		if m.Verdict != want || !m.Constant || m.WelchP != nil || m.TOSTP != nil || m.MannWhitneyP != nil && *m.MannWhitneyP <= 0 {
			t.Errorf("b = %v: %s, Welch p %v", b, m.Verdict, m.WelchP)
		}
		if len(m.Notes) != 1 || !strings.Contains(m.Notes[0], "no spread") || math.Abs(*m.Difference-(b-100)) > 1e-9 {
			t.Errorf("notes %q, difference %v", m.Notes, *m.Difference)
		}
	}
}

func TestAValueThatHasNoLogarithmIsAnalysedAsItIs(t *testing.T) {
	var e experiment
	e.throughput(order("abbaabba"), map[string][]float64{"a": {0, 100, 101, 99}, "b": {100, 101, 99, 102}})
	m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.OutputTokensPerSecond)
	if m.Scale != figure.ScaleLinear || m.RatioCI95 != nil || m.CI95 == nil || len(m.Notes) == 0 {
		t.Errorf("scale %s, ratio interval %v, notes %q", m.Scale, m.RatioCI95, m.Notes)
	}
}

// The family is what is not primary; a difference that one metric alone would show is not enough among
// many.
func TestMetricsThatAreNotPrimaryAreAdjustedForBeingMany(t *testing.T) {
	var alone, among experiment
	// No two of them are a line of each other: then they would be one quantity.
	patterns := [][]float64{{0, 1, 3, 2}, {1, 0, 2, 3}, {3, 0, 1, 2}, {0, 2, 3, 1}, {2, 0, 3, 1}, {1, 2, 0, 3}}
	pure := []string{"time_to_first_token_p95_seconds", "request_duration_p50_seconds", "request_duration_p95_seconds", "time_per_output_token_p50_seconds", "queue_delay_p99_seconds", "inter_token_latency_p50_seconds"}
	at := map[string]int{}
	for _, arm := range order("abbaabba") {
		i := at[arm]
		at[arm]++
		value := noise[i]
		if arm == "b" {
			value += 2.6
		}
		few := map[string]float64{figure.OutputTokensPerSecond: noise[i], figure.TimeToFirstToken: value}
		alone.run(arm, few)
		many := map[string]float64{figure.OutputTokensPerSecond: noise[i], figure.TimeToFirstToken: value}
		for j, name := range pure {
			many[name] = 100 + patterns[j][i]
			if arm == "b" {
				many[name] = 100 + patterns[(j+2)%6][(i+1)%4]
			}
		}
		among.run(arm, many)
	}
	one := metricOf(t, mustCompare(t, alone.runs, compare.Options{}), figure.TimeToFirstToken)
	if one.Verdict != compare.WorseExtentOpen || *one.HolmP != *one.WelchP {
		t.Errorf("alone: %s, p %v, Holm %v", one.Verdict, *one.WelchP, *one.HolmP)
	}
	of := metricOf(t, mustCompare(t, among.runs, compare.Options{Columns: []compare.Column{compare.ColumnBonferroni, compare.ColumnBH}}), figure.TimeToFirstToken)
	if of.Verdict != compare.Inconclusive || math.Abs(*of.HolmP-7**of.WelchP) > 1e-12 || math.Abs(*of.BonferroniP-*of.HolmP) > 1e-12 || math.Abs(*of.BHP-*of.HolmP) > 1e-12 {
		t.Errorf("among seven: %s, p %v, Holm %v, Bonferroni %v, Benjamini-Hochberg %v", of.Verdict, *of.WelchP, *of.HolmP, *of.BonferroniP, *of.BHP)
	}
	primary := metricOf(t, mustCompare(t, among.runs, compare.Options{Primary: figure.TimeToFirstToken}), figure.TimeToFirstToken)
	if primary.Verdict != compare.WorseExtentOpen || primary.HolmP != nil || !primary.Primary {
		t.Errorf("as the primary one: %s, Holm %v", primary.Verdict, primary.HolmP)
	}
}

// Conditions that change from pair to pair, and more than the arms differ.
func TestPairsTakeOutWhatTheyShare(t *testing.T) {
	var e experiment
	levels := []float64{110, 150, 80, 130, 95}
	for i, level := range levels {
		for _, arm := range []string{"a", "b"} {
			value := level
			if arm == "b" {
				value *= 1.04 + 0.001*float64(i%3)
			}
			e.run(arm, map[string]float64{figure.OutputTokensPerSecond: value}, func(r *compare.Run) { r.Pair = string(rune('p' + i)) })
		}
	}
	m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.OutputTokensPerSecond)
	if !m.Paired || m.Pairs != 5 || m.Verdict != compare.Better || *m.PairedP > 0.001 || *m.WelchP < 0.5 {
		t.Errorf("paired %v of %d: %s, paired p %v, Welch p %v", m.Paired, m.Pairs, m.Verdict, *m.PairedP, *m.WelchP)
	}
	for i := range e.runs {
		e.runs[i].Pair = ""
	}
	if m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.OutputTokensPerSecond); m.Paired || m.Verdict != compare.Inconclusive {
		t.Errorf("without pairs: paired %v, %s", m.Paired, m.Verdict)
	}
}

func TestAPairWithARebootWithinIsNone(t *testing.T) {
	var e experiment
	for i := range 10 {
		e.run([]string{"a", "b"}[i%2], map[string]float64{figure.OutputTokensPerSecond: 100 + float64(i)}, func(r *compare.Run) {
			r.Pair = fmt.Sprint(i / 2)
			if i >= 5 {
				r.BootID = "boot2"
			}
		})
	}
	m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.OutputTokensPerSecond)
	if m.Pairs != 4 || !strings.Contains(strings.Join(m.Notes, "; "), "a reboot between") {
		t.Errorf("%d pairs, notes %q", m.Pairs, m.Notes)
	}
}

func TestUnusablePairsAreNoted(t *testing.T) {
	pairOf := func(names string) experiment {
		var e experiment
		for i, letter := range names {
			arm := []string{"a", "b"}[i%2]
			e.run(arm, map[string]float64{figure.OutputTokensPerSecond: 100 + float64(i)}, func(r *compare.Run) {
				if letter != '-' {
					r.Pair = string(letter)
				}
			})
		}
		return e
	}
	for names, want := range map[string]struct {
		pairs int
		note  string
	}{
		"ppqqrr--": {3, "2 runs in no pair, and in no figure"},
		"ppqqrrpp": {0, "1 with several valid runs of an arm"},
		"ppqq----": {0, "not tested by pairs, of which there are 2"}, // fewer than are worth it
	} {
		m := metricOf(t, mustCompare(t, pairOf(names).runs, compare.Options{}), figure.OutputTokensPerSecond)
		if m.Pairs != want.pairs || !strings.Contains(strings.Join(m.Notes, "; "), want.note) {
			t.Errorf("%s: %d pairs, notes %q", names, m.Pairs, m.Notes)
		}
	}
}

// A margin is relative to the baseline: a log analysis of 2 % is between the logarithms of .98 and 1.02.
// An amount is one in the unit, whatever the metric's own scale.
func TestAMarginInItsUnitIsComparedAsItIs(t *testing.T) {
	var e experiment
	e.throughput(order("abbaabba"), map[string][]float64{"a": shifted(0, 0.1), "b": shifted(1, 0.1)})
	amount := compare.Options{Margins: map[string]figure.Margin{figure.OutputTokensPerSecond: {Value: 0.5}}}
	m := metricOf(t, mustCompare(t, e.runs, amount), figure.OutputTokensPerSecond)
	if m.Scale != figure.ScaleLinear || m.Verdict != compare.Better || m.Margin.Relative {
		t.Errorf("%s on scale %s", m.Verdict, m.Scale)
	}
	if m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), figure.OutputTokensPerSecond); m.Scale != figure.ScaleLog || m.Verdict != compare.Irrelevant {
		t.Errorf("by default %s on scale %s", m.Verdict, m.Scale)
	}
}

// With n runs of each arm the least detectable difference at 80 % is d(n) standard deviations.
func TestTheLeastDetectableDifferenceIsThatOfTheTable(t *testing.T) {
	var e experiment
	var values []float64
	for i := range 10 { // of sd 1: ten values, five above and five below
		values = append(values, 100+math.Sqrt(0.9)*float64(1-2*(i%2)))
	}
	e.throughput(order("abbaabbaabbaabbaabba"), map[string][]float64{"a": values, "b": values})
	linear := compare.Options{Margins: map[string]figure.Margin{figure.OutputTokensPerSecond: {Value: 2}}}
	m := metricOf(t, mustCompare(t, e.runs, linear), figure.OutputTokensPerSecond)
	if math.Abs(*m.MDE-1.325) > 0.001 {
		t.Errorf("MDE of ten runs is %.4f standard deviations, want 1.325", *m.MDE)
	}
}
