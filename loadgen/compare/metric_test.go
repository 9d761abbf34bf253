package compare_test

import (
	"math"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

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

func TestRunsAndCellsAreNamedForPeople(t *testing.T) {
	for want, got := range map[string]string{
		"1 run": compare.Runs(1), "2 runs": compare.Runs(2), "model m": compare.Cell(map[string]string{"model": "m"}), "kv o, m s": compare.Cell(map[string]string{"m": "s", "kv": "o"}),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
