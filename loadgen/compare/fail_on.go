package compare

import (
	"fmt"
	"slices"
	"strings"
)

// FailOn is which verdicts a comparison is refused for; empty refuses none.
type FailOn string

// FailOnWorse refuses any metric that is worse, by more than its margin. FailOnInconclusive also refuses a primary one
// that is not decided (inconclusive, extent not decided, confounded, difference only) and an arm that is not compared.
const (
	FailOnWorse        FailOn = "worse"
	FailOnInconclusive FailOn = "inconclusive"
)

// Missed returns the verdicts that are refused, in words.
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

// Passed returns the verdicts that --fail-on does not refuse although a metric may be worse, in words.
func (c Comparison) Passed(on FailOn) []string {
	if on == "" {
		return nil
	}
	var passed []string
	for s, p := range c.pairs() {
		for _, m := range p.Metrics {
			refused := on == FailOnInconclusive && m.Primary
			mayBeWorse := m.Verdict == WorseExtentOpen || m.VerdictIgnoringOrder == Worse || m.VerdictIgnoringOrder == WorseExtentOpen
			if mayBeWorse && !refused {
				passed = append(passed, fmt.Sprintf("%s of %s is %s", m.Name, strings.TrimSuffix(p.B+", "+Cell(s.Within), ", "), m.Verdict.Text()))
			}
		}
	}
	return passed
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
		if m.Verdict == Worse || decides && m.Primary && !m.Verdict.Decides() {
			missed = append(missed, fmt.Sprintf("%s of %s is %s", m.Name, where, m.Verdict.Text()))
		}
	}
	if decides && !primary {
		missed = append(missed, where+" has no primary metric")
	}
	return missed
}
