package format_test

import (
	"testing"

	"github.com/umascope/umascope/loadgen/format"
)

const gib = 1 << 30

func TestFiguresAreWrittenForPeople(t *testing.T) {
	for got, want := range map[string]string{
		format.Seconds(0): "0 s", format.Seconds(1.5e-6): "1.5 µs", format.Seconds(.0184): "18.4 ms", format.Seconds(2.412): "2.41 s", format.Seconds(754.4): "754 s",
		format.Bytes(81.34 * gib): "81.3 GiB", format.Bytes(-2 * gib): "-2 GiB", format.Bytes(64 << 20): "64 MiB", format.Bytes(12): "12 B",
		format.Joules(.232): "0.232 J", format.Joules(107800): "108 kJ", format.Joules(2.5e6): "2.5 MJ",
		format.Ratio(.0123): "1.23 %", format.Optional(nil, format.Digits): format.None, format.Digits(398.4): "398", format.Digits(10): "10", format.Digits(.25): "0.25",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
