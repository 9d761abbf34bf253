package compare_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

func TestTheTableIsOfOnePiece(t *testing.T) {
	endings := map[figure.Unit][]string{
		figure.Seconds: {"_seconds"}, figure.Bytes: {"_bytes"}, figure.Celsius: {"_celsius"}, figure.Watts: {"_watts"},
		figure.Joules: {"_joules", "joules_per_output_token"}, figure.Tokens: {"_tokens"}, figure.Ratio: {"_ratio"},
		figure.PerSecond: {"_per_second", "_per_second_per_user", "_per_second_per_gpu"},
	}
	seen, titles := map[string]bool{}, map[string]bool{}
	for _, m := range figure.Compared() {
		if seen[m.Name] || titles[m.Title] {
			t.Errorf("%s (%s) is there twice", m.Name, m.Title)
		}
		seen[m.Name], titles[m.Title] = true, true
		if !slices.ContainsFunc(endings[m.Unit], func(end string) bool { return strings.HasSuffix(m.Name, end) }) {
			t.Errorf("%s is in %s", m.Name, m.Unit)
		}
		if m.Margin.Value <= 0 || m.Direction == "" || m.Scale == "" {
			t.Errorf("%s has margin %v, direction %q, scale %q", m.Name, m.Margin, m.Direction, m.Scale)
		}
		if m.Margin.Relative != (m.Scale == figure.ScaleLog) {
			t.Errorf("%s: a share is analysed as a logarithm and an amount is not", m.Name)
		}
		if found, known := figure.FindCompared(m.Name); !known || found.Title != m.Title {
			t.Errorf("%s is not found", m.Name)
		}
	}
	for name, want := range map[string]string{
		figure.OutputTokensPerSecond: "2 %", figure.TimeToFirstToken: "2 %", figure.MemoryOccupiedWithoutKV: "1.00 GiB", "gpu_max_celsius": "2.0 °C",
	} {
		if m, _ := figure.FindCompared(name); m.Margin.Text(m.Unit) != want {
			t.Errorf("%s has a margin of %s", name, m.Margin.Text(m.Unit))
		}
	}
	if _, known := figure.FindCompared("jokes"); known {
		t.Error("anything is a metric")
	}
}

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
		"1 run":     compare.Runs(1),
		"0.944":     figure.Bytes.InUnitOf(0.944*gib, 70*gib),
		"model m":   compare.Cell(map[string]string{"model": "m"}),
		"kv o, m s": compare.Cell(map[string]string{"m": "s", "kv": "o"}),
		"500.00 ms": figure.Margin{Value: 0.5}.Text(figure.Seconds),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAMarginIsAShareOrAnAmountInAUnitOfItsMetric(t *testing.T) {
	for text, want := range map[string]figure.Margin{
		"output_tokens_per_second=2%":          {Value: 0.02, Relative: true},
		"output_tokens_per_second=5/s":         {Value: 5},
		"memory_unavailable_peak_bytes=1GiB":   {Value: 1 << 30},
		"memory_unavailable_peak_bytes=2.5 GB": {Value: 2.5e9},
		"memory_unavailable_peak_bytes=0.5%":   {Value: 0.005, Relative: true},
		"gpu_end_celsius=2C":                   {Value: 2},
		"time_to_first_token_p50_seconds=5ms":  {Value: 0.005},
		"goodput_ratio=0.02":                   {Value: 0.02},
		"joules_per_output_token=1J":           {Value: 1},
	} {
		name, m, err := compare.ParseMargin(text)
		if err != nil || math.Abs(m.Value-want.Value) > 1e-12 || m.Relative != want.Relative || !strings.HasPrefix(text, name+"=") {
			t.Errorf("%s is %v of %s, %v", text, m, name, err)
		}
	}
	for text, want := range map[string]string{
		"memory_unavailable_peak_bytes":          "METRIC=2%",
		"memory_peak_bytes=1GiB":                 "memory_unavailable_peak_bytes",
		"memory_unavailable_peak_bytes=1":        `"" is no unit of bytes`,
		"memory_unavailable_peak_bytes=1C":       `"C" is no unit of bytes`,
		"memory_unavailable_peak_bytes=GiB":      "is no amount",
		"output_tokens_per_second=0%":            "more than nothing",
		"output_tokens_per_second=100%":          "less than 100 %",
		"output_tokens_per_second=-2%":           "more than nothing",
		"output_tokens_per_second=1e400%":        "is no amount",
		"memory_unavailable_peak_bytes=1.0.0GiB": "is no amount",
		"time_to_first_token_p50_seconds=m":      "is no amount",
	} {
		if _, m, err := compare.ParseMargin(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
			t.Errorf("%s: %v, %v", text, m, err)
		}
	}
}

func FuzzMarginsAreSaneOrRefused(f *testing.F) {
	for _, seed := range []string{"output_tokens_per_second=2%", "memory_unavailable_peak_bytes=1GiB", "x=1", "=", "gpu_end_celsius=1e-400C", "goodput_ratio=.5", "gpu_end_celsius=99999999999999999999999C"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		name, m, err := compare.ParseMargin(text)
		if err != nil {
			return
		}
		metric, known := figure.FindCompared(name)
		if !known || m.Value <= 0 || math.IsInf(m.Value, 0) || m.Relative && m.Value >= 1 {
			t.Errorf("%q is %v of %q", text, m, name)
		}
		// What is read is taken, and can be shown.
		e := quiet()
		if _, err := compare.Compare(e.runs, compare.Options{By: "arm", Margins: map[string]figure.Margin{name: m}}); err != nil {
			t.Error(err)
		}
		if m.Text(metric.Unit) == "" {
			t.Errorf("%v cannot be shown", m)
		}
	})
}

func TestAColumnIsOneOfThose(t *testing.T) {
	for _, column := range compare.Columns() {
		if got, err := compare.ParseColumn(string(column)); err != nil || got != column {
			t.Errorf("%s: %v, %v", column, got, err)
		}
	}
	if _, err := compare.ParseColumn("p"); err == nil || !strings.Contains(err.Error(), "shapiro, bonferroni, bh, bca") {
		t.Errorf("%v", err)
	}
	m := metricOf(t, mustCompare(t, quiet().runs, compare.Options{Columns: compare.Columns(), Seed: 5}), figure.OutputTokensPerSecond)
	if m.ShapiroA == nil || m.ShapiroB == nil || m.BCa95 == nil || m.BootstrapSeed != 5 || m.BCa95[0] > *m.Difference || m.BCa95[1] < *m.Difference {
		t.Errorf("%+v", m)
	}
	if m := metricOf(t, mustCompare(t, quiet().runs, compare.Options{}), figure.OutputTokensPerSecond); m.ShapiroA != nil || m.BCa95 != nil {
		t.Error("columns that nobody asked for")
	}
}
