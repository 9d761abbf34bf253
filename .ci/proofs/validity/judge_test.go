package main

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/summary"
)

func TestAPercentileIsWrongOnlyBeyondTheServersOwnStamps(t *testing.T) {
	for name, c := range map[string]struct {
		reported, low, high float64 // s
		right, wrong        bool
	}{
		"equal":                  {0.1, 0.1, 0.1, true, false},
		"off by 1.9 % of 100 ms": {0.1019, 0.1, 0.1, true, false},
		"off by 2.1 ms":          {0.1025, 0.1, 0.1, false, true},
		"off by 0.9 ms of 10":    {0.0109, 0.01, 0.01, true, false},
		"off by 1.1 ms of 10":    {0.0111, 0.01, 0.01, false, true},
		"the server was stopped beside its stamp":  {0.12, 0.1, 0.12, false, false},
		"too short by more than the server allows": {0.08, 0.1, 0.12, false, true},
	} {
		var o outcome
		o.compare("TTFT", &summary.Distribution{P50: &c.reported}, values{[]float64{c.low, c.low}, []float64{c.high, c.high}})
		if o.right() != c.right || o.wrong() != c.wrong {
			t.Errorf("%s: off by %.2f to %.2f", name, o.least, o.most)
		}
	}
}

func TestTheTableFailsForAWrongRunThatIsValidAndForTooManyRightOnesThatAreNot(t *testing.T) {
	one := row{32, 0}
	for name, c := range map[string]struct {
		tally
		want string
	}{
		"as it must be":         {tally{runs: 30, right: 20, rightValid: 19, wrong: 10}, ""},
		"a wrong one is valid":  {tally{runs: 30, right: 20, rightValid: 20, wrong: 10, wrongValid: 1}, "1 of 10 wrong runs are valid, want none"},
		"18 of 20 right ones":   {tally{runs: 30, right: 20, rightValid: 18, wrong: 10}, "18 of 20 right runs are valid, want 95 %"},
		"none of them is right": {tally{runs: 10, wrong: 10}, ""},
	} {
		var out strings.Builder
		err := table(&out, []row{one, {64, 8}}, map[row]*tally{one: &c.tally})
		if got := ""; err != nil {
			if got = err.Error(); got != c.want {
				t.Errorf("%s: %s", name, got)
			}
		} else if c.want != "" {
			t.Errorf("%s: no error", name)
		}
		if !strings.Contains(out.String(), "| 32 | 0 | ") || strings.Contains(out.String(), "| 64 |") {
			t.Errorf("%s:\n%s", name, out.String())
		}
	}
}
