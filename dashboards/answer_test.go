package dashboards

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/umascope/umascope/exporter/metric/expr"
)

// archive is what Prometheus has stored, and what was chosen on a page.
type archive struct {
	*teststorage.TestStorage
	chosen map[string]string
}

// stored loads series as promtool's tests write them, a value every 15 s from 0 on.
func stored(t *testing.T, chosen map[string]string, series ...string) archive {
	t.Helper()
	storage := promqltest.LoadedStorage(t, "load 15s\n  "+strings.Join(series, "\n  ")+"\n")
	t.Cleanup(func() { storage.Close() })
	return archive{storage, chosen}
}

// finished are the series of finished runs and comparisons as uma-load serve shows them, standing for half an hour.
func finished(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "loadgen", "promexport", "testdata", "results.prom"))
	if err != nil {
		t.Fatal(err)
	}
	sample := regexp.MustCompile(`(?m)^([a-z_]+\{.*\}) (\S+)$`)
	var all []string
	for _, match := range sample.FindAllStringSubmatch(string(text), -1) {
		value, err := strconv.ParseFloat(match[2], 64)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, fmt.Sprintf("%s %sx120", match[1], strconv.FormatFloat(value, 'f', -1, 64)))
	}
	return all
}

// ask answers an expression at a moment: values by their labels, which stand in the order of their names.
func (a archive) ask(t *testing.T, e expr.Expr, at time.Duration) map[string]float64 {
	t.Helper()
	answers := map[string]float64{}
	for _, s := range a.samples(t, e, at) {
		answers[s.Metric.String()] = s.F
	}
	return answers
}

// samples answers an expression at a moment, with what was chosen on the page.
func (a archive) samples(t *testing.T, e expr.Expr, at time.Duration) promql.Vector {
	t.Helper()
	if err := e.Err(); err != nil {
		t.Fatal(err)
	}
	return a.vector(t, e.String(), at)
}

// vector answers a query of a page at a moment.
func (a archive) vector(t *testing.T, query string, at time.Duration) promql.Vector {
	t.Helper()
	engine, text := a.prepared(t, query)
	asked, err := engine.NewInstantQuery(t.Context(), a, nil, text, time.Unix(0, 0).Add(at))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer asked.Close()
	vector, err := asked.Exec(t.Context()).Vector()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return slices.Clone(vector) // the query owns it
}

// curves are how many points each series of a query of a page has from the beginning to a moment.
func (a archive) curves(t *testing.T, query string, until time.Duration) map[string]int {
	t.Helper()
	engine, text := a.prepared(t, query)
	asked, err := engine.NewRangeQuery(t.Context(), a, nil, text, time.Unix(0, 0), time.Unix(0, 0).Add(until), 15*time.Second)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer asked.Close()
	matrix, err := asked.Exec(t.Context()).Matrix()
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	points := map[string]int{}
	for _, s := range matrix {
		points[s.Metric.String()] = len(s.Floats) + len(s.Histograms)
	}
	return points
}

// prepared is an engine, and the query with what was chosen on the page.
func (a archive) prepared(t *testing.T, query string) (engine *promql.Engine, text string) {
	t.Helper()
	text = strings.ReplaceAll(query, "$__rate_interval", "1m")
	for name, value := range a.chosen {
		text = regexp.MustCompile(`\$(`+name+`\b|\{`+name+`\})`).ReplaceAllLiteralString(text, value)
	}
	engine = promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{
		MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: time.Minute, EnableAtModifier: true, EnableNegativeOffset: true, Parser: parser.NewParser(parser.Options{}),
	})
	return engine, text
}

// same fails unless the answers are those that are wanted.
func same(t *testing.T, what string, got, want map[string]float64) {
	t.Helper()
	for labels, value := range want {
		if v, there := got[labels]; !there || math.Abs(v-value) > 1e-9*math.Abs(value) {
			t.Errorf("%s: %s is %v (there: %v), want %v", what, labels, v, there, value)
		}
	}
	if len(got) != len(want) {
		t.Errorf("%s: answers %v, want %v", what, got, want)
	}
}
