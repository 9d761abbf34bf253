package compare

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/loadgen/stats"
)

// manyTests lists the findings that would not be significant if all tests of the comparison were one family. A verdict
// is adjusted in its own stratum only: among ten equal models, chance alone finds one to differ in four of ten
// comparisons.
func manyTests(out Comparison) []Warning {
	var all []Warning
	for _, primary := range []bool{true, false} {
		var p []float64
		var names []string // of the findings; empty for other metrics
		for s, pair := range out.pairs() {
			for _, m := range pair.Metrics {
				if m.Primary != primary || m.WelchP == nil || m.SameAs != "" {
					continue
				}
				p = append(p, m.decidingP())
				names = append(names, m.finding(pair, s))
			}
		}
		var weak []string
		for i, adjusted := range stats.Holm(p) {
			if names[i] != "" && adjusted > significance {
				weak = append(weak, fmt.Sprintf("%s (p %.2g)", names[i], p[i]))
			}
		}
		if len(weak) > 0 {
			which := map[bool]string{true: "primary metrics", false: "other metrics"}[primary]
			all = append(all, warn(CodeManyTests, "found by itself and not as one of the %d tests of %s in all strata and arms (Holm): %s", len(p), which, some(weak)))
		}
	}
	return all
}

// decidingP returns p of the test that the verdict is based on.
func (m Metrics) decidingP() float64 {
	if m.PairedP != nil {
		return *m.PairedP
	}
	return *m.WelchP
}

// finding names a metric with a difference; empty for any other verdict.
func (m Metrics) finding(p Pair, s Stratum) string {
	if !m.Verdict.IsDifference() {
		return ""
	}
	return strings.Join([]string{title(m.Name), "of", p.B}, " ") + in(s.Within)
}
