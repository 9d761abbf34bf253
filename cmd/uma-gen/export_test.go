package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"

	"github.com/umascope/umascope/dashboards"
	"github.com/umascope/umascope/dashboards/grafana"
	"github.com/umascope/umascope/exporter/metric/expr"
)

// The data of the following tests: golden pages, each as what one target answers for an hour, the counters growing. Two
// exporters are of one host.
const lasting, interval = time.Hour, 30 * time.Second

func pagesOfTargets() []struct{ path, labels string } {
	return []struct{ path, labels string }{
		{"exporter/testdata/gb10-load.prom", `host="spark-1",job="uma-exporter",instance="a:1"`},
		{"exporter/testdata/gb10-load.prom", `host="spark-1",job="uma-exporter",instance="a:2"`},
		{"exporter/testdata/sim-gb10.prom", `host="spark-2",job="uma-exporter",instance="b:1"`},
		{"exporter/testdata/kubernetes.prom", `host="spark-3",job="uma-exporter",instance="c:1"`},
		{"loadgen/promexport/testdata/results.prom", `job="uma-results",instance="r:1"`},
		{"loadgen/runner/testdata/live.prom", `job="uma-load",instance="l:1"`},
		{"exporter/engine/testdata/vllm-doc.prom", `host="spark-1",job="engine",instance="e:1"`},
	}
}

// database holds the pages; label is the label of the machine. Where that is instance, addresses are in address.
func database(t *testing.T, label string) storage.Storage {
	t.Helper()
	var load strings.Builder
	fmt.Fprintf(&load, "load %s\n", interval)
	for _, target := range pagesOfTargets() {
		page, err := os.ReadFile(filepath.Join(root, target.path))
		if err != nil {
			t.Fatal(err)
		}
		counters := map[string]bool{}
		for line := range strings.Lines(string(page)) {
			if fields := strings.Fields(line); len(fields) == 4 && fields[1] == "TYPE" {
				counters[fields[2]] = fields[3] == "counter" || fields[3] == "histogram"
			}
			if !strings.HasPrefix(line, "#") {
				fmt.Fprintln(&load, "  "+sampleSeries(t, line, target.labels, label, counters))
			}
		}
	}
	return promqltest.LoadedStorage(t, load.String())
}

// sampleSeries is a line of a page as a series in promqltest's notation.
func sampleSeries(t *testing.T, line, ofTarget, label string, counters map[string]bool) string {
	t.Helper()
	own, values, err := parser.NewParser(parser.Options{}).ParseSeriesDesc(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	target, err := parser.NewParser(parser.Options{}).ParseMetric("{" + ofTarget + "}")
	if err != nil {
		t.Fatal(err)
	}
	all := own.Map()
	target.Range(func(l labels.Label) {
		if _, has := all[l.Name]; !has { // honor_labels
			all[l.Name] = l.Value
		}
	})
	if label != "host" {
		all["address"] = all["instance"]
		delete(all, "instance")
		if host, has := all["host"]; has {
			delete(all, "host")
			all[label] = host
		}
	}
	name := all["__name__"]
	delete(all, "__name__")
	grows := "0"
	for _, suffix := range []string{"", "_bucket", "_sum", "_count"} {
		if counters[strings.TrimSuffix(name, suffix)] {
			grows = "3"
		}
	}
	return fmt.Sprintf("%s%s %s+%sx%d", name, labels.FromMap(all), strconv.FormatFloat(values[0].Value, 'f', -1, 64), grows, lasting/interval)
}

// asked is the answers to all queries of the dashboards, as Grafana sends them, for every host: texts by where the query stands.
func asked(t *testing.T, files []dashboards.File, label string) map[string]string {
	t.Helper()
	stored := database(t, label)
	defer stored.Close()
	engine := promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{
		MaxSamples: 1e7, Timeout: time.Minute, LookbackDelta: 5 * time.Minute, EnableAtModifier: true, EnableNegativeOffset: true,
		Parser: parser.NewParser(parser.Options{}),
	})
	end := time.Unix(0, 0).Add(lasting)
	vector := func(expression string) (promql.Vector, error) {
		query, err := engine.NewInstantQuery(t.Context(), stored, nil, expression, end)
		if err != nil {
			return nil, err
		}
		defer query.Close()
		return query.Exec(t.Context()).Vector()
	}
	source := grafana.Source{
		LabelValues: func(ctx context.Context, name, selector string, _ grafana.Window) ([]string, error) {
			found, err := vector(fmt.Sprintf("count by (%s) (%s)", name, selector))
			var values []string
			for _, s := range found {
				if value := s.Metric.Get(name); value != "" {
					values = append(values, value)
				}
			}
			slices.Sort(values)
			return values, err
		},
		Instant: func(_ context.Context, expression string, at time.Time) ([]grafana.Sample, error) {
			found, err := vector(expression)
			var samples []grafana.Sample
			for _, s := range found {
				samples = append(samples, grafana.Sample{Labels: s.Metric.Map(), Value: strconv.FormatFloat(s.F, 'g', -1, 64), Time: at})
			}
			return samples, err
		},
	}
	answers := map[string]string{}
	for _, f := range files {
		d, err := grafana.Read(f.Content)
		if err != nil {
			t.Fatalf("%s: %v", f.Name, err)
		}
		for _, host := range []string{"spark-1", "spark-2", "spark-3"} {
			scope := grafana.Resolve(t.Context(), d, grafana.Settings{
				Source: "prometheus", Scrape: interval, Window: grafana.Window{From: end.Add(-lasting / 2), To: end}, Chosen: map[string][]string{"host": {host}},
			}, source)
			if err := scope.Err(); err != nil {
				t.Errorf("%s: %v", f.Name, err)
			}
			for _, v := range scope.Variables {
				answers[f.Name+" "+host+" $"+v.Name] = fmt.Sprint(v.Options, v.Current)
			}
			for _, p := range d.Panels {
				queries, err := scope.Queries(p, 500)
				if err != nil {
					t.Errorf("%s, %s: %v", f.Name, p.Title, err)
				}
				for _, q := range queries {
					found, err := vector(q.Expr)
					answers[f.Name+" "+host+" "+p.Title+" "+q.RefID] = answer(found, err, label)
				}
			}
		}
	}
	return answers
}

// answer writes an answer with the own names of labels. What an error names is not compared.
func answer(found promql.Vector, err error, label string) string {
	if err != nil {
		return "error"
	}
	var lines []string
	for _, s := range found {
		of := s.Metric.Map()
		if label != "host" {
			if host, has := of[label]; has {
				of["host"] = host
				delete(of, label)
			}
			if address, has := of["address"]; has {
				of["instance"] = address
				delete(of, "address")
			}
		}
		lines = append(lines, fmt.Sprint(labels.FromMap(of), s.F, s.H))
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// TestEveryQueryWithAnotherLabelOfTheMachineHasTheSameAnswer: variables and panels of the dashboards over data whose label
// of the machine is renamed.
func TestEveryQueryWithAnotherLabelOfTheMachineHasTheSameAnswer(t *testing.T) {
	files, err := dashboards.Files()
	if err != nil {
		t.Fatal(err)
	}
	own := asked(t, files, "host")
	found := 0
	for _, text := range own {
		if text != "" && text != "error" {
			found++
		}
	}
	if found < len(own)/3 {
		t.Errorf("%d of %d queries have an answer: there is little to compare", found, len(own))
	}
	for _, label := range []string{"instance", "node"} {
		names, err := expr.Names{}.WithHost(label)
		if err != nil {
			t.Fatal(err)
		}
		if files, err = dashboards.FilesFor(dashboards.Settings{Names: names}); err != nil {
			t.Fatal(err)
		}
		other := asked(t, files, label)
		if len(other) != len(own) {
			t.Errorf("%s: %d queries, %d of its own", label, len(other), len(own))
		}
		for where, want := range own {
			if got := other[where]; got != want {
				t.Errorf("%s, %s:\n got %s\nwant %s", label, where, got, want)
			}
		}
	}
}

func TestAnExportLeavesTheCheckoutAloneAndHasTheNamesThatWereGiven(t *testing.T) {
	out := filepath.Join(t.TempDir(), "new")
	code, stdout, stderr := runIn(t, "--out", out, "--host-label", "node", "--job-selector", `job=~"uma|node"`, "--alert-label", "team=x", "--alert-label", "page=y=z", "--grafana-com")
	if code != exitDone || !strings.Contains(stdout, "dashboards/overview.json\n") || !strings.Contains(stdout, "alerts/exporter.yaml\n") {
		t.Fatalf("exit %d, %q, %q", code, stdout, stderr)
	}
	for path, wants := range map[string][]string{
		"alerts/exporter.yaml":     {`absent(up{job=~"uma|node"})`, "max by (node) (up{", "      team: x\n", "      page: y=z\n"},
		"alerts/alertmanager.yml":  {"\n  - node\n"},
		"dashboards/overview.json": {`node=\"$host\"`, `"__inputs"`, "{{node}}"},
	} {
		content, err := os.ReadFile(filepath.Join(out, path))
		if err != nil {
			t.Fatal(err)
		}
		for _, want := range wants {
			if !strings.Contains(string(content), want) {
				t.Errorf("%s has no %s", path, want)
			}
		}
	}
	if code, stdout, _ := runIn(t, "alerts", "--out", out); code != exitDone || strings.Contains(stdout, "dashboards/") {
		t.Errorf("alerts alone: exit %d, %q", code, stdout)
	}
}

func TestBadNamesOfAnExportAreOneLineThatNamesTheValue(t *testing.T) {
	out := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{
		{"--host-label", "gpu"}, {"--host-label", "a-b"}, {"--host-label", ""}, {"--job-selector", "uma-exporter"}, {"--job-selector", `job=~"("`}, {"--job-selector", `{job="x"}`},
		{"--alert-label", "severity=page"}, {"--alert-label", "team"}, {"--alert-label", "team="}, {"--alert-label", "team={{ $value }}"}, {"--alert-label", "host=a"},
		{"dashboards", "--alert-label", "team=x"}, {"dashboards", "--job-selector", `job="x"`}, {"alerts", "--grafana-com"}, {"docs"}, {"--check"},
	} {
		code, _, stderr := runIn(t, append([]string{"--out", out}, args...)...)
		if code != exitInput || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, args[len(args)-1]) {
			t.Errorf("%v: exit %d, %q", args, code, stderr)
		}
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("something is written")
	}
	for _, args := range [][]string{{"--host-label", "node"}, {"--out", ""}, {"--out", root}, {"--grafana-com"}} {
		if code, _, stderr := runIn(t, args...); code != exitInput || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "--out") {
			t.Errorf("%v: exit %d, %q", args, code, stderr)
		}
	}
}
