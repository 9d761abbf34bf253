package sim

import (
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// unlimited has 256 places and takes no time: what is left is the cost of the simulation.
func unlimited() Config {
	c := Default()
	c.PrefillTokensPerSecond, c.PrefillChunkTokens = math.Inf(1), 1<<20
	c.DecodeBase, c.DecodePerSequence, c.JitterRatio = 0, 0, 0
	c.MaxBatch, c.MaxModelTokens, c.KVCacheTokens = 256, 1<<20, 1<<24
	return c
}

// BenchmarkStepOf256Sequences is one step of the scheduler: 256 tokens.
func BenchmarkStepOf256Sequences(b *testing.B) {
	e, err := New(unlimited())
	if err != nil {
		b.Fatal(err)
	}
	if err := e.start(b.Context()); err != nil {
		b.Fatal(err)
	}
	var made outcome
	b.ReportAllocs()
	for b.Loop() {
		for range 256 - len(e.batch.running) { // those that ended are replaced
			e.batch.enqueue(seq(1, 1000))
		}
		e.finish(&made, e.begin(time.Time{}), 0)
	}
	b.ReportMetric(256*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}

// discard is a client that costs nothing.
type discard struct{ header http.Header }

func (d discard) Header() http.Header            { return d.header }
func (d discard) Write(text []byte) (int, error) { return len(text), nil }
func (d discard) WriteHeader(int)                {}
func (d discard) Flush()                         {}

// BenchmarkStreamsOf256Sequences has the events made, encoded and written too: 256 streams of 256
// tokens an iteration.
func BenchmarkStreamsOf256Sequences(b *testing.B) {
	e, err := New(unlimited())
	if err != nil {
		b.Fatal(err)
	}
	var running sync.WaitGroup
	ctx, stop := context.WithCancel(b.Context())
	running.Go(func() { _ = e.Run(ctx) })
	defer running.Wait()
	defer stop()
	for !e.running() {
		time.Sleep(time.Millisecond)
	}
	b.ReportAllocs()
	for b.Loop() {
		var all sync.WaitGroup
		for range 256 {
			all.Go(func() {
				r := httptest.NewRequest(http.MethodPost, path, strings.NewReader(tenTokens("256")))
				e.Handler().ServeHTTP(discard{http.Header{}}, r)
			})
		}
		all.Wait()
	}
	b.ReportMetric(256*256*float64(b.N)/b.Elapsed().Seconds(), "tokens/s")
}
