package alerts

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/timestamp"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/storage"
	"github.com/prometheus/prometheus/template"

	"github.com/umascope/umascope/exporter/metric"
)

// This is what package rules of Prometheus does with an alert. That package is not used because it
// brings in Alertmanager's API client, 21 modules that nothing else here needs; parser, engine and
// templates are Prometheus' own, and promtool can run the same scenarios.

// rulebook is the rules of rendered files with the alerts they have.
type rulebook []*activeRule

type activeRule struct {
	rulefmt.Rule
	alerts map[string]*activeAlert // by labels
}

type activeAlert struct {
	labels, annotations map[string]string
	since               time.Time
	firing              bool
	ceased              time.Time // when a firing alert's condition ended, zero while it holds
}

// load reads rule files as Prometheus does at its start: expressions and templates are checked.
func load(t *testing.T, contents ...[]byte) rulebook {
	t.Helper()
	quiet := slog.New(slog.NewTextHandler(io.Discard, nil))
	var book rulebook
	for _, content := range contents {
		file, errs := rulefmt.Parse(content, false, model.UTF8Validation, parser.NewParser(parser.Options{}), quiet)
		for _, err := range errs {
			t.Fatal(err)
		}
		for _, group := range file.Groups {
			for _, rule := range group.Rules {
				book = append(book, &activeRule{rule, map[string]*activeAlert{}})
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
	engine := promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{
		MaxSamples: 1e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: parser.NewParser(parser.Options{}),
	})
	for offset := time.Duration(0); offset <= end; offset += interval {
		now := time.Unix(0, 0).UTC().Add(offset)
		for _, rule := range b {
			query, err := engine.NewInstantQuery(t.Context(), stored, nil, rule.Expr, now)
			if err != nil {
				t.Fatal(err)
			}
			vector, err := query.Exec(t.Context()).Vector()
			if err != nil {
				t.Fatalf("%s%s at %s: %v", rule.Record, rule.Alert, offset, err)
			}
			if rule.Record != "" {
				record(t, records, rule.Record, vector, now)
			} else {
				rule.update(t, vector, now)
			}
			query.Close()
		}
		at(offset)
	}
}

// record keeps the result of a recording rule, so that rules after it read it.
func record(t *testing.T, into storage.Storage, name string, vector promql.Vector, now time.Time) {
	t.Helper()
	appender := into.Appender(t.Context())
	for _, sample := range vector {
		named := labels.NewBuilder(sample.Metric).Set(model.MetricNameLabel, name).Labels()
		if _, err := appender.Append(0, named, now.UnixMilli(), sample.F); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
	}
	if err := appender.Commit(); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
}

// update takes over the result of an evaluation.
func (r *activeRule) update(t *testing.T, vector promql.Vector, now time.Time) {
	held := map[string]bool{}
	for _, sample := range vector {
		found := r.alert(t, sample, now)
		key := fmt.Sprint(found.labels)
		if held[key] {
			t.Fatalf("%s: two results with labels %s", r.Alert, key)
		}
		held[key] = true
		if known := r.alerts[key]; known != nil {
			found.since, found.firing = known.since, known.firing
		}
		found.firing = found.firing || now.Sub(found.since) >= time.Duration(r.For)
		r.alerts[key] = found
	}
	maps.DeleteFunc(r.alerts, func(key string, alert *activeAlert) bool {
		if held[key] {
			return false
		}
		if alert.ceased.IsZero() {
			alert.ceased = now
		}
		return !alert.firing || now.Sub(alert.ceased) >= time.Duration(r.KeepFiringFor)
	})
}

// alert is the alert of one result, its templates filled in.
func (r *activeRule) alert(t *testing.T, sample promql.Sample, now time.Time) *activeAlert {
	identity := sample.Metric.Map()
	delete(identity, "__name__")
	data := template.AlertTemplateData(sample.Metric.Map(), nil, "", sample)
	maps.Copy(identity, r.Labels)
	annotations := map[string]string{}
	for name, text := range r.Annotations {
		const variables = "{{$labels := .Labels}}{{$value := .Value}}"
		expander := template.NewTemplateExpander(context.Background(), variables+text, name, data, model.Time(timestamp.FromTime(now)), nil, nil, nil)
		filled, err := expander.Expand()
		if err != nil {
			t.Fatalf("%s: %v", r.Alert, err)
		}
		annotations[name] = filled
	}
	return &activeAlert{labels: identity, annotations: annotations, since: now}
}

// firing writes the alerts of a name that fire, in one sorted text; if it is "" those of every name, less
// what is there for Alertmanager only.
func (b rulebook) firing(name string) string {
	var lines []string
	for _, rule := range b {
		for _, alert := range rule.alerts {
			forPeople := alert.labels[string(metric.LabelSeverity)] != string(None)
			if alert.firing && (rule.Alert == name || name == "" && forPeople) {
				lines = append(lines, describe(rule.Alert, alert.labels, alert.annotations))
			}
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

// describe writes an alert as it is compared.
func describe(name string, labels, annotations map[string]string) string {
	return fmt.Sprintf("%s %v %v", name, labels, annotations)
}
