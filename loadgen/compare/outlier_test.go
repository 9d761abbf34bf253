package compare_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// A cause is what an outlier has and no other run of its arm: what each run has in its own way explains none.
func TestACauseIsGivenOnlyWhereItSetsTheOutlierApart(t *testing.T) {
	number := func(v float64) *float64 { return &v }
	for name, c := range map[string]struct {
		fact  func(i int) compare.Fact // of the runs of the arm; the sixth stands out
		cause bool
	}{
		"a hash that each run has of its own": {func(i int) compare.Fact { return compare.Fact{Item: "file x", Value: fmt.Sprint("hash", i)} }, false},
		"a hash of this run alone": {func(i int) compare.Fact {
			return compare.Fact{Item: "file x", Value: map[bool]string{true: "other", false: "same"}[i == 5]}
		}, true},
		"a temperature that differs from run to run": {func(i int) compare.Fact {
			return compare.Fact{Item: "GPU temperature at start", Number: number(40 + 3*float64(i*5%8)), Tolerance: 2, Unit: "C"}
		}, false},
		"a temperature a little above the others": {func(i int) compare.Fact {
			return compare.Fact{Item: "GPU temperature at start", Number: number(map[bool]float64{true: 50, false: 40 + float64(i)}[i == 5]), Tolerance: 2, Unit: "C"}
		}, false},
		"a temperature far above the others": {func(i int) compare.Fact {
			return compare.Fact{Item: "GPU temperature at start", Number: number(map[bool]float64{true: 75, false: 40 + float64(i)}[i == 5]), Tolerance: 2, Unit: "C"}
		}, true},
	} {
		t.Run(name, func(t *testing.T) {
			var e experiment
			at := 0
			for _, arm := range order("abbaabbaabbaabba") {
				value := 100 + .1*float64(len(e.runs)*7%5)
				e.run(arm, map[string]float64{figure.OutputTokensPerSecond: value}, func(r *compare.Run) {
					if arm == "a" {
						r.Facts = []compare.Fact{c.fact(at)}
						if at == 5 {
							r.Metrics[figure.OutputTokensPerSecond] = 80
						}
						at++
					}
				})
			}
			m := tokens(t, mustCompare(t, e.runs, compare.Options{}))
			i := slices.IndexFunc(m.Outliers, func(o compare.Outlier) bool { return o.Value == 80 })
			if i < 0 {
				t.Fatalf("%+v", m.Outliers)
			}
			if causes := strings.Join(m.Outliers[i].Causes, "; "); (causes != "") != c.cause {
				t.Errorf("causes %q", causes)
			}
		})
	}
}

// In ABBA every second run of an arm is the first after a change of arms: that sets none apart.
func TestTheFirstRunAfterAChangeIsACauseOnlyWhereItIsTheOnlyOne(t *testing.T) {
	for sequence, want := range map[string]bool{"abbaabbaabba": false, "bbbbbaaaaaa": true} {
		var e experiment
		first := true
		for i, arm := range order(sequence) {
			value := 100 + .1*float64(i*7%5)
			if arm == "a" && i > 2 && first { // in ABBA the second of arm a, which comes after arm b
				first, value = false, 80
			}
			e.run(arm, map[string]float64{figure.OutputTokensPerSecond: value})
		}
		m := tokens(t, mustCompare(t, e.runs, compare.Options{Baseline: "a"}))
		i := slices.IndexFunc(m.Outliers, func(o compare.Outlier) bool { return o.Value == 80 })
		if i < 0 {
			t.Fatalf("%s: %+v", sequence, m.Outliers)
		}
		if causes := strings.Join(m.Outliers[i].Causes, "; "); strings.Contains(causes, "first run after a change") != want {
			t.Errorf("%s: causes %q", sequence, causes)
		}
	}
}
