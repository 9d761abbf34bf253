package compare

import (
	"strings"
	"testing"
)

// A pipeline that asks for a decision does not pass on what was not compared: an arm whose runs are all
// invalid, or of which nothing decides.
func TestWhatIsNotComparedIsNotDecided(t *testing.T) {
	decided := Pair{A: "a", B: "b", Metrics: []Metrics{{Name: "m", Primary: true, Verdict: Equivalent}}}
	aside := Pair{A: "a", B: "b", Metrics: []Metrics{{Name: "m", Verdict: Inconclusive}}}
	in := func(model string, pairs ...Pair) Stratum {
		return Stratum{Within: map[string]string{"model": model}, Pairs: pairs}
	}
	for name, c := range map[string]struct {
		failOn FailOn
		strata []Stratum
		says   string
	}{
		"all decided":        {FailOnInconclusive, []Stratum{in("x", decided), in("y", decided)}, ""},
		"an arm is missing":  {FailOnInconclusive, []Stratum{in("x", decided), in("y")}, "b, model y is not compared"},
		"nothing decides":    {FailOnInconclusive, []Stratum{in("x", aside), in("y", decided)}, "b, model x has no primary metric"},
		"none asked for one": {FailOnWorse, []Stratum{in("x", aside), in("y")}, ""},
	} {
		missed := Comparison{Arms: []string{"a", "b"}, Strata: c.strata}.Missed(c.failOn)
		if (len(missed) == 0) != (c.says == "") || len(missed) > 0 && !strings.Contains(missed[0], c.says) {
			t.Errorf("%s: %q, want %q", name, missed, c.says)
		}
	}
}

// worse is refused alone; what may be worse is named. A decision is a verdict that says on which side of the margin the
// difference is.
func TestFailOnRefusesTheVerdictsThatItNames(t *testing.T) {
	for v, want := range map[Verdict]struct{ worse, inconclusive bool }{
		Equivalent: {}, Irrelevant: {}, Better: {}, Different: {},
		Worse:               {worse: true, inconclusive: true},
		WorseExtentOpen:     {inconclusive: true},
		BetterExtentOpen:    {inconclusive: true},
		DifferentExtentOpen: {inconclusive: true},
		Confounded:          {inconclusive: true},
		Inconclusive:        {inconclusive: true},
		Undecided:           {inconclusive: true},
	} {
		m := Metrics{Name: "m", Primary: true, Verdict: v}
		if v == Confounded {
			m.VerdictIgnoringOrder = Worse
		}
		c := Comparison{Arms: []string{"a", "b"}, Strata: []Stratum{{Pairs: []Pair{{A: "a", B: "b", Metrics: []Metrics{m}}}}}}
		if got := len(c.Missed(FailOnWorse)) > 0; got != want.worse {
			t.Errorf("%s: refused by worse: %v", v, got)
		}
		if got := len(c.Missed(FailOnInconclusive)) > 0; got != want.inconclusive {
			t.Errorf("%s: refused by inconclusive: %v", v, got)
		}
		if got := len(c.Confounded()) > 0; got != (v == Confounded) {
			t.Errorf("%s: confounded: %v", v, got)
		}
		if got := len(c.MayBeWorse()) > 0; got != (v == WorseExtentOpen) {
			t.Errorf("%s: may be worse: %v", v, got)
		}
	}
}
