//go:build proof

package demo

import (
	"bytes"
	"cmp"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/promql"

	"github.com/umascope/umascope/alerts"
)

const root = "../../.."

// database is a timeline for tests, with the rules as they are generated. They are evaluated twice a second, and alerts
// do not wait before they fire: the stories are too short for that.
type database struct{ *timeline }

func newDatabase(t *testing.T) database {
	t.Helper()
	files, err := alerts.Files()
	if err != nil {
		t.Fatal(err)
	}
	config := timelineConfig{Dir: filepath.Join(t.TempDir(), "timeline"), Interval: 500 * time.Millisecond}
	waits := regexp.MustCompile(`(?m)^ +for: .*\n`)
	for _, f := range files {
		if filepath.Ext(f.Name) == ".yaml" {
			config.Rules = append(config.Rules, ruleFile{Name: f.Name, Content: waits.ReplaceAll(f.Content, nil)})
		}
	}
	opened, err := openTimeline(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { opened.Close() })
	return database{opened}
}

// scrape scrapes a target that has to answer.
func (d database) scrape(t *testing.T, from scrapeTarget, at time.Time) {
	t.Helper()
	if err := d.Scrape(t.Context(), from, at); err != nil {
		t.Fatal(err)
	}
}

// evaluate evaluates the rules that are due.
func (d database) evaluate(t *testing.T, at time.Time) {
	t.Helper()
	if err := d.Evaluate(t.Context(), at); err != nil {
		t.Fatal(err)
	}
}

// values are those of an expression at a time.
func (d database) values(t *testing.T, text string, at time.Time) promql.Vector {
	t.Helper()
	vector, err := d.instant(t.Context(), text, at)
	if err != nil {
		t.Errorf("%s: %v", text, err)
	}
	return slices.Clone(vector)
}

// points is the number of values, native histograms included, from one time to another.
func (d database) points(t *testing.T, text string, from, to time.Time, step time.Duration) int {
	t.Helper()
	query, err := d.engine.NewRangeQuery(t.Context(), d.database, nil, text, from, to, step)
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

// expressionOf is the expression of an alert that has one rule.
func (d database) expressionOf(t *testing.T, alert string) string {
	t.Helper()
	for _, g := range d.rules.groups {
		for _, rule := range g.AlertingRules() {
			if rule.Name() == alert {
				return rule.Query().String()
			}
		}
	}
	t.Fatalf("no alert %s", alert)
	return ""
}

// goldenPages are the pages of recorded, constructed and simulated hosts, by the name of the host.
func goldenPages(t *testing.T) map[string]*goldenPage {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(root, "exporter/testdata/*.prom"))
	if err != nil || len(paths) < 10 {
		t.Fatalf("%d golden pages in exporter/testdata: %v", len(paths), err)
	}
	pages := map[string]*goldenPage{}
	for _, path := range paths {
		pages[strings.TrimSuffix(filepath.Base(path), ".prom")] = readGoldenPage(t, path)
	}
	return pages
}

// goldenPage serves a page whose counters are multiplied by growth, 0 for 1: time passes on recorded machines too, else
// nothing that is shown per second, or per operation, would be.
type goldenPage struct {
	families map[string]*dto.MetricFamily
	growth   float64
}

func readGoldenPage(t *testing.T, path string) *goldenPage {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(text))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	return &goldenPage{families: families}
}

// ServeHTTP writes the page as text.
func (p *goldenPage) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	format := expfmt.NewFormat(expfmt.TypeTextPlain)
	w.Header().Set("Content-Type", string(format))
	encoder := expfmt.NewEncoder(w, format)
	for _, family := range p.families {
		grown := &dto.MetricFamily{Name: family.Name, Help: family.Help, Type: family.Type}
		for _, m := range family.GetMetric() {
			if m.GetCounter() != nil {
				m = &dto.Metric{Label: m.GetLabel(), Counter: &dto.Counter{Value: new(m.GetCounter().GetValue() * cmp.Or(p.growth, 1))}}
			}
			grown.Metric = append(grown.Metric, m)
		}
		_ = encoder.Encode(grown) // what a parser has read can be written
	}
}
