package compare

import (
	"fmt"
	"slices"
	"strings"
)

// FailOn is which verdicts a comparison is refused for; empty refuses none.
type FailOn string

// FailOnWorse refuses any metric that is worse, FailOnInconclusive also a primary one that is not decided and an arm
// that is not compared.
const (
	FailOnWorse        FailOn = "worse"
	FailOnInconclusive FailOn = "inconclusive"
)

// Missed returns the verdicts that are refused, in words. A verdict that is confounded with time counts too.
func (c Comparison) Missed(on FailOn) []string {
	if on == "" {
		return nil
	}
	var missed []string
	for _, s := range c.Strata {
		for _, name := range c.Arms[1:] {
			missed = append(missed, on.missed(s, name)...)
		}
	}
	return missed
}

// missed returns the verdicts of an arm in a stratum that --fail-on refuses. A metric that was not compared counts as
// undecided.
func (on FailOn) missed(s Stratum, name string) []string {
	where := strings.TrimSuffix(name+", "+Cell(s.Within), ", ")
	decides := on == FailOnInconclusive
	i := slices.IndexFunc(s.Pairs, func(p Pair) bool { return p.B == name })
	if i < 0 {
		if decides {
			return []string{where + " is not compared: an arm has no valid run"}
		}
		return nil
	}
	var missed []string
	primary := false
	for _, m := range s.Pairs[i].Metrics {
		primary = primary || m.Primary
		undecided := m.Verdict == Inconclusive || m.Verdict == Undecided
		if m.Verdict == Worse || decides && m.Primary && undecided {
			missed = append(missed, fmt.Sprintf("%s of %s is %s", m.Name, where, m.Verdict))
		}
	}
	if decides && !primary {
		missed = append(missed, where+" has no primary metric")
	}
	return missed
}
