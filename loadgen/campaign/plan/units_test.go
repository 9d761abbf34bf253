package plan

import (
	"math"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestAClockHasItsUnit(t *testing.T) {
	for text, want := range map[string]int{
		"1500MHz": 1500, "1.5GHz": 1500, "2100 MHz": 2100, "1234.6MHz": 1235, "1500": 0, "1.5e9": 0, "MHz": 0, "50MHz": 0, "11GHz": 0, "-1500MHz": 0, "NaNMHz": 0, "InfGHz": 0, "1500kHz": 0, "": 0,
	} {
		if got, err := ParseHertz(text); got.Megahertz() != want || (err == nil) != (want > 0) {
			t.Errorf("%q is %s (%v), want %d MHz", text, got, err, want)
		}
	}
}

// FuzzParseHertz: what is read is a clock, and its text is read as the same.
func FuzzParseHertz(f *testing.F) {
	for _, seed := range []string{"1500MHz", "1.5GHz", "0x1p10MHz", "1e3 MHz", "GHz", "9999.5MHz"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := ParseHertz(text)
		if err != nil {
			return
		}
		if again, err := ParseHertz(h.String()); err != nil || again != h || h < leastClock || h > mostClock {
			t.Errorf("%q is %d Hz, and %s is %d (%v)", text, h, h, again, err)
		}
	})
}

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

// FuzzParseBytes: a size is what it shows as, to the digits shown, and nothing is read as more than it can be.
func FuzzParseBytes(f *testing.F) {
	for _, seed := range []string{"60GiB", "0", "1.5 TB", "-1B", "NaNMiB", "1e999GiB"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		size, err := ParseBytes(text)
		if err != nil {
			if size != 0 || !utf8.ValidString(err.Error()) {
				t.Errorf("%d, %v", size, err)
			}
			return
		}
		shown, err := ParseBytes(size.String())
		if size < 1<<63 && (err != nil || diff(float64(shown), float64(size)) > 0.005*max(float64(size), 1)) {
			t.Errorf("%q is %d, shown as %s, which is %d, %v", text, size, size, shown, err)
		}
	})
}

func diff(a, b float64) float64 { return max(a-b, b-a) }
