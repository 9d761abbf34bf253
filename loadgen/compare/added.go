package compare

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// setPlanned gives every metric that decides the verdict that it has without the pairs that a campaign added for runs
// that were off.
//
// The comparison shows both verdicts; no run is replaced.
func (c *Comparison) setPlanned(runs []Run, o Options) {
	planned := slices.DeleteFunc(slices.Clone(runs), func(r Run) bool { return r.Added })
	if len(planned) == len(runs) {
		return
	}
	o.Baseline = c.Baseline
	before, err := Compare(planned, o)
	if err != nil {
		c.Warnings = append(c.Warnings, warn(CodePairsAdded, "without the pairs that were added to the plan nothing can be compared: %v", err))
		return
	}
	for s, b := range before.pairs() {
		for i := range c.Strata {
			if maps.Equal(c.Strata[i].Within, s.Within) {
				c.Strata[i].setPlanned(b)
			}
		}
	}
}

// setPlanned copies the verdicts of a pair computed without the added pairs to the pair of the same two arms.
func (s *Stratum) setPlanned(before Pair) {
	at := slices.IndexFunc(s.Pairs, func(p Pair) bool { return p.A == before.A && p.B == before.B })
	if at < 0 {
		return
	}
	p := &s.Pairs[at]
	var texts []string
	for i := range p.Metrics {
		m := &p.Metrics[i]
		same := slices.IndexFunc(before.Metrics, func(b Metrics) bool { return b.Name == m.Name && b.EngineReported == m.EngineReported })
		if !m.Primary || same < 0 {
			continue
		}
		b := before.Metrics[same]
		if added := m.A.N + m.B.N - b.A.N - b.B.N; added > 0 {
			m.VerdictPlanned = b.Verdict
			texts = append(texts, fmt.Sprintf("%s added to the plan for runs that were off: %s is %s with them and %s without",
				Runs(added), title(m.Name), m.Verdict.Text(), b.Verdict.Text()))
		}
	}
	if len(texts) > 0 {
		p.Warnings = append(p.Warnings, warn(CodePairsAdded, "%s", strings.Join(texts, "; ")))
	}
}
