package collector

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/engine"
	"github.com/umascope/umascope/exporter/engine/supported"
)

func TestTooManySourcesAndTheSameTwiceAreRefused(t *testing.T) {
	var many []string
	for i := range MaxSources + 1 {
		many = append(many, fmt.Sprintf("http://h:%d", i+1))
	}
	for name, c := range map[string]struct {
		targets Targets
		why     string
	}{
		"none":                 {Targets{}, ""},
		"as many as may be":    {Targets{KVBM: endpoints(t, many[1:]...)}, ""},
		"one more":             {Targets{KVBM: endpoints(t, many...)}, "21 sources"},
		"one more with logs":   {Targets{Engines: endpoints(t, many[1:]...), KVBMLogs: []string{"/log"}}, "21 sources"},
		"twice":                {Targets{KVBM: endpoints(t, "http://h", "http://h:80/metrics")}, "h:80/metrics is named twice"},
		"a log twice":          {Targets{KVBMLogs: []string{"/b", "/a", "/b"}}, "/b is named twice"},
		"one page of two uses": {Targets{KVBM: endpoints(t, "http://h"), Engines: endpoints(t, "http://h")}, ""},
	} {
		err := c.targets.Check()
		if c.why == "" && err != nil || c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

const targetsYAML = `# written by a script
- targets: ["127.0.0.1:6880", "spark-2:6880"]
  labels:
    __umascope_collector__: kvbm
    host: spark-1
- targets: [10.0.0.7:8443]
  labels: {__umascope_collector__: engine, __scheme__: https, __metrics_path__: /prometheus/metrics, __param_model: "a b"}
- targets: [/var/log/dynamo.log]
  labels: {__umascope_collector__: kvbm_log}
`

const targetsJSON = `[
  {"targets": ["127.0.0.1:6880", "spark-2:6880"], "labels": {"__umascope_collector__": "kvbm", "host": "spark-1"}},
  {"targets": ["10.0.0.7:8443"], "labels": {"__umascope_collector__": "engine", "__scheme__": "https", "__metrics_path__": "/prometheus/metrics", "__param_model": "a b"}},
  {"targets": ["/var/log/dynamo.log"], "labels": {"__umascope_collector__": "kvbm_log"}}
]`

func TestTargetsFileIsReadInBothForms(t *testing.T) {
	for _, text := range []string{targetsYAML, targetsJSON} {
		got, err := parseTargets([]byte(text), "/etc/umascope")
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(sourcesOf(got.KVBM), []string{"127.0.0.1:6880/metrics", "spark-2:6880/metrics"}) ||
			!slices.Equal(sourcesOf(got.Engines), []string{"10.0.0.7:8443/prometheus/metrics"}) ||
			got.Engines[0].URL.String() != "https://10.0.0.7:8443/prometheus/metrics?model=a+b" ||
			!slices.Equal(got.KVBMLogs, []string{"/var/log/dynamo.log"}) {
			t.Errorf("%+v of %s", got, text)
		}
	}
	if got, err := parseTargets([]byte("[]"), ""); err != nil || len(got.KVBM)+len(got.Engines) != 0 {
		t.Errorf("an empty list: %+v, %v", got, err)
	}
}

func TestTargetsFilesThatAreNoneAreRefused(t *testing.T) {
	const kvbm = `, "labels": {"__umascope_collector__": "kvbm"}}]`
	for name, c := range map[string]struct{ text, why string }{
		"empty":             {"", "not a list"},
		"cut":               {targetsJSON[:len(targetsJSON)/2], "not a list"},
		"a map":             {"targets: [a:1]", "not a list"},
		"unknown field":     {`[{"target": ["a:1"]` + kvbm, "not a list"},
		"no collector":      {`[{"targets": ["a:1"]}]`, TargetCollectorLabel},
		"other collector":   {strings.Replace(`[{"targets": ["a:1"]`+kvbm, "kvbm", "gpu", 1), TargetCollectorLabel},
		"a URL":             {`[{"targets": ["http://a:1/metrics"]` + kvbm, "host:port"},
		"with a password":   {`[{"targets": ["bob:hunter2@a:1"]` + kvbm, "host:port"},
		"wrong scheme":      {strings.Replace(`[{"targets": ["a:1"]`+kvbm, `"labels": {`, `"labels": {"__scheme__": "ftp", `, 1), "http"},
		"relative log":      {strings.Replace(`[{"targets": ["x.log"]`+kvbm, "kvbm", "kvbm_log", 1), "absolute"},
		"alias bomb":        {"a: &a [x,x,x,x,x,x,x,x,x]\n" + strings.Repeat("b: &a [*a,*a,*a,*a,*a,*a,*a,*a,*a]\n", 12), "not a list"},
		"garbage":           {"\x00\xff{{{", "not a list"},
		"deep":              {strings.Repeat("[", 100000), "not a list"},
		"several documents": {"[]\n---\n[]\n", "not a list"},
	} {
		got, err := parseTargets([]byte(c.text), "")
		if err == nil || !strings.Contains(err.Error(), c.why) || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzTargets(f *testing.F) {
	f.Add([]byte(targetsYAML))
	f.Add([]byte(targetsJSON))
	f.Add([]byte(`[{"targets": ["[::1]:1"], "labels": {"__umascope_collector__": "kvbm", "__metrics_path__": "a?b#c"}}]`))
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := parseTargets(text, "")
		if err != nil {
			return
		}
		for _, e := range slices.Concat(got.KVBM, got.Engines) {
			if e.URL.User != nil || e.URL.Scheme != "http" && e.URL.Scheme != "https" || e.URL.Port() == "" || !strings.HasPrefix(e.Source, e.URL.Host+"/") {
				t.Fatalf("%s is %s", e.Source, e.URL)
			}
		}
		for _, path := range got.KVBMLogs {
			if !filepath.IsAbs(path) {
				t.Fatalf("log %q", path)
			}
		}
	})
}

// fileOfTargets is a targets file with the sources that read it.
func fileOfTargets(t *testing.T, options SourceOptions) (*sources, func(text string)) {
	t.Helper()
	options.TargetsFile = filepath.Join(t.TempDir(), "targets.yaml")
	write := func(text string) {
		if err := os.WriteFile(options.TargetsFile, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return newSources(options), write
}

func engineGroup(targets string) string {
	return "- targets: [" + targets + "]\n  labels: {__umascope_collector__: engine}\n"
}

func TestAnotherVersionOfTheTargetsFileNeedsNoRestart(t *testing.T) {
	s, write := fileOfTargets(t, SourceOptions{Known: supported.Engines(), Targets: Targets{Engines: endpoints(t, "http://fixed")}})
	write(engineGroup("a:1"))
	for version, want := range map[string][]string{
		engineGroup("a:1"):      {"fixed:80/metrics", "a:1/metrics"},
		engineGroup("b:1, c:1"): {"fixed:80/metrics", "b:1/metrics", "c:1/metrics"},
		"[]":                    {"fixed:80/metrics"},
	} {
		write(version)
		got, err := s.now()
		if err != nil || !slices.Equal(sourcesOf(got.Engines), want) {
			t.Errorf("%s: %v, %v", version, sourcesOf(got.Engines), err)
		}
	}
}

func TestABadVersionOfTheTargetsFileKeepsTheLastGoodOne(t *testing.T) {
	s, write := fileOfTargets(t, SourceOptions{Known: supported.Engines(), Targets: Targets{Engines: endpoints(t, "http://fixed")}})
	if got, err := s.now(); err == nil || len(got.Engines) != 1 || strings.Contains(err.Error(), "holds") {
		t.Errorf("without a file: %v, %v", sourcesOf(got.Engines), err)
	}
	write(engineGroup("a:1"))
	if _, err := s.now(); err != nil {
		t.Fatal(err)
	}
	var many []string
	for i := range MaxSources {
		many = append(many, fmt.Sprintf("h:%d", i+1))
	}
	for name, bad := range map[string]string{
		"cut": "- targets: [b:", "the fixed one again": engineGroup("fixed:80"), "too many": engineGroup(strings.Join(many, ", ")),
	} {
		write(bad)
		for range 2 {
			got, err := s.now()
			if err == nil || !strings.Contains(err.Error(), "last good version holds") || !slices.Equal(sourcesOf(got.Engines), []string{"fixed:80/metrics", "a:1/metrics"}) {
				t.Errorf("%s: %v, %v", name, sourcesOf(got.Engines), err)
			}
		}
	}
	if err := os.Remove(s.options.TargetsFile); err != nil {
		t.Fatal(err)
	}
	if got, err := s.now(); err == nil || len(got.Engines) != 2 {
		t.Errorf("removed: %v, %v", sourcesOf(got.Engines), err)
	}
}

// Whoever names a file wants what is in it: that is no machine without engines.
func TestABadTargetsFileIsAFailureEvenIfNothingElseIsNamed(t *testing.T) {
	s, write := fileOfTargets(t, SourceOptions{Known: supported.Engines()})
	write("nonsense")
	host := sparkWith(t, driver{})
	host.HTTP = served{}
	runner := NewRunner(host, Options{Sources: s.options}, []Spec{kvbmSpec(), engineSpec()}, RunnerSettings{})
	for _, o := range mustScrape(t, runner, t.Context()).Outcomes {
		if o.State != Failed || !strings.Contains(o.Reason(), "targets file") {
			t.Errorf("%s is %s: %v", o.Spec.Name, o.State, o.Err)
		}
	}
}

func TestABadTargetsFileIsLoggedOnce(t *testing.T) {
	s, write := fileOfTargets(t, SourceOptions{Known: supported.Engines()})
	write("nonsense")
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		host := sparkWith(t, driver{})
		host.HTTP = served{}
		runner := NewRunner(host, Options{Sources: s.options}, []Spec{kvbmSpec()}, RunnerSettings{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		for range 3 {
			mustScrape(t, runner, t.Context())
			synctest.Wait() // the log is written after the page
		}
		if n := strings.Count(log.String(), "targets file"); n != 1 {
			t.Errorf("%d times in %s", n, log.String())
		}
	})
}

// answeredBy answers requests of a host as a function of it says.
type answeredBy map[string]func(*http.Request) (*http.Response, error)

func (s answeredBy) RoundTrip(r *http.Request) (*http.Response, error) { return s[r.URL.Hostname()](r) }

func TestASourceThatHangsCostsItsOwnSeriesOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var inFlight, most, asked atomic.Int32
		hang := func(r *http.Request) (*http.Response, error) {
			asked.Add(1)
			most.Store(max(most.Load(), inFlight.Add(1)))
			defer inFlight.Add(-1)
			<-r.Context().Done()
			return nil, r.Context().Err()
		}
		good := func(r *http.Request) (*http.Response, error) {
			return served{r.URL.Host + r.URL.Path: v1Page(replay()[3])}.RoundTrip(r)
		}
		host := sparkWith(t, driver{})
		host.HTTP = answeredBy{"hung": hang, "good": good}
		targets := Targets{KVBM: endpoints(t, "http://hung", "http://good")}
		runner := NewRunner(host, Options{Sources: SourceOptions{Known: supported.Engines(), Targets: targets}}, []Spec{kvbmSpec()}, RunnerSettings{Timeout: 8 * time.Second})
		began := time.Now()
		done := make(chan map[string]float64, 3)
		for range cap(done) { // scrapes of several servers at once
			go func() { done <- gather(t, mustScrape(t, runner, t.Context())) }()
		}
		for range cap(done) {
			series := <-done
			if series[`uma_kvbm_matched_tokens_total{source="good:80/metrics"}`] != 117248 {
				t.Errorf("%v", series)
			}
		}
		if took := time.Since(began); took >= 7*time.Second || most.Load() != 1 || asked.Load() != 1 {
			t.Errorf("%v, %d requests at once, %d in all", took, most.Load(), asked.Load())
		}
	})
}

func TestAPanicOverOneSourceIsThatSourcesError(t *testing.T) {
	answers := readSources(t.Context(), endpoints(t, "http://a", "http://b"), func(_ context.Context, e *engine.Endpoint) (int, error) {
		if e.URL.Hostname() == "a" {
			panic("unforeseen")
		}
		return 7, nil
	})
	if len(answers) != 2 || answers[0].Err == nil || answers[1].Value != 7 || answers[1].Err != nil || answers[0].Source != "a:80/metrics" {
		t.Errorf("%+v", answers)
	}
	if err := sourcesOutcome("pages", "--url", discovered{}, answers); err == nil || errors.Is(err, ErrAbsent) || stackOf(err) == nil {
		t.Errorf("%v", err)
	}
}
