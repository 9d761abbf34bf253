package compare

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/loadgen/stats"
)

// manyTests tells which findings would not stand if all tests of the comparison were one family. A verdict
// is of its own stratum: of ten equal models chance alone finds one to differ in four of ten comparisons.
func manyTests(out Comparison) []Warning {
	var all []Warning
	for _, primary := range []bool{true, false} {
		var p []float64
		var names []string // of findings; empty of what is none
		for _, s := range out.Strata {
			for _, pair := range s.Pairs {
				for _, m := range pair.Metrics {
					if m.Primary != primary || m.WelchP == nil || m.SameAs != "" {
						continue
					}
					p = append(p, m.decidingP())
					names = append(names, m.finding(pair, s))
				}
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

// decidingP is that of the test that the verdict goes by.
func (m Metrics) decidingP() float64 {
	if m.PairedP != nil {
		return *m.PairedP
	}
	return *m.WelchP
}

// finding names a metric that is better, worse or different; empty if it is none of them.
func (m Metrics) finding(p Pair, s Stratum) string {
	if !found(m.Verdict) {
		return ""
	}
	title := m.Name
	if known, ok := FindMetric(m.Name); ok {
		title = known.Title
	}
	return strings.Join([]string{title, "of", p.B}, " ") + in(s.Within)
}
