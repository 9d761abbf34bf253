package alerts

import (
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/rules"
	"github.com/prometheus/prometheus/storage"

	"github.com/umascope/umascope/exporter/metric"
)

// rulebook is the rules of rendered files, with the alerts they have.
type rulebook []rules.Rule

// load reads rule files as Prometheus does at its start: expressions and templates are checked.
func load(t *testing.T, contents ...[]byte) rulebook {
	t.Helper()
	quiet, expressions := slog.New(slog.DiscardHandler), parser.NewParser(parser.Options{})
	var book rulebook
	for _, content := range contents {
		file, errs := rulefmt.Parse(content, false, model.UTF8Validation, expressions, quiet)
		for _, err := range errs {
			t.Fatal(err)
		}
		for _, group := range file.Groups {
			for _, rule := range group.Rules {
				of, err := expressions.ParseExpr(rule.Expr)
				if err != nil {
					t.Fatal(err)
				}
				added := labels.FromMap(rule.Labels)
				if rule.Record != "" {
					book = append(book, rules.NewRecordingRule(rule.Record, of, added))
					continue
				}
				book = append(book, rules.NewAlertingRule(rule.Alert, of, time.Duration(rule.For), time.Duration(rule.KeepFiringFor),
					added, labels.FromMap(rule.Annotations), labels.EmptyLabels(), "", false, quiet))
			}
		}
	}
	return book
}

// replay evaluates the rules over series in promtool's notation from time 0 to the end, every
// interval, and calls at after each evaluation. A rule that fails to evaluate fails the test.
func (b rulebook) replay(t *testing.T, series string, end, interval time.Duration, at func(time.Duration)) {
	t.Helper()
	loaded, records := promqltest.LoadedStorage(t, series), promqltest.LoadedStorage(t, "")
	// A storage that holds a day already takes nothing from before its last hour.
	stored := storage.NewFanout(slog.New(slog.DiscardHandler), records, loaded)
	defer stored.Close()
	// The options of the server, not of Prometheus' own tests.
	query := rules.EngineQueryFunc(promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{
		MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: parser.NewParser(parser.Options{}),
	}), stored)
	for offset := time.Duration(0); offset <= end; offset += interval {
		now := time.Unix(0, 0).UTC().Add(offset)
		for _, rule := range b {
			results, err := rule.Eval(t.Context(), 0, now, query, nil, 0)
			if err != nil {
				t.Fatalf("%s at %s: %v", rule.Name(), offset, err)
			}
			record(t, records, results)
		}
		at(offset)
	}
}

// record keeps the results of a recording rule, so that rules after it read them.
func record(t *testing.T, into storage.Storage, results promql.Vector) {
	t.Helper()
	appender := into.Appender(t.Context())
	for _, sample := range results {
		if _, err := appender.Append(0, sample.Metric, sample.T, sample.F); err != nil {
			t.Fatalf("%s: %v", sample.Metric, err)
		}
	}
	if err := appender.Commit(); err != nil {
		t.Fatal(err)
	}
}

// alerts returns the alerts that fire, by the texts that describe them.
func (b rulebook) alerts(t *testing.T) map[string]*rules.Alert {
	t.Helper()
	found := map[string]*rules.Alert{}
	for _, rule := range b {
		alerting, is := rule.(*rules.AlertingRule)
		if !is {
			continue
		}
		alerting.ForEachActiveAlert(func(alert *rules.Alert) {
			text := describe(rule.Name(), alert.Labels.Map(), alert.Annotations.Map())
			if strings.Contains(text, "<error expanding template") {
				t.Error(text)
			}
			if alert.State == rules.StateFiring {
				found[text] = alert
			}
		})
	}
	return found
}

// firing writes the alerts of a name that fire, in one sorted text; if it is "" those of every name, less
// what is there for Alertmanager only.
func (b rulebook) firing(t *testing.T, name string) string {
	t.Helper()
	var lines []string
	for text, alert := range b.alerts(t) {
		forPeople := alert.Labels.Get(string(metric.LabelSeverity)) != string(None)
		if alert.Labels.Get(labels.AlertName) == name || name == "" && forPeople {
			lines = append(lines, text)
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// describe writes an alert as it is compared.
func describe(name string, identity, annotations map[string]string) string {
	identity = maps.Clone(identity)
	delete(identity, labels.AlertName)
	return fmt.Sprintf("%s %v %v", name, identity, annotations)
}
