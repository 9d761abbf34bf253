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
