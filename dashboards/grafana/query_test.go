package grafana

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestStepsFollowTheWidthAndTheLeastInterval(t *testing.T) {
	window := func(d time.Duration) Window { return Window{noon.Add(-d), noon} }
	for _, c := range []struct {
		name               string
		length             time.Duration
		points             int
		scrape, queryLeast time.Duration
		step, rate         time.Duration
	}{
		{"short range, no setting", 30 * time.Minute, 1000, 0, 0, 15 * time.Second, time.Minute},
		{"scrape interval of 5 s", 30 * time.Minute, 1000, 5 * time.Second, 0, 5 * time.Second, 20 * time.Second},
		{"long range", 24 * time.Hour, 1000, 5 * time.Second, 0, time.Minute, 65 * time.Second},
		{"a week", 7 * 24 * time.Hour, 600, 15 * time.Second, 0, 15 * time.Minute, 15*time.Minute + 15*time.Second},
		{"least interval of the query", 30 * time.Minute, 1000, 5 * time.Second, 30 * time.Second, 30 * time.Second, 2 * time.Minute},
		{"no width", 25 * time.Hour, 0, 5 * time.Second, 0, time.Minute, 65 * time.Second},
		{"too many points asked for", 30 * 24 * time.Hour, 1e6, time.Second, 0, 5 * time.Minute, 4 * time.Second},
	} {
		p := paceOf(window(c.length), c.points, c.scrape, c.queryLeast)
		if p.step != c.step || p.rate != c.rate {
			t.Errorf("%s: step %s, rate %s; want %s, %s", c.name, p.step, p.rate, c.step, c.rate)
		}
	}
}

func TestIntervalsAreRoundedAsGrafanaDoes(t *testing.T) {
	const day = 24 * time.Hour
	for given, want := range map[time.Duration]time.Duration{
		0: time.Millisecond, 12 * time.Millisecond: 10 * time.Millisecond, 1800 * time.Millisecond: 2 * time.Second,
		3600 * time.Millisecond: 5 * time.Second, 86400 * time.Millisecond: time.Minute, 100 * time.Second: 2 * time.Minute,
		2 * time.Hour: 2 * time.Hour, 40 * time.Hour: day, 10 * day: 7 * day, 400 * day: 365 * day,
	} {
		if got := roundInterval(given); got != want {
			t.Errorf("%s: %s, want %s", given, got, want)
		}
	}
	if got := align(time.Unix(107, 5), 15*time.Second); got.Unix() != 105 || got.Nanosecond() != 0 {
		t.Errorf("aligned to %s", got)
	}
	if got := align(time.Unix(-1, 0), 15*time.Second); got.Unix() != -15 {
		t.Errorf("before 1970: %s", got)
	}
}

func TestTimesAreReadAsGrafanaWritesThem(t *testing.T) {
	for text, want := range map[string]string{
		"now": "12:00:00", "now-30m": "11:30:00", "now-1d+2h": "14:00:00", "now+5s": "12:00:05", "1700000000000": "22:13:20", "2026-11-20T11:00:00Z": "11:00:00", "now-1M": "12:00:00",
	} {
		if got, err := ParseTime(text, noon); err != nil || got.Format("15:04:05") != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "yesterday", "now-30", "now/d", "now-99999999999y", "-5", "now-5m<script>"} {
		if got, err := ParseTime(text, noon); err == nil || len(text) > 0 && !strings.Contains(err.Error(), text) && !strings.Contains(err.Error(), "too far") {
			t.Errorf("%q is %s, %v", text, got, err)
		}
	}
	if _, err := ParseWindow("now", "now-1h", noon); err == nil {
		t.Error("a range that ends before it begins is accepted")
	}
}

func TestATargetIsAskedOverTheRangeOrForItsEnd(t *testing.T) {
	s := testScope()
	p := Panel{Targets: []Target{
		{RefID: "A", Expr: `a{host="$host"}`, LegendFormat: "$host {{l}}"},
		{RefID: "B", Expr: "b", Instant: true, Format: "table"},
		{RefID: "C", Expr: "rate(c[$__rate_interval])"},
		{RefID: "D"},
	}}
	queries, err := s.Queries(p, 400)
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, q := range queries {
		kind := "range " + q.Step.String()
		if q.Instant {
			kind = "instant"
		}
		got = append(got, q.RefID+" "+q.Expr+" "+kind+" "+q.Legend+q.Format)
	}
	want := []string{`A a{host="spark"} range 5s spark {{l}}`, "B b instant table", "C rate(c[20s]) range 5s "}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("queries\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if queries[0].To.UnixMilli() != 1_700_000_000_000 || !queries[1].To.Equal(s.Window.To) {
		t.Errorf("a range ends at %s, an instant is %s", queries[0].To, queries[1].To)
	}
	p.Targets = []Target{{RefID: "A", Expr: `"\$host"`}, {RefID: "B", Expr: "`$evil`"}}
	if _, err := s.Queries(p, 400); err == nil || !strings.Contains(err.Error(), "query A") || !strings.Contains(err.Error(), "query B") {
		t.Errorf("error %v", err)
	}
}

func TestAnAnnotationIsAskedEveryMinute(t *testing.T) {
	q, err := testScope().Annotation(Annotation{Expr: `r{host="$host"}`})
	if err != nil || q.Step != time.Minute || q.Expr != `r{host="spark"}` {
		t.Errorf("%+v, %v", q, err)
	}
}

func TestTheCommittedDashboardsAreReadWhole(t *testing.T) {
	paths, err := filepath.Glob("../*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no dashboards: %v", err)
	}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		d, err := Read(content)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if len(d.Panels) == 0 || len(d.Rows) == 0 || d.Panels[0].Row == "" || d.Panels[0].Place.W == 0 || len(d.Variables) == 0 {
			t.Errorf("%s: %d panels, %d rows, %d variables", path, len(d.Panels), len(d.Rows), len(d.Variables))
		}
		window, err := ParseWindow(d.From, d.To, noon)
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		checkQueries(t, path, d, window)
		checkFeatures(t, path, content)
	}
}

// checkFeatures finds what Grafana would do and this package does not read: repeated panels, queries that are hidden or
// have an interval of their own, options of a scene.
func checkFeatures(t *testing.T, path string, content []byte) {
	for _, feature := range []string{`"repeat"`, `"interval"`, `"intervalFactor"`, `"hide": true`, `"useValueForTime"`, `"step"`, `"type": "link"`} {
		if strings.Contains(string(content), feature) {
			t.Errorf("%s has %s, which is not read here", path, feature)
		}
	}
}

// checkQueries writes every query of a dashboard with a source that knows one value of anything.
func checkQueries(t *testing.T, path string, d Dashboard, window Window) {
	source := Source{
		LabelValues: func(context.Context, string, string, Window) ([]string, error) { return []string{`sp"ark`}, nil },
		Instant: func(context.Context, string, time.Time) ([]Sample, error) {
			return []Sample{{Labels: map[string]string{"run": "r"}, Value: "1", Time: noon}}, nil
		},
	}
	s := Resolve(context.Background(), d, Settings{Source: "prometheus", Window: window}, source)
	if err := s.Err(); err != nil {
		t.Errorf("%s: %v", path, err)
	}
	for _, p := range d.Panels {
		queries, err := s.Queries(p, 600)
		if err != nil || len(queries) == 0 && p.Type != "text" {
			t.Errorf("%s: %s: %d queries, %v", path, p.Title, len(queries), err)
		}
		for _, q := range queries {
			if strings.Contains(q.Expr, "$__") {
				t.Errorf("%s: %s: %s", path, p.Title, q.Expr)
			}
			for _, m := range mentions(q.Expr) {
				if _, declared := s.Variable(m.name); declared {
					t.Errorf("%s: %s: %s is left in %s", path, p.Title, m.written, q.Expr)
				}
			}
		}
	}
}

func TestWhatIsNoDashboardIsRefused(t *testing.T) {
	for content, want := range map[string]string{
		"":   "not a dashboard",
		"{}": "classic schema",
		`{"apiVersion":"dashboard.grafana.app/v2","spec":{}}`:                                                              "classic schema",
		`{"uid":"u","title":"t","schemaVersion":42,"templating":{"list":[{"name":"a","type":"adhoc"}]}}`:                   `variable "a" is of the kind "adhoc"`,
		`{"uid":"u","title":"t","schemaVersion":42,"templating":{"list":[{"name":"a","type":"query","sort":3}]}}`:          "in the order 3",
		`{"uid":"u","title":"t","schemaVersion":42,"templating":{"list":[{"name":"a","type":"query","regex":"/x/g"}]}}`:    "without flags",
		`{"uid":"u","title":"t","schemaVersion":42,"templating":{"list":[{"name":"a","type":"query","regex":"/(?=x)/"}]}}`: `variable "a": regular expression /(?=x)/`,
		`{"uid":"u","title":"t","schemaVersion":42,"panels":[{"type":"row","panels":[{"id":"no number"}]}]}`:               "not a dashboard",
	} {
		if _, err := Read([]byte(content)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", content, err)
		}
	}
}

func TestPanelsOfCollapsedRowsAreFound(t *testing.T) {
	d, err := Read([]byte(`{"uid":"u","title":"t","schemaVersion":42,"panels":[
		{"id":1,"type":"stat","title":"above"},
		{"id":2,"type":"row","title":"open","panels":[]},{"id":3,"type":"text","title":"in open"},
		{"id":4,"type":"row","title":"closed","collapsed":true,"panels":[{"id":5,"type":"table","title":"in closed"}]}],
		"templating":{"list":[{"name":"v","type":"query","query":"label_values(v)","current":{"value":["a","b"]}}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range d.Panels {
		got = append(got, p.Title+" < "+p.Row)
	}
	if strings.Join(got, ", ") != "above < , in open < open, in closed < closed" || len(d.Rows) != 2 || d.Rows[0].Collapsed || !d.Rows[1].Collapsed {
		t.Errorf("panels %v, rows %v", got, d.Rows)
	}
	if v := d.Variables[0]; v.Query != "label_values(v)" || len(v.Current) != 2 {
		t.Errorf("variable %+v", v)
	}
}
