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

	"github.com/umascope/umascope/loadgen/chat"
)

// The size of BenchmarkDigest; the target is 1,000,000 requests of 32 arrivals on two cores in 15 s
// and 512 MiB:
//
//	go test ./loadgen/report -run - -bench Digest -benchtime 1x -requests 1000000
var (
	benchRequests = flag.Int("requests", 100_000, "requests of BenchmarkDigest")
	benchArrivals = flag.Int("arrivals", 32, "arrivals of each")
)

// BenchmarkDigest reads and summarizes requests from a file, in one pass, with everything that a
// page draws. peak-MiB is the largest resident memory of the process: that of the figures, and of
// writing the file before it.
func BenchmarkDigest(b *testing.B) {
	requests, arrivals := *benchRequests, *benchArrivals
	path := filepath.Join(b.TempDir(), "requests.jsonl")
	writeRequests(b, path, requests, arrivals)
	b.ReportAllocs()
	for b.Loop() {
		s, drawn, err := Digest(input(), Records(path))
		if err != nil || s.Requests[chat.StatusOK] != requests || s.Latency.ChunkGap.Send.N != requests*(arrivals-1) {
			b.Fatalf("%v, %v", s.Requests, err)
		}
		if err := HTML(io.Discard, Page{Summary: s, Drawn: drawn}); err != nil {
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

// BenchmarkAggregate is the part of it that is not decoding.
func BenchmarkAggregate(b *testing.B) {
	record := benchmarkRecord(0, 32)
	a := newAggregate(&settings{streaming: true})
	b.ReportAllocs()
	for b.Loop() {
		a.add(record)
	}
}

func benchmarkRecord(i, arrivals int) chat.Record {
	chunks := make([]int64, arrivals)
	for c := range chunks {
		chunks[c] = int64(90 + i%40 + c*(18+i%5))
	}
	r := answered(i, int64(i)*7, chunks...)
	r.PromptSHA256, r.OutputSHA256 = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752"
	return r
}

func writeRequests(b *testing.B, path string, requests, arrivals int) {
	b.Helper()
	file, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	encode := json.NewEncoder(file)
	for i := range requests {
		if err := encode.Encode(benchmarkRecord(i, arrivals)); err != nil {
			b.Fatal(err)
		}
	}
	if err := file.Close(); err != nil {
		b.Fatal(err)
	}
}
