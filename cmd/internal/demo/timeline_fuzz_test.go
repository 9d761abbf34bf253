package demo

import (
	"math"
	"net/url"
	"testing"
	"time"

	"github.com/prometheus/prometheus/model/labels"
)

// FuzzPage: whatever a page has, it is refused or every sample of it has a name and a value. It must not stop the demo.
func FuzzPage(f *testing.F) {
	for _, page := range []string{"a 1\n", "a{x=\"1\"} NaN 17\n", "# TYPE h histogram\nh_bucket{le=\"+Inf\"} 1\nh_sum 1\nh_count 1\n", "a{", "\x08\x0a\x01a\x18\x01\x22\x00"} {
		for _, kind := range []string{"text/plain; version=0.0.4", "application/vnd.google.protobuf; proto=io.prometheus.client.MetricFamily; encoding=delimited", "application/openmetrics-text; version=1.0.0", "text/html", ";"} {
			f.Add([]byte(page), kind)
		}
	}
	f.Fuzz(func(t *testing.T, page []byte, contentType string) {
		samples, err := read(page, contentType, labels.NewSymbolTable())
		if err != nil && len(samples) > 0 {
			t.Errorf("%d samples and %v", len(samples), err)
		}
		for _, s := range samples {
			if s.whole != nil && s.fractions != nil {
				t.Errorf("%s is two histograms", s.series)
			}
			_ = scrapeTarget{Job: "job", Host: "spark"}.label(s.series)
		}
	})
}

// FuzzQuestion: a time or a duration is refused, or can be reckoned with.
func FuzzQuestion(f *testing.F) {
	for _, text := range []string{"0", "1.5", "-1", "1e300", "NaN", "Inf", "5m", "1y", "2026-01-01T00:00:00Z", ""} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if at, err := readTime(url.Values{"time": {text}}, "time", time.Unix(1, 0)); err == nil {
			if milliseconds := at.UnixMilli(); milliseconds == math.MinInt64 || milliseconds == math.MaxInt64 {
				t.Errorf("%q is the time %d ms", text, milliseconds)
			}
		}
		if d, err := readDuration(text); err == nil && (d == math.MinInt64 || d == math.MaxInt64) {
			t.Errorf("%q is the duration %d", text, d)
		}
	})
}
