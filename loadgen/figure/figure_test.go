package figure_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/figure"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary"
)

func TestTheCatalogueIsOfOnePiece(t *testing.T) {
	endings := map[figure.Unit][]string{
		figure.Seconds: {"_seconds"}, figure.Bytes: {"_bytes"}, figure.Celsius: {"_celsius"}, figure.Watts: {"_watts"},
		figure.Joules: {"_joules", "joules_per_output_token"}, figure.Tokens: {"_tokens", "_tokens_mean"}, figure.Ratio: {"_ratio"},
		figure.PerSecond: {"_per_second", "_per_second_per_user", "_per_second_per_gpu"}, figure.Count: {"requests_ok", "requests_failed"},
	}
	taken := map[string]bool{}
	once := func(kind, name string) {
		if name != "" && taken[kind+name] {
			t.Errorf("%s %q is there twice", kind, name)
		}
		taken[kind+name] = true
	}
	for _, f := range figure.All() {
		once("name", f.Name)
		once("title", f.Title)
		once("column", f.Column.Heading)
		once("column of the table of a campaign", f.Table.Heading)
		once("unit of benchstat", f.Bench.Heading)
		if f.Series != nil {
			once("series", f.Series.Def().Name)
			if f.Series.Def().HasLabel(metric.LabelSource) && f.By == nil {
				t.Errorf("%s does not name who reported it", f.Name)
			}
		}
		if !slices.ContainsFunc(endings[f.Unit], func(end string) bool { return strings.HasSuffix(f.Name, end) }) {
			t.Errorf("%s is in %s", f.Name, f.Unit)
		}
		if f.Title == "" || f.Direction == "" || (f.Margin.Value > 0) != (f.Scale != "") {
			t.Errorf("%s has the title %q, margin %v, direction %q, scale %q", f.Name, f.Title, f.Margin, f.Direction, f.Scale)
		}
		if f.Margin.Value > 0 && f.Margin.Relative != (f.Scale == figure.ScaleLog) {
			t.Errorf("%s: a share is analysed as a logarithm and an amount is not", f.Name)
		}
		if found, known := figure.Find(f.Name); !known || found.Title != f.Title {
			t.Errorf("%s is not found", f.Name)
		}
		if _, known := figure.FindCompared(f.Name); known != (f.Margin.Value > 0) {
			t.Errorf("%s is compared: %v", f.Name, known)
		}
		if f.Unit != figure.Count {
			if v := f.Get(&summary.Summary{}); v != nil {
				t.Errorf("a run without anything has %s %v", f.Name, *v)
			}
		}
	}
	for name, want := range map[string]string{
		figure.OutputTokensPerSecond: "2 %", figure.TimeToFirstToken: "2 %", figure.MemoryOccupiedWithoutKV: "1.00 GiB", "gpu_max_celsius": "2.0 °C",
	} {
		if f, _ := figure.FindCompared(name); f.Margin.Text(f.Unit) != want {
			t.Errorf("%s has a margin of %s", name, f.Margin.Text(f.Unit))
		}
	}
	if _, known := figure.Find("jokes"); known {
		t.Error("anything is a figure")
	}
}

// Rules of alerts select the figures of requests that uma-load measured by patterns, which stand in the vocabulary.
func TestThePatternsOfAlertsMatchTheFiguresOfRequests(t *testing.T) {
	latencies, throughputs := regexp.MustCompile("^(?:"+metric.LatencyFigures+")$"), regexp.MustCompile("^(?:"+metric.ThroughputFigures+")$")
	for _, f := range figure.Compared() {
		measured := !figure.ByEngine(f.Name) && !figure.ByTool(f.Name)
		if got, want := latencies.MatchString(f.Name), measured && f.Unit == figure.Seconds; got != want {
			t.Errorf("%s is a latency: %v, want %v", f.Name, got, want)
		}
		if got, want := throughputs.MatchString(f.Name), measured && f.Unit == figure.PerSecond; got != want {
			t.Errorf("%s is a throughput: %v, want %v", f.Name, got, want)
		}
	}
}

// A sweep stopped, a comparison and a rule of validity each had a formula of their own.
func TestTheShareOfFailedRequestsIsUnknownWithoutRequests(t *testing.T) {
	for want, requests := range map[string]map[openai.Status]int{
		"":      {},
		"0 %":   {openai.StatusOK: 4},
		"25 %":  {openai.StatusOK: 3, openai.StatusTimeout: 1},
		"100 %": {openai.StatusHTTP: 1, openai.StatusConnect: 2},
	} {
		got := ""
		if v := figure.Value(&summary.Summary{Requests: requests}, "failed_ratio"); v != nil {
			got = figure.Ratio.Text(*v)
		}
		if got != want {
			t.Errorf("%v: %q, want %q", requests, got, want)
		}
	}
}
