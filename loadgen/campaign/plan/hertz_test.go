package plan

import "testing"

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
