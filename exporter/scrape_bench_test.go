package exporter

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
)

// BenchmarkScrape makes whole pages, as served by default, of recorded machines from memory: what the
// exporter itself costs, without kernel and driver.
func BenchmarkScrape(b *testing.B) {
	for _, name := range []string{"gb10-load", "no-gpu"} {
		b.Run(name, func(b *testing.B) {
			e := openHostNamed(b, name)
			e.own = []prometheus.Gatherer{newOwn()}
			handler := e.Handler()
			request := httptest.NewRequest(http.MethodGet, "/metrics", nil)
			b.ReportAllocs()
			for b.Loop() {
				recorder := httptest.NewRecorder()
				handler.ServeHTTP(recorder, request)
				if recorder.Code != http.StatusOK {
					b.Fatalf("%d: %.500s", recorder.Code, recorder.Body)
				}
				b.ReportMetric(float64(recorder.Body.Len()), "bytes/page")
			}
		})
	}
}

// BenchmarkCollect is the collection alone, without the page.
func BenchmarkCollect(b *testing.B) {
	e := openHostNamed(b, "gb10-load")
	b.ReportAllocs()
	for b.Loop() {
		if _, err := e.runner.Scrape(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
}
