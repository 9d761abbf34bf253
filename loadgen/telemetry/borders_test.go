package telemetry

import (
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// The page of a server under load is read when a phase begins, and not in between; a closed one never.
func TestAPageOfBordersIsReadWhenAPhaseBeginsOnly(t *testing.T) {
	counted := func(asked *atomic.Int64, seen chan struct{}) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			_, _ = io.WriteString(w, "vllm:prompt_tokens_total 1\n")
			asked.Add(1)
			select {
			case seen <- struct{}{}:
			default:
			}
		}))
		t.Cleanup(server.Close)
		return server.URL
	}
	var always, borders, closed atomic.Int64
	seen := make(chan struct{})
	start := time.Now()
	sampler, err := Start(t.Context(), Options{
		Sources: []Source{
			{Name: "scraped", URL: counted(&always, seen), Foreign: true},
			{Name: "server", URL: counted(&borders, nil), Foreign: true, Borders: true},
			{Name: "away", URL: counted(&closed, nil), Foreign: true, Borders: true, Closed: func() bool { return true }},
		},
		Interval: MinInterval, File: filepath.Join(t.TempDir(), "telemetry.jsonl.gz"), Clock: func() int64 { return int64(time.Since(start)) },
	})
	if err != nil {
		t.Fatal(err)
	}
	sampler.Mark("a")
	for range 4 { // of which one is that of the border
		<-seen
	}
	sampler.Mark("b")
	stats, err := sampler.Stop()
	if err != nil {
		t.Fatal(err)
	}
	if borders.Load() != 2 || closed.Load() != 0 || always.Load() < 4 {
		t.Errorf("asked %d, %d and %d times", always.Load(), borders.Load(), closed.Load())
	}
	for _, s := range stats.Sources[1:] {
		if s.SamplesWanted != 0 || s.SamplesGot != 0 || len(s.MissingBorders) > 0 {
			t.Errorf("%+v", s)
		}
	}
}

// A sample that is asked for between two phases is one more of an exporter and none of an engine, and counts neither as wanted
// nor as got: what is lost of the others must still show.
func TestASampleBetweenPhasesIsTakenOfExportersAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := options(t, func(host string, _ int) (string, error) {
			if host == "engine" {
				return "kvbm_matched_tokens 1\n", nil
			}
			return "uma_memory_pool_bytes 1\n", nil
		}, Source{Name: "spark", URL: "http://spark"}, Source{Name: "engine", URL: "http://engine", Foreign: true})
		s := start(t, o)
		s.Mark("measure")
		time.Sleep(1300 * time.Millisecond)
		s.Sample()
		time.Sleep(200 * time.Millisecond)
		s.Mark("stop")
		stats := stop(t, s)
		log := read(t, o.File)
		spark, engine := log.Source("spark"), log.Source("engine")
		if !slices.Contains(spark.Samples, int64(1300*time.Millisecond)) || slices.Contains(engine.Samples, int64(1300*time.Millisecond)) {
			t.Errorf("sampled at %v and %v", spark.Samples, engine.Samples)
		}
		for i, of := range stats.Sources {
			if of.SamplesWanted != 2 || of.SamplesGot != 2 || len(of.MissingBorders) > 0 {
				t.Errorf("source %d: %+v", i, of)
			}
		}
		if windows := log.Windows(spark, "measure"); len(windows) != 1 || windows[0] != (Window{0, int64(1500 * time.Millisecond)}) {
			t.Errorf("windows %v", windows)
		}
	})
}
