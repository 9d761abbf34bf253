package compare_test

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// TestADifferenceIsNotDecidedWithinTheClientsOwnDelays gives both arms runs that differ by a time, and the runs of one a
// doubt of their own.
func TestADifferenceIsNotDecidedWithinTheClientsOwnDelays(t *testing.T) {
	const metric = "time_to_first_token_p50_seconds"
	for name, c := range map[string]struct {
		differ float64 // s, of 0.1 s
		doubt  float64 // s
		margin string
		open   bool
	}{
		"none":                     {0.003, 0, "2%", false},
		"within the margin of 2 %": {0.003, 0.0019, "2%", false},
		"beyond it":                {0.003, 0.0021, "2%", true},
		"beyond it, where the difference is larger": {0.01, 0.0021, "2%", false},
		"beyond a smaller margin":                   {0.003, 0.0025, "1%", true},
		"within a margin of an amount":              {0.003, 0.0024, "2.5ms", false},
		"beyond it, where nothing differs":          {0, 0.0021, "2%", true},
	} {
		_, margin, err := compare.ParseMargin(metric + "=" + c.margin)
		if err != nil {
			t.Fatal(err)
		}
		var e experiment
		for i, arm := range order("ABBAABBAABBAABBA") {
			value, doubts := 0.1+float64(i%3)*1e-5, map[string]float64{}
			if arm == "B" {
				value += c.differ
				doubts[metric] = c.doubt
			}
			e.run(arm, map[string]float64{metric: value}, func(r *compare.Run) { r.Doubts = doubts })
		}
		out := mustCompare(t, e.runs, compare.Options{Primary: metric, Margins: map[string]figure.Margin{metric: margin}})
		m, warned := metricOf(t, out, metric), len(codes(out)[compare.CodeClientDoubt]) > 0
		if (m.Verdict == compare.Inconclusive) != c.open || warned != c.open || (m.ClientDoubt != nil) != (c.doubt > 0) || strings.Contains(strings.Join(m.Notes, ""), "more runs decide nothing") != c.open {
			t.Errorf("%s: %s, doubt %v, notes %v, warned %v", name, m.Verdict, m.ClientDoubt, m.Notes, warned)
		}
	}
}
