package sim

import (
	"bufio"
	"context"
	"math"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
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
		e.begin(time.Time{})
		e.finish(&made)
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
	for !serving(e) {
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

// BenchmarkInstantAnswers is the server for the open-loop target, over loopback with a bare client in
// the same process: 2,000 arrivals a second must be far below what it can do.
func BenchmarkInstantAnswers(b *testing.B) {
	server := httptest.NewServer(Paced{Tokens: 8})
	defer server.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: 256}
	defer transport.CloseIdleConnections()
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := readStream(transport, server.URL); err != nil {
				b.Error(err)
				return
			}
		}
	})
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "requests/s")
}

// BenchmarkPacedStreams is 1,000 streams of 20 events a second for one second. What it reports is how
// far the distances of the server's own stamps are from what they should be: no client can be
// measured more finely than that.
func BenchmarkPacedStreams(b *testing.B) {
	const streams, tokens, gap = 1000, 20, 50 * time.Millisecond
	server := httptest.NewServer(Paced{FirstToken: gap, Gap: gap, Tokens: tokens})
	defer server.Close()
	transport := &http.Transport{MaxIdleConnsPerHost: streams}
	defer transport.CloseIdleConnections()
	var errors []float64 // of all distances, in milliseconds
	for b.Loop() {
		var all sync.WaitGroup
		stamps := make([][]int64, streams)
		for i := range streams {
			all.Go(func() {
				time.Sleep(gap * time.Duration(i) / streams) // spread out, as arrivals are
				stamps[i], _ = readStream(transport, server.URL)
			})
		}
		all.Wait()
		for _, of := range stamps {
			for i := 1; i < len(of); i++ {
				errors = append(errors, math.Abs(float64(of[i]-of[i-1]-int64(gap)))/1e6)
			}
		}
	}
	slices.Sort(errors)
	b.ReportMetric(errors[len(errors)/2], "p50-error-ms")
	b.ReportMetric(errors[len(errors)*99/100], "p99-error-ms")
}

// readStream reads one stream and returns its stamps.
func readStream(transport *http.Transport, url string) ([]int64, error) {
	request, err := http.NewRequest(http.MethodPost, url, strings.NewReader("{}"))
	if err != nil {
		return nil, err
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	var stamps []int64
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if _, after, found := strings.Cut(lines.Text(), StampField+`":`); found {
			number, _, _ := strings.Cut(after, ",")
			stamp, err := strconv.ParseInt(number, 10, 64)
			if err != nil {
				return nil, err
			}
			stamps = append(stamps, stamp)
		}
	}
	return stamps, lines.Err()
}
