package compare_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/compare"
	"github.com/umascope/umascope/loadgen/figure"
)

// began is when the first run of every experiment starts.
var began = time.Date(2026, 1, 5, 8, 0, 0, 0, time.UTC)

// experiment makes runs, an hour apart.
type experiment struct{ runs []compare.Run }

// run adds a valid one of an arm.
func (e *experiment) run(arm string, metrics map[string]float64, change ...func(*compare.Run)) {
	n := len(e.runs)
	r := compare.Run{
		ID: fmt.Sprintf("run%03d", n+1), Path: fmt.Sprintf("runs/run%03d", n+1), Labels: map[string]string{"arm": arm},
		Scenario: "standard", Model: "m", WorkloadSHA256: "5ce7", BootID: "boot1", Valid: true,
		StartedAt: began.Add(time.Duration(n) * time.Hour), Metrics: metrics,
	}
	for _, f := range change {
		f(&r)
	}
	e.runs = append(e.runs, r)
}

// throughput adds runs in the order of arms, each with the next value of its arm.
func (e *experiment) throughput(order []string, values map[string][]float64, change ...func(*compare.Run)) {
	at := map[string]int{}
	for _, arm := range order {
		e.run(arm, map[string]float64{figure.OutputTokensPerSecond: values[arm][at[arm]%len(values[arm])]}, change...)
		at[arm]++
	}
}

func order(text string) []string {
	var arms []string
	for _, letter := range text {
		arms = append(arms, string(letter))
	}
	return arms
}

func mustCompare(t *testing.T, runs []compare.Run, o compare.Options) compare.Comparison {
	t.Helper()
	if o.By == "" {
		o.By = "arm"
	}
	c, err := compare.Compare(runs, o)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// metricOf is a metric of the first pair of the first stratum.
func metricOf(t *testing.T, c compare.Comparison, name string) compare.Metrics {
	t.Helper()
	for _, m := range c.Strata[0].Pairs[0].Metrics {
		if m.Name == name {
			return m
		}
	}
	t.Fatalf("no metric %s", name)
	return compare.Metrics{}
}

// codes are those of all warnings.
func codes(c compare.Comparison) map[string][]string {
	all := map[string][]string{}
	add := func(warnings []compare.Warning) {
		for _, w := range warnings {
			all[w.Code] = append(all[w.Code], w.Text)
		}
	}
	add(c.Warnings)
	for _, s := range c.Strata {
		add(s.Warnings)
		for _, p := range s.Pairs {
			add(p.Warnings)
		}
	}
	return all
}
