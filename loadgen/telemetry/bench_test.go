package telemetry

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// BenchmarkSample is what one sample of a whole GB10's page costs, without the network: at one
// a second, 10 ms of processor time would be one per cent of a core.
func BenchmarkSample(b *testing.B) {
	page, err := os.ReadFile("../../exporter/testdata/gb10-load.prom")
	if err != nil {
		b.Fatal(err)
	}
	served := pages(func(string, int) (string, error) { return string(page), nil })
	out, err := newWriter(filepath.Join(b.TempDir(), "telemetry.jsonl.gz"), Header{Schema: schema})
	if err != nil {
		b.Fatal(err)
	}
	f := &follower{
		source:  Source{Name: "spark", URL: "http://spark/metrics"},
		options: Options{Interval: time.Second, Clock: func() int64 { return 0 }},
		client:  served.client(), parse: parser(Source{}, nil), room: SeriesLimit, out: out, away: func() bool { return false },
		series: map[string]int{}, last: map[int]float64{}, dropped: map[string]bool{},
	}
	b.ReportAllocs()
	for b.Loop() {
		if !f.sample(b.Context(), nil) {
			b.Fatal("no sample")
		}
		out.flush()
	}
}
