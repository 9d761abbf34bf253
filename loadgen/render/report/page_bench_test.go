package report

import (
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// The size of BenchmarkDigest; the target is 1,000,000 requests of 32 arrivals on two cores in 15 s
// and 512 MiB:
//
//	go test ./loadgen/render/report -run - -bench Digest -benchtime 1x -requests 1000000
var (
	benchRequests = flag.Int("requests", 100_000, "requests of BenchmarkDigest")
	benchArrivals = flag.Int("arrivals", 32, "arrivals of each")
)

// BenchmarkDigest reads and summarizes requests from a file, in one pass, with everything that a
// page draws. peak-MiB is the largest resident memory of the process: that of the figures, and of
// writing the file before it.
func BenchmarkDigest(b *testing.B) {
	requests, arrivals := *benchRequests, *benchArrivals
	dir := testrun.New().Write(b)
	writeRequests(b, filepath.Join(dir, rundir.RequestsFile), requests, arrivals)
	b.ReportAllocs()
	for b.Loop() {
		r, err := summary.Compute(dir, supported.Engines())
		if s := r.Summary; err != nil || s.Requests[openai.StatusOK] != requests || s.Latency.ChunkGap.Send.N != requests*(arrivals-1) {
			b.Fatalf("%v, %v", s.Requests, err)
		}
		drawn, err := r.Requests()
		if err != nil {
			b.Fatal(err)
		}
		if err := HTML(io.Discard, Page{Summary: r.Summary, Drawn: drawn}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*requests), "ns/request")
	b.ReportMetric(peakMiB(b), "peak-MiB")
}

// peakMiB is VmHWM of /proc/self/status, such as "VmHWM:	  123456 kB".
func peakMiB(b *testing.B) float64 {
	b.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "VmHWM:")
	fields := strings.Fields(rest)
	if len(fields) == 0 {
		b.Fatal("no VmHWM in /proc/self/status")
	}
	kib, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}

func writeRequests(b *testing.B, path string, requests, arrivals int) {
	b.Helper()
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	encode := json.NewEncoder(file)
	for i := range requests {
		if err := encode.Encode(testrun.LongRecord(i, arrivals)); err != nil {
			b.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
}
