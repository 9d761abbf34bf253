//go:build proof

package gen

import (
	"bytes"
	"errors"
	"io"
	"log/slog"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/histogram"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/model/rulefmt"
	"github.com/prometheus/prometheus/model/value"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/promql/promqltest"
	"github.com/prometheus/prometheus/util/teststorage"

	"github.com/umascope/umascope/exporter/metric"
)

// protobuf is the form in which Prometheus asks for pages: the only one with native histograms.
const protobuf = "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"

// database is Prometheus' own storage and query engine, filled by scrapes at times of the test's choice.
type database struct {
	*teststorage.TestStorage
	engine *promql.Engine
	rising []rulefmt.Rule                      // that alert
	seen   map[string]map[string]labels.Labels // series of the last scrape, by target
	rules  []rulefmt.Rule                      // that record
}

func newDatabase(t *testing.T) *database {
	t.Helper()
	engine := promqltest.NewTestEngineWithOpts(t, promql.EngineOpts{
		MaxSamples: 5e6, Timeout: time.Minute, LookbackDelta: 5 * time.Minute,
		EnableAtModifier: true, EnableNegativeOffset: true, Parser: parser.NewParser(parser.Options{}),
	})
	d := &database{TestStorage: teststorage.New(t), engine: engine, seen: map[string]map[string]labels.Labels{}}
	for _, rule := range committedRules(t) {
		if rule.Record != "" {
			d.rules = append(d.rules, rule)
		} else {
			d.rising = append(d.rising, rule)
		}
	}
	return d
}

// committedRules are the rules as they are committed.
func committedRules(t *testing.T) []rulefmt.Rule {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "alerts/*.yaml"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no rules: %v", err)
	}
	var rules []rulefmt.Rule
	for _, path := range paths {
		read, errs := rulefmt.ParseFile(path, false, model.UTF8Validation, parser.NewParser(parser.Options{}), slog.New(slog.DiscardHandler))
		if len(errs) > 0 {
			t.Fatal(errs)
		}
		for _, group := range read.Groups {
			rules = append(rules, group.Rules...)
		}
	}
	return rules
}

// target is a page to be scraped, with the labels that its job gives.
type target struct {
	page        http.Handler
	path        string
	job, host   string
	honorLabels bool    // the labels of the page win over those of the job
	growth      float64 // what counters are multiplied by, 0 for 1
}

// scrape takes a page as Prometheus does: labels of the job added, series that are gone marked as stale.
func (d *database) scrape(t *testing.T, from target, at time.Time) {
	t.Helper()
	request := httptest.NewRequest(http.MethodGet, from.path, nil)
	request.Host = "localhost" // pages answer names of this machine only
	request.Header.Set("Accept", protobuf)
	answer := httptest.NewRecorder()
	from.page.ServeHTTP(answer, request)
	if answer.Code != http.StatusOK {
		t.Fatalf("%s of %s: %s", from.job, from.host, answer.Result().Status)
	}
	d.store(t, decode(t, answer.Body.Bytes(), answer.Header().Get("Content-Type")), from, at)
}

// decode reads a page.
func decode(t *testing.T, page []byte, contentType string) []*dto.MetricFamily {
	t.Helper()
	decoder := expfmt.NewDecoder(bytes.NewReader(page), expfmt.ResponseFormat(http.Header{"Content-Type": {contentType}}))
	var families []*dto.MetricFamily
	for {
		family := &dto.MetricFamily{}
		err := decoder.Decode(family)
		if errors.Is(err, io.EOF) {
			return families
		}
		if err != nil {
			t.Fatal(err)
		}
		families = append(families, family)
	}
}

// store appends the samples of a page.
func (d *database) store(t *testing.T, page []*dto.MetricFamily, from target, at time.Time) {
	t.Helper()
	appender, now := d.Appender(t.Context()), map[string]labels.Labels{}
	put := func(series labels.Labels, v float64, h *histogram.Histogram) {
		var err error
		if h != nil {
			_, err = appender.AppendHistogram(0, series, at.UnixMilli(), h, nil)
		} else {
			_, err = appender.Append(0, series, at.UnixMilli(), v)
		}
		if err != nil {
			t.Fatalf("%s: %v", series, err)
		}
	}
	keep := func(own labels.Labels, v float64, h *histogram.Histogram) {
		series := from.label(own)
		now[series.String()] = series
		put(series, v, h)
	}
	keep(labels.FromStrings(model.MetricNameLabel, "up"), 1, nil)
	for _, family := range page {
		samples(family, from.growth, keep)
	}
	key := from.job + " " + from.host
	for name, series := range d.seen[key] {
		if _, there := now[name]; !there {
			put(series, math.Float64frombits(value.StaleNaN), nil)
		}
	}
	d.seen[key] = now
	if err := appender.Commit(); err != nil {
		t.Fatal(err)
	}
}

// vanish marks all series of a target as stale, as Prometheus does when it no longer answers.
func (d *database) vanish(t *testing.T, from target, at time.Time) {
	t.Helper()
	appender, key := d.Appender(t.Context()), from.job+" "+from.host
	for _, series := range d.seen[key] {
		if _, err := appender.Append(0, series, at.UnixMilli(), math.Float64frombits(value.StaleNaN)); err != nil {
			t.Fatal(err)
		}
	}
	delete(d.seen, key)
	if err := appender.Commit(); err != nil {
		t.Fatal(err)
	}
}

// label adds the labels of the job.
func (f target) label(own labels.Labels) labels.Labels {
	built := labels.NewBuilder(own)
	for _, l := range []labels.Label{{Name: "job", Value: f.job}, {Name: "host", Value: f.host}, {Name: "instance", Value: "a:1"}} {
		if !f.honorLabels || !own.Has(l.Name) {
			built.Set(l.Name, l.Value)
		}
	}
	return built.Labels()
}

// record evaluates the recording rules.
func (d *database) record(t *testing.T, at time.Time) {
	t.Helper()
	for _, rule := range d.rules {
		appender := d.Appender(t.Context())
		for _, sample := range d.instant(t, rule.Expr, at) {
			series := labels.NewBuilder(sample.Metric).Set(model.MetricNameLabel, rule.Record).Labels()
			if _, err := appender.Append(0, series, at.UnixMilli(), sample.F); err != nil {
				t.Fatalf("%s: %v", rule.Record, err)
			}
		}
		if err := appender.Commit(); err != nil {
			t.Fatalf("%s: %v", rule.Record, err)
		}
	}
}

// alert marks what alert rules find, as Prometheus does, but without waiting: the story is too short for that.
func (d *database) alert(t *testing.T, at time.Time) {
	t.Helper()
	for _, rule := range d.rising {
		appender := d.Appender(t.Context())
		for _, sample := range d.instant(t, rule.Expr, at) {
			series := labels.NewBuilder(sample.Metric).Set(model.MetricNameLabel, metric.Alerts.Def().Name).
				Set(string(metric.LabelAlertName), rule.Alert).Set(string(metric.LabelAlertState), metric.AlertFiring)
			for name, text := range rule.Labels {
				series.Set(name, text)
			}
			_, err := appender.Append(0, series.Labels(), at.UnixMilli(), 1)
			if err == nil {
				series.Del(string(metric.LabelAlertState)).Set(model.MetricNameLabel, metric.AlertsForState.Def().Name)
				_, err = appender.Append(0, series.Labels(), at.UnixMilli(), float64(at.Unix()))
			}
			if err != nil {
				t.Fatalf("%s: %v", rule.Alert, err)
			}
		}
		if err := appender.Commit(); err != nil {
			t.Fatalf("%s: %v", rule.Alert, err)
		}
	}
}

// instant asks for the values at a time.
func (d *database) instant(t *testing.T, text string, at time.Time) promql.Vector {
	t.Helper()
	query, err := d.engine.NewInstantQuery(t.Context(), d, nil, text, at)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer query.Close()
	result := query.Exec(t.Context())
	if result.Err != nil {
		t.Errorf("%s: %v", text, result.Err)
		return nil
	}
	if scalar, is := result.Value.(promql.Scalar); is {
		return promql.Vector{{T: scalar.T, F: scalar.V}}
	}
	vector, err := result.Vector()
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return slices.Clone(vector)
}

// points asks for the values from one time to another and says how many there are.
func (d *database) points(t *testing.T, text string, from, to time.Time, step time.Duration) int {
	t.Helper()
	query, err := d.engine.NewRangeQuery(t.Context(), d, nil, text, from, to, step)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	defer query.Close()
	matrix, err := query.Exec(t.Context()).Matrix()
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	count := 0
	for _, series := range matrix {
		count += len(series.Floats) + len(series.Histograms)
	}
	return count
}

// goldenPages are the pages of recorded, constructed and simulated hosts, by the name of the host.
func goldenPages(t *testing.T) map[string][]*dto.MetricFamily {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "exporter/testdata/*.prom"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d golden pages in exporter/testdata: %v", len(paths), err)
	}
	pages := map[string][]*dto.MetricFamily{}
	for _, path := range paths {
		pages[strings.TrimSuffix(filepath.Base(path), ".prom")] = goldenPage(t, path)
	}
	return pages
}

func goldenPage(t *testing.T, path string) []*dto.MetricFamily {
	t.Helper()
	page, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return decode(t, page, "text/plain; version=0.0.4")
}
