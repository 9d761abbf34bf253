package figure_test

import (
	"testing"

	"github.com/umascope/umascope/loadgen/figure"
)

const gib = 1 << 30

func TestFiguresAreWrittenForPeople(t *testing.T) {
	for want, got := range map[string]string{
		"70.47 GiB": figure.Bytes.Text(70.47 * gib),
		"-1.50 MiB": figure.Bytes.Text(-1.5 * (1 << 20)),
		"0 B":       figure.Bytes.Text(0),
		"0 B ":      figure.Bytes.Text(3e-5) + " ",
		"512.00 B":  figure.Bytes.Text(512),
		"119.79 /s": figure.PerSecond.Text(119.79),
		"2.41 s":    figure.Seconds.Text(2.41),
		"183.00 ms": figure.Seconds.Text(0.183),
		"12.00 µs":  figure.Seconds.Text(12e-6),
		"0.5 µs":    figure.Seconds.Text(0.5e-6),
		"0 s":       figure.Seconds.Text(0),
		"60.7 °C":   figure.Celsius.Text(60.7),
		"99.5 %":    figure.Ratio.Text(0.995),
		"100 %":     figure.Ratio.Text(1),
		"262144":    figure.Tokens.Text(262144),
		"9.80 W":    figure.Watts.Text(9.8),
		"0.25 J":    figure.Joules.Text(0.25),
		"+43.75 %":  figure.Change(1.4375),
		"-0.325 %":  figure.Change(0.99675),
		"2 %":       figure.Percent(0.02),
		"0.944":     figure.Bytes.InUnitOf(0.944*gib, 70*gib),
		"500.00 ms": figure.Margin{Value: 0.5}.Text(figure.Seconds),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
