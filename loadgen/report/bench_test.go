package report

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"github.com/umascope/umascope/loadgen/chat"
)

// BenchmarkSummarize reads and summarizes 100,000 requests of 32 arrivals from a file, in one
// pass: the time and memory of one request stand under ns/request and B/request.
func BenchmarkSummarize(b *testing.B) {
	const requests, arrivals = 100_000, 32
	path := filepath.Join(b.TempDir(), "requests.jsonl")
	writeRequests(b, path, requests, arrivals)
	b.ReportAllocs()
	for b.Loop() {
		s, err := Summarize(input(), Records(path))
		if err != nil || s.Requests[chat.StatusOK] != requests || s.Latency.ChunkGap.Send.N != requests*(arrivals-1) {
			b.Fatalf("%v, %v", s.Requests, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*requests), "ns/request")
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
