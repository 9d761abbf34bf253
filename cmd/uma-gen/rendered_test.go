package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/prometheus/promql/parser"
	"go.yaml.in/yaml/v4"

	"github.com/umascope/umascope/exporter/metric"
)

// expression is an expression of a rendered file and where it stands.
type expression struct{ where, text string }

// renderedExpressions reads them back from the rendered files, so that one that was written past
// package expr is found too.
func renderedExpressions(t *testing.T) []expression {
	t.Helper()
	generated, err := generate("")
	if err != nil {
		t.Fatal(err)
	}
	var found []expression
	for _, f := range generated {
		var tree any
		switch filepath.Ext(f.path) {
		case ".json":
			err = json.Unmarshal(f.content, &tree)
		case ".yaml":
			err = yaml.Unmarshal(f.content, &tree)
		}
		if err != nil {
			t.Fatalf("%s: %v", f.path, err)
		}
		found = append(found, expressionsIn(tree, f.path)...)
	}
	if len(found) < 40 {
		t.Fatalf("only %d expressions found", len(found))
	}
	return found
}

// expressionsIn are the values of all keys expr in a tree.
func expressionsIn(tree any, where string) []expression {
	var found []expression
	switch node := tree.(type) {
	case map[string]any:
		for key, value := range node {
			if text, isText := value.(string); isText && key == "expr" {
				found = append(found, expression{where, text})
			}
			found = append(found, expressionsIn(value, where+"."+key)...)
		}
	case []any:
		for _, value := range node {
			found = append(found, expressionsIn(value, where)...)
		}
	}
	return found
}

// parse reads an expression as Prometheus does, with Grafana's window and the offset of an overlay filled in.
func parse(t *testing.T, e expression) parser.Expr {
	t.Helper()
	filled := strings.NewReplacer("$__rate_interval", "1m", "${shift}", "-60.5", "${later}", "-60.5").Replace(e.text)
	parsed, err := parser.NewParser(parser.Options{}).ParseExpr(filled)
	if err != nil {
		t.Fatalf("%s: %s: %v", e.where, e.text, err)
	}
	return parsed
}

// definition looks a series up in the vocabulary; classic buckets belong to their histogram, numbers and
// sums to their summary.
func definition(name string) (metric.Def, bool) {
	for _, definer := range metric.Everything() {
		d := definer.Def()
		if d.Name == name || (d.Kind == metric.KindHistogram && d.Name+"_bucket" == name) ||
			(d.Kind == metric.KindSummary && (d.Name+"_count" == name || d.Name+"_sum" == name)) {
			return d, true
		}
	}
	return metric.Def{}, false
}

// carries says whether series of the family can have the label, counting what the scrape job sets.
func carries(d metric.Def, label string) bool {
	return label == "__name__" || label == "host" || label == "job" || d.HasLabel(metric.Label(label)) ||
		(d.Kind == metric.KindHistogram && label == "le") || (d.Kind == metric.KindSummary && label == "quantile")
}

func TestEveryExpressionParsesAndNamesOnlyKnownSeriesAndLabels(t *testing.T) {
	for _, e := range renderedExpressions(t) {
		parsed := parse(t, e)
		var defs []metric.Def
		parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
			if s, ok := node.(*parser.VectorSelector); ok {
				d, known := definition(s.Name)
				if !known {
					t.Errorf("%s: unknown series %s", e.where, s.Name)
				}
				for _, m := range s.LabelMatchers {
					if known && !carries(d, m.Name) {
						t.Errorf("%s: %s has no label %s", e.where, s.Name, m.Name)
					}
				}
				defs = append(defs, d)
			}
			return nil
		})
		given := labelsGiven(parsed)
		for _, label := range labelsInUse(parsed) {
			if !slices.Contains(given, label) && !slices.ContainsFunc(defs, func(d metric.Def) bool { return carries(d, label) }) {
				t.Errorf("%s: no series in %s has the label %s", e.where, e.text, label)
			}
		}
	}
}

// labelsGiven are the labels that label_replace gives, whatever the series have.
func labelsGiven(parsed parser.Expr) []string {
	var given []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		if call, is := node.(*parser.Call); is && call.Func.Name == "label_replace" {
			if name, is := call.Args[1].(*parser.StringLiteral); is {
				given = append(given, name.Val)
			}
		}
		return nil
	})
	return given
}

// labelsInUse are the labels of groupings and matchings.
func labelsInUse(parsed parser.Expr) []string {
	var used []string
	parser.Inspect(parsed, func(node parser.Node, _ []parser.Node) error {
		switch n := node.(type) {
		case *parser.AggregateExpr:
			used = append(used, n.Grouping...)
		case *parser.BinaryExpr:
			if n.VectorMatching != nil {
				used = slices.Concat(used, n.VectorMatching.MatchingLabels, n.VectorMatching.Include)
			}
		}
		return nil
	})
	return used
}

func TestRatesAreOfCountersAndPredictionsOfGauges(t *testing.T) {
	wanted := map[string]metric.Kind{ // a rate may be of a histogram, which counts as well
		"rate": metric.KindCounter, "irate": metric.KindCounter, "increase": metric.KindCounter,
		"delta": metric.KindGauge, "deriv": metric.KindGauge, "predict_linear": metric.KindGauge, "changes": metric.KindGauge,
	}
	for _, e := range renderedExpressions(t) {
		parser.Inspect(parse(t, e), func(node parser.Node, path []parser.Node) error {
			selector, ok := node.(*parser.VectorSelector)
			if !ok || len(path) < 2 {
				return nil
			}
			if call, ok := path[len(path)-2].(*parser.Call); ok {
				d, _ := definition(selector.Name)
				counts := call.Func.Name == "rate" && d.Kind == metric.KindHistogram
				if wanted[call.Func.Name] != "" && d.Kind != wanted[call.Func.Name] && !counts {
					t.Errorf("%s: %s of the %s %s", e.where, call.Func.Name, d.Kind, d.Name)
				}
			}
			return nil
		})
	}
}

// notOnGoldenPages are series that expressions may use although no golden page has them.
func notOnGoldenPages() []metric.Definer {
	return []metric.Definer{
		metric.Up, metric.Alerts, metric.AlertsForState, // made by Prometheus
		metric.GPUCallHung,                                               // only while a driver call hangs: no recording has that moment
		metric.GPUFanRatio,                                               // the recorded GPUs are cooled by fans of their machines
		metric.DriverLogLinesTotal, metric.KernelAllocationFailuresTotal, // the log of a kernel is never recorded
		metric.KVBMConfiguredCacheBytes,                                     // environments of processes are never recorded
		metric.RecorderPreviousBootEnd, metric.RecorderBootTimestampSeconds, // no recorder runs over a recording
		// The sample of vLLM's page is an extract; the names are those of its documentation and source.
		metric.VLLME2ERequestLatencySeconds, metric.VLLMRequestQueueTimeSeconds, metric.VLLMRequestTimePerOutputTokenSeconds,
	}
}

func TestEverySeriesInUseIsOnAGoldenPage(t *testing.T) {
	pages, err := filepath.Glob(filepath.Join(root, "exporter/testdata/*.prom"))
	if err != nil || len(pages) == 0 {
		t.Fatalf("no golden pages in exporter/testdata: %v", err)
	}
	pages = append(pages,
		filepath.Join(root, "loadgen/promexport/testdata/results.prom"), // finished runs
		filepath.Join(root, "loadgen/runner/testdata/live.prom"),        // a run that goes on
		filepath.Join(root, "exporter/engine/testdata/vllm-doc.prom"))   // an engine
	served := map[string]bool{}
	// A histogram or summary is named by its type: its native form, and quantiles of few requests, are not in
	// every page.
	sample := regexp.MustCompile(`(?m)^(?:# TYPE )?([a-zA-Z_:][a-zA-Z0-9_:]*)[{ ]`)
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range sample.FindAllSubmatch(text, -1) {
			served[string(match[1])] = true
		}
	}
	for _, definer := range slices.Concat(notOnGoldenPages(), metric.Recorded()) {
		served[definer.Def().Name] = true
		if definer.Def().Kind == metric.KindHistogram {
			served[definer.Def().Name+"_bucket"] = true
		}
	}
	for _, e := range renderedExpressions(t) {
		parser.Inspect(parse(t, e), func(node parser.Node, _ []parser.Node) error {
			if s, ok := node.(*parser.VectorSelector); ok && !served[s.Name] {
				t.Errorf("%s: no golden page has %s", e.where, s.Name)
			}
			return nil
		})
	}
}
