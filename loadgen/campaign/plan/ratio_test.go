package plan

import (
	"math"
	"strings"
	"testing"
)

func TestACPUGateIsAPercentageOrAShare(t *testing.T) {
	for text, want := range map[string]float64{"10%": 0.1, "10 %": 0.1, "0.1": 0.1, "2.5%": 0.025, "100%": 1, "1": 1} {
		p, err := Parse("plan.yaml", []byte(strings.Replace(small, "iterations: 2", "gates: {cpu_ratio: "+text+"}", 1)))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got := float64(*p.Gates.CPURatio); got < want-1e-12 || got > want+1e-12 {
			t.Errorf("%s is %g, want %g", text, got, want)
		}
	}
}

// FuzzParseRatio: a percentage is a hundredth of its number, and what is shown is read as what it shows.
func FuzzParseRatio(f *testing.F) {
	for _, seed := range []string{"10%", "0.1", "1e999", "NaN%", "-5 %", "%", "5%%"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		share, err := ParseRatio(text)
		if err != nil {
			if share != 0 {
				t.Errorf("%g, %v", float64(share), err)
			}
			return
		}
		if percent, err := ParseRatio(text + "%"); err == nil && float64(percent) != float64(share)/100 {
			t.Errorf("%q is %g, with %% it is %g", text, float64(share), float64(percent))
		}
		if math.Abs(float64(share)) > 1e300 {
			return // 100 times as much is no number any more
		}
		if shown, err := ParseRatio(share.String()); err != nil || diff(float64(shown), float64(share)) > 0.01*math.Abs(float64(share)) {
			t.Errorf("%q is %g, shown as %s, which is %g, %v", text, float64(share), share, float64(shown), err)
		}
	})
}
