package demo

import (
	"context"
	"errors"
	"io"
	"math"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// page is a target whose page is a text that the test changes.
type fixedPage struct {
	text   string
	status int
}

func (p *fixedPage) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4")
	if p.status != 0 {
		w.WriteHeader(p.status)
	}
	_, _ = io.WriteString(w, p.text)
}

func (p *fixedPage) target() scrapeTarget {
	return scrapeTarget{Handler: p, Path: "/metrics", Job: "job", Host: "spark"}
}

// at asks for the values of one time, by labels.
func at(t *testing.T, s *timeline, query string, when time.Time) map[string]float64 {
	t.Helper()
	found, err := s.Range(t.Context(), query, when, when, time.Second)
	if err != nil {
		t.Fatal(err)
	}
	values := map[string]float64{}
	for _, series := range found {
		var name strings.Builder
		for _, label := range []string{"__name__", "job", "host", "instance", "exported_host", "exported_exported_host", "run", "le"} {
			if value, there := series.Labels[label]; there {
				name.WriteString(label + "=" + value + " ")
			}
		}
		values[strings.TrimSpace(name.String())] = series.Points[0].Value
	}
	return values
}

func expect(t *testing.T, what string, got, want map[string]float64) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s: %v, want %v", what, got, want)
	}
}

var (
	epoch = epochs["in a long time"]
	later = epoch.Add(5 * time.Second)
)

func TestSeriesHaveTheLabelsOfTheJob(t *testing.T) {
	s, p := testTimeline(t), &fixedPage{text: "a{host=\"own\",run=\"r\"} 1\nb{host=\"own\",exported_host=\"older\"} 2\n"}
	scrape(t, s, p.target(), epoch)
	expect(t, "labels of the job win", at(t, s, `{__name__=~"a|b"}`, epoch), map[string]float64{
		"__name__=a job=job host=spark instance=spark exported_host=own run=r":                        1,
		"__name__=b job=job host=spark instance=spark exported_host=older exported_exported_host=own": 2,
	})
	honest := p.target()
	honest.Job, honest.HonorLabels = "uma-load", true
	scrape(t, s, honest, epoch)
	expect(t, "labels of the page win", at(t, s, `{__name__=~"a|up",job="uma-load"}`, epoch), map[string]float64{
		"__name__=a job=uma-load host=own instance=spark run=r": 1,
		"__name__=up job=uma-load host=spark instance=spark":    1,
	})
}

func TestASeriesThatVanishesEndsThere(t *testing.T) {
	s, p := testTimeline(t), &fixedPage{text: "a 1\nb 2\n"}
	scrape(t, s, p.target(), epoch)
	p.text = "b 3\n"
	scrape(t, s, p.target(), later)
	expect(t, "a", at(t, s, "a", later), map[string]float64{})
	expect(t, "b", at(t, s, "b", later), map[string]float64{"__name__=b job=job host=spark instance=spark": 3})
	p.text = "a 4\n"
	scrape(t, s, p.target(), later.Add(time.Second))
	expect(t, "a again", at(t, s, "a", later.Add(time.Second)), map[string]float64{"__name__=a job=job host=spark instance=spark": 4})
}

// TestATargetThatFailsIsDown: of a page that is bad in any way nothing is kept, what was there ends, and the error says
// whose page it is.
func TestATargetThatFailsIsDown(t *testing.T) {
	for name, test := range map[string]struct {
		fixedPage fixedPage
		want      string
	}{
		"no page":            {fixedPage{text: "gone\n", status: http.StatusServiceUnavailable}, "503 Service Unavailable"},
		"no metrics":         {fixedPage{text: "<html>\n"}, "cannot be read"},
		"half a line":        {fixedPage{text: "c 1\na{x=\"\n"}, "cannot be read"},
		"a series twice":     {fixedPage{text: "c 1\na{x=\"1\",y=\"2\"} 1\na{y=\"2\",x=\"1\"} 2\n"}, "twice"},
		"longer than anyone": {fixedPage{text: "# " + strings.Repeat("x", 33<<20) + "\n"}, "longer than 32 MiB"},
		"too many series":    {fixedPage{text: strings.Repeat("a 1\n", 200_001)}, "more than 200000 samples"},
	} {
		t.Run(name, func(t *testing.T) {
			s, p := testTimeline(t), &fixedPage{text: "a 1\n"}
			scrape(t, s, p.target(), epoch)
			*p = test.fixedPage
			err := s.Scrape(t.Context(), p.target(), later)
			if err == nil || !strings.HasPrefix(err.Error(), "job of spark: ") || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one that names the target and says %q", err, test.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("the error has several lines: %q", err)
			}
			expect(t, "what is left", at(t, s, `{job="job"}`, later), map[string]float64{"__name__=up job=job host=spark instance=spark": 0})
			*p = fixedPage{text: "a 2\n"}
			scrape(t, s, p.target(), later.Add(time.Second))
			expect(t, "what comes back", at(t, s, `{job="job"}`, later.Add(time.Second)), map[string]float64{
				"__name__=up job=job host=spark instance=spark": 1, "__name__=a job=job host=spark instance=spark": 2,
			})
		})
	}
}

// TestACancelledScrapeLeavesItsTargetUp: it may be well.
func TestACancelledScrapeLeavesItsTargetUp(t *testing.T) {
	s, p := testTimeline(t), &fixedPage{text: "a 1\n"}
	scrape(t, s, p.target(), epoch)
	ctx, cancel := context.WithCancel(t.Context())
	halfway := p.target()
	halfway.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cancel()
		p.ServeHTTP(w, r)
	})
	err := s.Scrape(ctx, halfway, later)
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(err.Error(), "job of spark: ") {
		t.Errorf("error %v", err)
	}
	expect(t, "up", at(t, s, "up", later), map[string]float64{"__name__=up job=job host=spark instance=spark": 1})
	scrape(t, s, p.target(), later)
}

// TestAScrapeOfAClockThatStoppedIsAnError: a second sample at one time would be dropped without a word.
func TestAScrapeOfAClockThatStoppedIsAnError(t *testing.T) {
	s, p := testTimeline(t), &fixedPage{text: "a 1\n"}
	scrape(t, s, p.target(), later)
	for _, when := range []time.Time{later, later.Add(time.Millisecond - 1), epoch} { // samples have milliseconds
		p.text = "a 2\n"
		if err := s.Scrape(t.Context(), p.target(), when); err == nil || !strings.HasPrefix(err.Error(), "job of spark: a scrape at ") {
			t.Errorf("a scrape at %s after one at %s: %v", when, later, err)
		}
	}
	expect(t, "a", at(t, s, "a", later), map[string]float64{"__name__=a job=job host=spark instance=spark": 1})
}

// TestAScrapeFarBehindIsAnError: the store does not take what is older than an hour, and must not drop it silently.
func TestAScrapeFarBehindIsAnError(t *testing.T) {
	s, p := testTimeline(t), &fixedPage{text: "a 1\n"}
	scrape(t, s, p.target(), epoch.Add(10*time.Hour))
	behind := p.target()
	behind.Host = "behind"
	if err := s.Scrape(t.Context(), behind, epoch); err == nil || !strings.HasPrefix(err.Error(), "job of behind: ") {
		t.Errorf("ten hours behind: %v", err)
	}
}

// TestTimesOfAPageAreNotTaken: the wall clock's would be hours away from the machine's.
func TestTimesOfAPageAreNotTaken(t *testing.T) {
	s, p := testTimeline(t), &fixedPage{text: "a 1 1700000000000\n"}
	scrape(t, s, p.target(), epoch)
	expect(t, "a", at(t, s, "a", epoch), map[string]float64{"__name__=a job=job host=spark instance=spark": 1})
}

// TestHistogramsAreTakenInTheirNativeForm, and in buckets where they have no other.
func TestHistogramsAreTakenInTheirNativeForm(t *testing.T) {
	registry := prometheus.NewRegistry()
	native := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "native", Help: "h", NativeHistogramBucketFactor: 1.1, Buckets: []float64{1, 2},
	})
	classic := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "classic", Help: "h", Buckets: []float64{1, 2}})
	registry.MustRegister(native, classic)
	s := testTimeline(t)
	from := scrapeTarget{Handler: promhttp.HandlerFor(registry, promhttp.HandlerOpts{}), Path: "/metrics", Job: "job", Host: "spark"}
	for second := range 60 {
		for range second {
			native.Observe(1.5)
			classic.Observe(1.5)
		}
		scrape(t, s, from, epoch.Add(time.Duration(second)*time.Second))
	}
	now := epoch.Add(59 * time.Second)
	expect(t, "buckets of the native one", at(t, s, "native_bucket", now), map[string]float64{})
	const all = "job=job host=spark instance=spark"
	median := at(t, s, "histogram_quantile(0.5, rate(native[30s]))", now)[all]
	if math.Abs(median-1.5) > 0.1 {
		t.Errorf("the median is %v, want about 1.5", median)
	}
	expect(t, "its count", at(t, s, "histogram_count(native)", now), map[string]float64{all: 59 * 60 / 2})
	expect(t, "buckets of the classic one", at(t, s, "classic_bucket", now), map[string]float64{
		"__name__=classic_bucket " + all + " le=1.0":  0,
		"__name__=classic_bucket " + all + " le=2.0":  59 * 60 / 2,
		"__name__=classic_bucket " + all + " le=+Inf": 59 * 60 / 2,
	})
	if _, err := s.Range(t.Context(), "native", now, now, time.Second); err == nil || !strings.Contains(err.Error(), "is a histogram") {
		t.Errorf("a histogram as numbers: %v", err)
	}
}
