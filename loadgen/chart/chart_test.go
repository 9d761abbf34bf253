package chart

import (
	"math"
	"strings"
	"testing"
)

const gib = float64(1 << 30)

func TestAxesHaveRoundTicksInside(t *testing.T) {
	for _, test := range []struct {
		axis Axis
		want string
	}{
		{Linear("", 0, 95, 1, 5), "0 20 40 60 80 100"},
		{Linear("", 0, .0032, 1e3, 4), "0 1 2 3 4"},
		{Linear("", 0, 0, 1, 4), "0 0.5 1"},
		{TimeAxis(47, 5), "0 10 20 30 40"},
		{TimeAxis(3600, 6), "0 10 20 30 40 50 60"},
		{BytesAxis(-2*gib, 119*gib), "0 50 100"},
		{Linear("", -21*gib, 49*gib, 1/gib, 3), "-40 -20 0 20 40 60"},
		{Logarithmic("", .01, 1, 1e3), "10 20 50 100 200 500 1000"},
	} {
		var ticks []string
		for _, tick := range test.axis.Ticks {
			ticks = append(ticks, tick.Text)
			if s := test.axis.Share(tick.At); s < 0 || s > 1 || math.IsNaN(s) {
				t.Errorf("tick %s is at %v", tick.Text, s)
			}
		}
		if got := strings.Join(ticks, " "); got != test.want {
			t.Errorf("ticks %s, want %s", got, test.want)
		}
	}
}

func TestFiguresAreWrittenForPeople(t *testing.T) {
	for got, want := range map[string]string{
		FormatSeconds(0): "0 s", FormatSeconds(1.5e-6): "1.5 µs", FormatSeconds(.0184): "18.4 ms", FormatSeconds(2.412): "2.41 s", FormatSeconds(754.4): "754 s",
		FormatBytes(81.34 * gib): "81.3 GiB", FormatBytes(-2 * gib): "-2 GiB", FormatBytes(64 << 20): "64 MiB", FormatBytes(12): "12 B",
		FormatJoules(.232): "0.232 J", FormatJoules(107800): "108 kJ", FormatJoules(2.5e6): "2.5 MJ",
		FormatRatio(.0123): "1.23 %", Optional(nil, Digits): None, Digits(398.4): "398", Digits(10): "10", Digits(.25): "0.25",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
