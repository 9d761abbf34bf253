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
			t.Errorf("%s: off by %.2f to %.2f", name, o.Least, o.Most)
		}
	}
}

func TestTheTableFailsForAWrongRunThatIsValidAndForTooManyRightOnesThatAreNot(t *testing.T) {
	right, wrong := outcome{Valid: true}, outcome{Least: 2, Most: 3}
	rightInvalid, wrongValid := outcome{}, outcome{Valid: true, Least: 2, Most: 3}
	for name, c := range map[string]struct {
		outcomes map[outcomeKind]int
		want     string
	}{
		"as it must be":         {map[outcomeKind]int{isRight: 19, isRightInvalid: 1, isWrong: 10}, ""},
		"a wrong one is valid":  {map[outcomeKind]int{isRight: 20, isWrong: 9, isWrongValid: 1}, "1 of 10 wrong runs are valid, want none"},
		"18 of 20 right ones":   {map[outcomeKind]int{isRight: 18, isRightInvalid: 2, isWrong: 10}, "18 of 20 right runs are valid, want 95 %"},
		"none of them is right": {map[outcomeKind]int{isWrong: 10}, ""},
		"9 wrong ones":          {map[outcomeKind]int{isRight: 10, isWrong: 9}, "9 wrong runs show too little, want 10"},
	} {
		t.Run(name, func(t *testing.T) {
			var runs []measured
			for kind, n := range c.outcomes {
				for range n {
					runs = append(runs, measured{row{Streams: 32}, [...]outcome{right, rightInvalid, wrong, wrongValid}[kind]})
				}
			}
			var out strings.Builder
			got := ""
			if err := table(&out, runs, 10); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got %q, want %q", got, c.want)
			}
			if !strings.Contains(out.String(), "| 32 | as by default | 0 | ") {
				t.Error(out.String())
			}
		})
	}
}

type outcomeKind int

const (
	isRight outcomeKind = iota
	isRightInvalid
	isWrong
	isWrongValid
)
