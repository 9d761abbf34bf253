package compare_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
)

func TestTheTableIsOfOnePiece(t *testing.T) {
	endings := map[compare.Unit][]string{
		compare.UnitSeconds: {"_seconds"}, compare.UnitBytes: {"_bytes"}, compare.UnitCelsius: {"_celsius"}, compare.UnitWatts: {"_watts"},
		compare.UnitJoules: {"_joules", "joules_per_output_token"}, compare.UnitTokens: {"_tokens"}, compare.UnitRatio: {"_ratio"},
		compare.UnitPerSecond: {"_per_second", "_per_second_per_user", "_per_second_per_gpu"},
	}
	seen, titles := map[string]bool{}, map[string]bool{}
	for _, m := range compare.Table() {
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
		if m.Margin.Relative != (m.Scale == compare.ScaleLog) {
			t.Errorf("%s: a share is analysed as a logarithm and an amount is not", m.Name)
		}
		if found, known := compare.FindMetric(m.Name); !known || found != m {
			t.Errorf("%s is not found", m.Name)
		}
	}
	for name, want := range map[string]string{
		compare.OutputTokensPerSecond: "2 %", compare.TimeToFirstToken: "2 %", compare.MemoryOccupiedWithoutKV: "1.00 GiB", "gpu_max_celsius": "2.0 °C",
	} {
		if m, _ := compare.FindMetric(name); m.Margin.Text(m.Unit) != want {
			t.Errorf("%s has a margin of %s", name, m.Margin.Text(m.Unit))
		}
	}
	if _, known := compare.FindMetric("jokes"); known {
		t.Error("anything is a metric")
	}
}

func TestFiguresAreWrittenForPeople(t *testing.T) {
	for want, got := range map[string]string{
		"70.47 GiB": compare.UnitBytes.Text(70.47 * gib),
		"-1.50 MiB": compare.UnitBytes.Text(-1.5 * (1 << 20)),
		"0 B":       compare.UnitBytes.Text(0),
		"0 B ":      compare.UnitBytes.Text(3e-5) + " ",
		"512.00 B":  compare.UnitBytes.Text(512),
		"119.79 /s": compare.UnitPerSecond.Text(119.79),
		"2.41 s":    compare.UnitSeconds.Text(2.41),
		"183.00 ms": compare.UnitSeconds.Text(0.183),
		"12.00 µs":  compare.UnitSeconds.Text(12e-6),
		"0.5 µs":    compare.UnitSeconds.Text(0.5e-6),
		"0 s":       compare.UnitSeconds.Text(0),
		"60.7 °C":   compare.UnitCelsius.Text(60.7),
		"99.5 %":    compare.UnitRatio.Text(0.995),
		"100 %":     compare.UnitRatio.Text(1),
		"262144":    compare.UnitTokens.Text(262144),
		"9.80 W":    compare.UnitWatts.Text(9.8),
		"0.25 J":    compare.UnitJoules.Text(0.25),
		"+43.75 %":  compare.Change(1.4375),
		"-0.325 %":  compare.Change(0.99675),
		"2 %":       compare.Percent(0.02),
		"1 run":     compare.Runs(1),
		"0.944":     compare.UnitBytes.InUnitOf(0.944*gib, 70*gib),
		"model m":   compare.Cell(map[string]string{"model": "m"}),
		"kv o, m s": compare.Cell(map[string]string{"m": "s", "kv": "o"}),
		"500.00 ms": compare.Margin{Value: 0.5}.Text(compare.UnitSeconds),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestAMarginIsAShareOrAnAmountInAUnitOfItsMetric(t *testing.T) {
	for text, want := range map[string]compare.Margin{
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
		metric, known := compare.FindMetric(name)
		if !known || m.Value <= 0 || math.IsInf(m.Value, 0) || m.Relative && m.Value >= 1 {
			t.Errorf("%q is %v of %q", text, m, name)
		}
		// What is read is taken, and can be shown.
		e := quiet()
		if _, err := compare.Compare(e.runs, compare.Options{By: "arm", Margins: map[string]compare.Margin{name: m}}); err != nil {
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
	m := metricOf(t, mustCompare(t, quiet().runs, compare.Options{Columns: compare.Columns(), Seed: 5}), compare.OutputTokensPerSecond)
	if m.ShapiroA == nil || m.ShapiroB == nil || m.BCa95 == nil || m.BootstrapSeed != 5 || m.BCa95[0] > *m.Difference || m.BCa95[1] < *m.Difference {
		t.Errorf("%+v", m)
	}
	if m := metricOf(t, mustCompare(t, quiet().runs, compare.Options{}), compare.OutputTokensPerSecond); m.ShapiroA != nil || m.BCa95 != nil {
		t.Error("columns that nobody asked for")
	}
}
