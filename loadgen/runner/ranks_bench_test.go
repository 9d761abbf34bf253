package runner

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
)

// BenchmarkMergeRequests merges the records of four ranks, of 32 arrivals each.
func BenchmarkMergeRequests(b *testing.B) {
	const world, each = 4, 5000
	w := &SharedRun{World: world}
	for r := range world {
		var text strings.Builder
		for i := range each {
			record := rankRecord(r, world, i*world+r)
			for n := range 31 {
				record.ArrivalsNS, record.ReadIDs = append(record.ArrivalsNS, 20_000_000+int64(n)), append(record.ReadIDs, n+2)
			}
			text.WriteString(jsonLine(b, record))
		}
		path := filepath.Join(b.TempDir(), fmt.Sprint(r))
		if err := os.MkdirAll(path, 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(path, rundir.RequestsFile), []byte(text.String()), 0o644); err != nil {
			b.Fatal(err)
		}
		w.Parts = append(w.Parts, RankRun{Folder: rundir.Folder(path), Manifest: rankManifest(r, world, 0)})
	}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := w.requests(b.Context(), "whole", io.Discard); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Microseconds())/float64(b.N*world*each), "us/request")
}
