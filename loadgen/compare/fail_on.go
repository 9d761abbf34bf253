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

// Confounded returns the metrics that would be worse if time did not explain it as well, in words: neither that they are
// worse nor that they are not is shown.
func (c Comparison) Confounded() []string {
	return c.named(func(m Metrics) bool { return m.VerdictIgnoringOrder == Worse })
}

// MayBeWorse returns the metrics that are worse by an extent that is not decided, in words.
func (c Comparison) MayBeWorse() []string {
	return c.named(func(m Metrics) bool { return m.Verdict == WorseExtentOpen || m.VerdictIgnoringOrder == WorseExtentOpen })
}

func (c Comparison) named(wanted func(Metrics) bool) []string {
	var all []string
	for s, p := range c.pairs() {
		for _, m := range p.Metrics {
			if wanted(m) {
				all = append(all, fmt.Sprintf("%s of %s is %s", m.Name, strings.TrimSuffix(p.B+", "+Cell(s.Within), ", "), m.Verdict.Text()))
			}
		}
	}
	return all
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
