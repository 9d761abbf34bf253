package compare_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// arms makes runs of a baseline and so many arms, of which b is slower by a share.
func arms(n int, slower float64) experiment {
	var e experiment
	for round := range 4 {
		for i := range n + 1 {
			value := noise[(round+i)%4]
			if i == 1 {
				value *= 1 - slower
			}
			e.run(string(rune('a'+i)), map[string]float64{figure.OutputTokensPerSecond: value, figure.TimeToFirstToken: noise[(3*round+i)%4]})
		}
	}
	return e
}

// With seven strata the chance that one of them is found wrongly is not 5 %.
func TestAFindingThatIsOneOfManyIsWarnedAbout(t *testing.T) {
	for name, c := range map[string]struct {
		strata int
		slower float64
		told   bool
	}{
		"alone":                           {1, .022, false},
		"one of seven":                    {7, .022, true},
		"one of seven, beyond any chance": {7, .2, false},
	} {
		t.Run(name, func(t *testing.T) {
			var e experiment
			for n := range c.strata {
				slower := map[int]float64{0: c.slower}[n]
				for _, r := range arms(1, slower).runs {
					e.run(r.Labels["arm"], r.Metrics, func(own *compare.Run) { own.Labels["place"] = string(rune('a' + n)) })
				}
			}
			got := mustCompare(t, e.runs, compare.Options{Baseline: "a", Within: []string{"place"}})
			if m := metricOf(t, got, figure.OutputTokensPerSecond); m.Verdict != compare.Worse && m.Verdict != compare.WorseExtentOpen {
				t.Fatalf("%s, p %v", m.Verdict, *m.WelchP)
			}
			told := strings.Join(codes(got)[compare.CodeManyTests], "\n")
			if (told != "") != c.told || c.told && (!strings.Contains(told, "output tokens per second of b in place a") || !strings.Contains(told, "7 tests of primary metrics")) {
				t.Errorf("told %q", told)
			}
		})
	}
}

// A finding stands among many by the test that it was found by: of pairs, where the runs are in pairs.
func TestAmongManyAFindingGoesByItsOwnTest(t *testing.T) {
	e := arms(7, .05)
	for i := range e.runs {
		r := &e.runs[i]
		round := i / 8
		r.Pair = fmt.Sprint(round)
		value := math.Pow(1.2, float64(round*3%4)) * (100 + .1*noise[(i+round)%4]) // rounds differ far more than arms
		if r.Labels["arm"] == "b" {
			value *= .95
		}
		r.Metrics[figure.OutputTokensPerSecond] = value
	}
	got := mustCompare(t, e.runs, compare.Options{Baseline: "a"})
	if m := metricOf(t, got, figure.OutputTokensPerSecond); m.Verdict != compare.Worse || *m.WelchP < .5 || *m.PairedP > .001 {
		t.Fatalf("%s, Welch p %v, paired p %v", m.Verdict, *m.WelchP, *m.PairedP)
	}
	if told := codes(got)[compare.CodeManyTests]; told != nil {
		t.Errorf("told %q", told)
	}
}

// What a verdict asks of one metric of many is asked of its plan too.
func TestOneOfManyMetricsNeedsMoreRuns(t *testing.T) {
	need := map[int]int{}
	var latencies []string
	for _, m := range figure.Compared() {
		if m.Unit == figure.Seconds {
			latencies = append(latencies, m.Name)
		}
	}
	for _, n := range []int{1, 10} {
		var e experiment
		for i, arm := range order("abbaabba") {
			metrics := map[string]float64{figure.OutputTokensPerSecond: noise[i%4]}
			for k, m := range latencies[:n] {
				metrics[m] = 100 * math.Exp(.05*float64((i*(k+3)*(k+5)+k+i*i)%7))
			}
			e.run(arm, metrics)
		}
		m := metricOf(t, mustCompare(t, e.runs, compare.Options{}), latencies[0])
		if m.NeedN == nil {
			t.Fatalf("%d metrics: %s", n, m.Verdict)
		}
		need[n] = *m.NeedForEffect
	}
	if need[10] <= need[1] {
		t.Errorf("one of 10 needs %d runs, alone it needs %d", need[10], need[1])
	}
}

// Chance makes one in twenty drift: how many were looked at belongs to it, and so does what the runs are worth.
func TestDriftIsWarnedAboutWithTheNumberOfFigures(t *testing.T) {
	var e experiment
	for i, arm := range order("abbaabbaabbaabba") {
		e.run(arm, map[string]float64{figure.OutputTokensPerSecond: 100 - float64(i), figure.TimeToFirstToken: 1 + .1*float64(i*5%7), figure.TimePerOutputToken: .02})
	}
	told := codes(mustCompare(t, e.runs, compare.Options{}))[compare.CodeDrift]
	for _, want := range []string{"p 5e-05, 8 runs worth 2.2)", "of 2 figures looked at"} { // the third has no spread
		if len(told) != 2 || !strings.Contains(told[0], want) {
			t.Errorf("no %q in %q", want, told)
		}
	}
}

func TestFactsUnknownOfBothArmsAreWarnedAbout(t *testing.T) {
	e := quiet()
	each(&e, func(r *compare.Run) { r.Facts = r.Facts[:2] })
	got := codes(mustCompare(t, e.runs, compare.Options{}))[compare.CodeFairnessUnknown]
	if text := fmt.Sprint(got); len(got) != 1 || !strings.Contains(text, compare.FactMemFree) || !strings.Contains(text, compare.FactKernel) || strings.Contains(text, compare.FactEngine) {
		t.Errorf("told %q", got)
	}
}

// What comes first after a change of arms is told of if it stands out, always the same way, by more than
// what matters.
func TestAFirstRunIsWarnedAboutOnlyBeyondTheMargin(t *testing.T) {
	for name, c := range map[string]struct {
		firsts [2]float64
		told   bool
	}{
		"far off":                  {[2]float64{130, 131}, true},
		"less than the margin off": {[2]float64{101, 101.1}, false},
		"once, and once not":       {[2]float64{130, 100}, false},
	} {
		var e experiment
		rest := []float64{100.05, 100.1, 99.95, 100.15, 99.9, 100.02}
		e.throughput(order("aaaabbbbaaaabbbb"), map[string][]float64{
			"a": {100.1, 99.9, 100.05, 99.95}, "b": slices.Concat(c.firsts[:1], rest[:3], c.firsts[1:], rest[3:]),
		})
		if told := codes(mustCompare(t, e.runs, compare.Options{}))[compare.CodeFirstAfterSwitch]; (len(told) > 0) != c.told {
			t.Errorf("%s: told %q", name, told)
		}
	}
}
