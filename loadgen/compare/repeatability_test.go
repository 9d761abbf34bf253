package compare_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

func TestRunsThatDoNotRepeatEachOtherAreNamed(t *testing.T) {
	for name, c := range map[string]struct {
		values []float64 // of arm b
		cv     float64   // 0 is none over the limit
		off    []string
		says   string
	}{
		"within 5 %":     {[]float64{100, 102, 98, 101}, 0, nil, ""},
		"a re-run off":   {[]float64{100, 107, 100, 100}, 0, []string{"run003"}, "1 run more than 5 % from the median of the arm in output tokens per second: run003 (+7.0 %)"},
		"widely spread":  {[]float64{90, 110, 95, 105}, 0.0913, []string{"run002", "run003", "run006", "run007"}, "CV 9.1 % of output tokens per second is over 5 %; 4 runs more than 5 %"},
		"one alone":      {[]float64{100}, 0, nil, ""},
		"two runs apart": {[]float64{100, 106}, 0, []string{"run002", "run003"}, "2 runs more than 5 %"},
	} {
		t.Run(name, func(t *testing.T) {
			var e experiment
			all := order("abbaabba")
			if len(c.values) < 4 {
				all = all[:len(c.values)+1]
			}
			e.throughput(all, map[string][]float64{"a": {100}, "b": c.values})
			got := mustCompare(t, e.runs, compare.Options{})
			if a := got.Strata[0].Arms["a"].NotRepeatable; a != nil {
				t.Errorf("a repeats itself: %+v", a)
			}
			n := got.Strata[0].Arms["b"].NotRepeatable
			if (n == nil) != (c.says == "") {
				t.Fatalf("%+v", n)
			}
			if n == nil {
				return
			}
			var off []string
			for _, o := range n.Off {
				off = append(off, o.Run)
			}
			if !slices.Equal(off, c.off) || c.cv != 0 && math.Abs(*n.CV-c.cv) > 1e-3 || c.cv == 0 && *n.CV > 0.05 {
				t.Errorf("CV %v, off %v", *n.CV, off)
			}
			if told := strings.Join(codes(got)[compare.CodeNotRepeatable], "\n"); !strings.HasPrefix(told, "b: "+c.says) {
				t.Errorf("told %q", told)
			}
		})
	}
}

// A campaign that added a pair for a run that was off has two verdicts: with that pair and without.
func TestAddedPairsLeaveTheVerdictWithoutThem(t *testing.T) {
	var e experiment
	e.throughput(order("abbaabbaab"), map[string][]float64{"a": {100, 100.1, 99.9, 100, 100}, "b": {100, 100.1, 99.9, 100, 160}})
	planned := e.runs[:len(e.runs)-2]
	without := metricOf(t, mustCompare(t, planned, compare.Options{}), figure.OutputTokensPerSecond).Verdict
	for i := range e.runs[len(planned):] {
		e.runs[len(planned)+i].Added = true
	}
	c := mustCompare(t, e.runs, compare.Options{})
	m := metricOf(t, c, figure.OutputTokensPerSecond)
	if m.A.N != 5 || m.VerdictPlanned != without || m.Verdict == without {
		t.Errorf("n %d, %s and without the pair %q, want %s", m.A.N, m.Verdict, m.VerdictPlanned, without)
	}
	want := "2 runs added to the plan for runs that were off: output tokens per second is " + string(m.Verdict) + " with them and " + string(without) + " without"
	if told := codes(c)[compare.CodePairsAdded]; !slices.Equal(told, []string{want}) {
		t.Errorf("told %q, want %q", told, want)
	}
}

// Repeated looks with more runs after each find a difference by chance, so no run decides then.
func TestRaisingNAfterAComparisonLosesTheGradeOfADecision(t *testing.T) {
	e := quiet()
	arm := mustCompare(t, e.runs, compare.Options{}).Strata[0].Arms["a"]
	if arm.Runs[0].Grade != compare.GradeDecision {
		t.Fatalf("%+v", arm.Runs[0])
	}
	e.runs[7].NRaisedFrom = 3
	for name, arm := range mustCompare(t, e.runs, compare.Options{}).Strata[0].Arms {
		for _, r := range arm.Runs {
			if r.Grade != compare.GradeValid || !slices.Equal(r.Why, []string{"n was raised from 3 after a comparison of the campaign"}) {
				t.Errorf("%s of %s: %s, %q", r.Run, name, r.Grade, r.Why)
			}
		}
	}
}
