package loadgen

import (
	"bufio"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// The size of BenchmarkReport. The targets on two cores: 1,000,000 requests of 32 arrivals in 15 s and
// 512 MiB, of 128 arrivals in 40 s:
//
//	go test ./loadgen -run - -bench Report -benchtime 1x -reported 1000000 -reported-arrivals 128
var (
	reportedRequests = flag.Int("reported", 20_000, "requests of BenchmarkReport")
	reportedArrivals = flag.Int("reported-arrivals", 32, "arrivals of each")
	reportedFolder   = flag.String("reported-folder", "", "where BenchmarkReport leaves its run; nowhere if empty")
)

// BenchmarkReport computes everything that a report shows of a run anew, of its requests.
func BenchmarkReport(b *testing.B) {
	dir := *reportedFolder
	if dir == "" {
		dir = b.TempDir()
	}
	largeRun(b, dir, *reportedRequests, *reportedArrivals)
	for _, form := range []string{formHTML, formTable} {
		b.Run(form, func(b *testing.B) {
			for b.Loop() {
				if code := Run(b.Context(), []string{"report", dir, "--recompute", "--format", form}, io.Discard, os.Stderr); code != exitDone {
					b.Fatalf("exit %d", code)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N**reportedRequests), "ns/request")
		})
	}
}

// largeRun writes the folder of a run with so many requests, sixteen of them in flight at a time.
func largeRun(b *testing.B, dir string, requests, arrivals int) {
	b.Helper()
	const each, flight = int64(2_000_000), 16
	f := rundir.Folder(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.Fatal(err)
	}
	file, err := os.Create(filepath.Join(dir, rundir.RequestsFile))
	if err != nil {
		b.Fatal(err)
	}
	out := bufio.NewWriterSize(file, 1<<20)
	encode := json.NewEncoder(out)
	for i := range requests {
		if err := encode.Encode(largeRecord(i, arrivals, int64(i/flight)*each*int64(arrivals))); err != nil {
			b.Fatal(err)
		}
	}
	end := int64(requests/flight+2) * each * int64(arrivals)
	started := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	ended := started.Add(time.Duration(end))
	manifest := rundir.Manifest{
		Schema: rundir.ManifestSchema, Run: "large", Scenario: "standard", Labels: map[string]string{"arm": "a", "host": "h"}, State: rundir.StateComplete,
		StartedAt: started, EndedAt: &ended, Judging: &rundir.Judging{Streaming: true, Client: rundir.ClientHealth{Watched: true}},
	}
	phases := rundir.Phases{Schema: rundir.PhasesSchema, Phases: []rundir.Span{{Name: rundir.PhaseMeasure, EndNS: end}}}
	for _, err := range []error{out.Flush(), file.Close(), f.WriteJSON(rundir.ManifestFile, manifest), f.WriteJSON(rundir.PhasesFile, phases)} {
		if err != nil {
			b.Fatal(err)
		}
	}
}

func largeRecord(i, arrivals int, at int64) openai.Record {
	wait := int64(90_000_000 + i%40*1_000_000)
	first, tokens := at+wait, arrivals
	r := openai.Record{
		Run: "large", Phase: rundir.PhaseMeasure, Index: i, Status: openai.StatusOK, IntendedNS: at,
		EligibleNS: &at, DispatchNS: &at, WrittenNS: &at, HeadersNS: &at, HTTPStatus: 200, TokensSource: "usage", FirstTokenNS: &first, FirstVisibleNS: &first, TokensOut: &tokens, TokensIn: &tokens, FinishReason: "length",
		PromptSHA256: "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08", OutputSHA256: "60303ae22b998861bce3b28f33eec1be758a213c86c93c076dbe9f558c11c752",
	}
	end := first
	for c := range arrivals {
		step := int64(18_000_000 + (i+c)%7*300_000)
		if c == 0 {
			step = first
		} else {
			end += step
		}
		r.ArrivalsNS, r.ReadIDs, r.ArrivalTokens = append(r.ArrivalsNS, step), append(r.ReadIDs, c), append(r.ArrivalTokens, 1)
	}
	r.EndNS = &end
	return r
}
