package demo

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/umascope/umascope/alerts"
)

// rulesOf returns the rules of a file by their place, with the interval of their group.
func rulesOf(t *testing.T, content []byte) (rules []rulefmt.Rule, intervals []time.Duration) {
	t.Helper()
	groups, errs := rulefmt.Parse(content, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	for _, g := range groups.Groups {
		for _, rule := range g.Rules {
			rules, intervals = append(rules, rule), append(intervals, time.Duration(g.Interval))
		}
	}
	return rules, intervals
}

// shipped calls a function with every rule as it is shipped and as the demo has it.
func shipped(t *testing.T, each func(name string, before, after rulefmt.Rule, interval time.Duration)) {
	t.Helper()
	files, err := alerts.Files()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, file := range files {
		if !strings.HasSuffix(file.Name, ".yaml") {
			continue
		}
		content, err := scaledRules(file.Content)
		if err != nil {
			t.Fatalf("%s: %v", file.Name, err)
		}
		before, _ := rulesOf(t, file.Content)
		after, intervals := rulesOf(t, content)
		for i := range before {
			n++
			each(before[i].Record+before[i].Alert, before[i], after[i], intervals[i])
		}
	}
	if n < 50 {
		t.Errorf("%d rules", n)
	}
}

// durations are all durations in an expression, and the numbers of seconds in it.
func durations(t *testing.T, expression string) (all []time.Duration) {
	t.Helper()
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(expression)
	if err != nil {
		t.Fatal(err)
	}
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.MatrixSelector:
			all = append(all, n.Range)
		case *parser.VectorSelector:
			all = append(all, n.OriginalOffset)
		case *parser.SubqueryExpr:
			all = append(all, n.Range, n.Step, n.OriginalOffset)
		case *parser.Call:
			if n.Func.Name == "predict_linear" {
				all = append(all, time.Duration(n.Args[1].(*parser.NumberLiteral).Val*float64(time.Second)))
			}
		}
		return nil
	})
	return all
}

func TestEveryDurationOfTheRulesIsDividedByTheFactor(t *testing.T) {
	shipped(t, func(name string, before, after rulefmt.Rule, interval time.Duration) {
		pairs := [][2]time.Duration{{time.Duration(before.For), time.Duration(after.For)}, {time.Duration(before.KeepFiringFor), time.Duration(after.KeepFiringFor)}}
		was, is := durations(t, before.Expr), durations(t, after.Expr)
		if len(was) != len(is) {
			t.Fatalf("%s: %d durations, were %d", name, len(is), len(was))
		}
		for i := range was {
			pairs = append(pairs, [2]time.Duration{was[i], is[i]})
		}
		for _, pair := range pairs {
			if pair[1] != pair[0]/timeFactor {
				t.Errorf("%s: %v is %v in the demo", name, pair[0], pair[1])
			}
		}
		if interval != ruleInterval {
			t.Errorf("%s is evaluated every %v", name, interval)
		}
	})
}

func TestAScaledFileKeepsAllThatIsNoDuration(t *testing.T) {
	const text = "groups:\n- name: a\n  interval: 1m\n  rules:\n  - alert: A\n    expr: max by (host) (predict_linear(x{a=\"5m\"}[10m:1m] offset 1m, 600)) < 600 and time() - y > 3600\n    for: 15m\n    keep_firing_for: 5m\n    labels:\n      severity: info\n    annotations:\n      summary: 5m\n"
	got, err := scaledRules([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	rules, intervals := rulesOf(t, got)
	want := `A max by (host) (predict_linear(x{a="5m"}[20s:2s] offset 2s, 20)) < 600 and time() - y > 3600 30s 10s map[severity:info] map[summary:5m] 500ms`
	if r := rules[0]; fmt.Sprint(r.Alert, " ", r.Expr, " ", r.For, " ", r.KeepFiringFor, " ", r.Labels, " ", r.Annotations, " ", intervals[0]) != want {
		t.Errorf("%+v every %v, want %s", r, intervals[0], want)
	}
	if _, err := scaledRules([]byte("groups:\n- name: a\n  rules:\n  - record: r\n    expr: predict_linear(x[1m], scalar(y))\n")); err == nil {
		t.Error("a number of seconds that is no number is taken as it is")
	}
}

func TestEveryRangeOfTheDemoHasFourScrapes(t *testing.T) {
	shipped(t, func(name string, _, after rulefmt.Rule, _ time.Duration) {
		for _, d := range durations(t, after.Expr) {
			if d != 0 && d < 4*scrapeInterval {
				t.Errorf("%s looks back %v, less than four scrapes of %v", name, d, scrapeInterval)
			}
		}
	})
}

// countThresholds are the comparisons of what was counted in a window with a number other than zero: the demo's windows
// are shorter, and the number stays. Each has the reason why that is right.
var countThresholds = map[string]string{
	"EngineRestarting: changes >= 3":                                          "starts: the demo's own restarts, one for each run, are those of runs, which it leaves out",
	"ExporterFlapping: changes >= 3":                                          "outages: three within a minute are more of them",
	"MemoryAvailableLow: delta < -1073741824":                                 "bytes: a fall by as much within a minute is more of one",
	"UnattributedMemoryGrowth: delta > 1073741824":                            "bytes: an hour's growth within two minutes is more of a leak",
	"host_device:uma_nvme_operation_seconds:median7d: count_over_time >= 240": "samples of a day: no demo has so many, and the median of seven days stays empty",
}

func TestThresholdsOfCountsOverAWindowAreListed(t *testing.T) {
	counting := []string{"increase", "changes", "resets", "count_over_time", "sum_over_time", "delta"}
	found := map[string]bool{}
	shipped(t, func(name string, _, after rulefmt.Rule, _ time.Duration) {
		parsed, err := parser.NewParser(parser.Options{}).ParseExpr(after.Expr)
		if err != nil {
			t.Fatal(err)
		}
		parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
			binary, is := node.(*parser.BinaryExpr)
			if !is || !binary.Op.IsComparisonOperator() {
				return nil
			}
			limit, is := binary.RHS.(*parser.NumberLiteral)
			if !is || limit.Val == 0 {
				return nil
			}
			parser.Inspect(binary.LHS, func(node parser.Node, _ []parser.Node) error {
				if call, is := node.(*parser.Call); is && slices.Contains(counting, call.Func.Name) {
					found[fmt.Sprintf("%s: %s %s %s", name, call.Func.Name, binary.Op, limit)] = true
				}
				return nil
			})
			return nil
		})
	})
	if !maps.EqualFunc(found, countThresholds, func(_ bool, why string) bool { return why != "" }) {
		t.Errorf("found %q, listed %q", slices.Sorted(maps.Keys(found)), slices.Sorted(maps.Keys(countThresholds)))
	}
}
