package cell

import (
	"compress/gzip"
	"io"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/importer"
	"github.com/umascope/umascope/loadgen/summary"
)

// imported imports a file of llama-benchy and returns the rows of its runs.
func imported(t *testing.T, path string) []Row {
	t.Helper()
	format, err := importer.Find("llama-benchy")
	if err != nil {
		t.Fatal(err)
	}
	order := importer.Order{Format: format, Files: []string{path}, Out: t.TempDir(), Now: time.Unix(1_795_000_000, 0)}
	made, err := order.Import()
	if err != nil {
		t.Fatal(err)
	}
	var rows []Row
	for _, one := range made {
		run, err := summary.Open(string(one.Folder))
		if err != nil {
			t.Fatal(err)
		}
		of, err := Read(run)
		if err != nil {
			t.Fatal(err)
		}
		rows = append(rows, of...)
	}
	return rows
}

// unpacked unpacks a file of testdata.
func unpacked(t *testing.T, name string) string {
	t.Helper()
	packed, err := os.Open(filepath.Join("testdata", name+".gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	plain, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(plain)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// rowAt returns the row of a phase of a cell.
func rowAt(t *testing.T, rows []Row, depth, concurrency int, context bool) Row {
	t.Helper()
	for _, r := range rows {
		if r.Depth == depth && r.Concurrency == concurrency && r.Context == context {
			return r
		}
	}
	t.Fatalf("no row of depth %d, %d at once, context %v", depth, concurrency, context)
	return Row{}
}

// metrics names the figures of llama-benchy.
func (f LlamaBenchy) metrics() map[string]*Metric {
	return map[string]*Metric{
		"pp_throughput": f.Prefill, "pp_req_throughput": f.PrefillEach, "tg_throughput": f.Decode, "tg_req_throughput": f.DecodeEach,
		"peak_throughput": f.Peak, "peak_req_throughput": f.PeakEach, "ttfr": f.FirstEvent, "est_ppt": f.PrefillTime, "e2e_ttft": f.TTFT,
	}
}

// TestTheColumnAsLlamaBenchyIsItsOwn: its events of a run give the figures of its JSON of the same run. Times until the
// first token are of one clock in both; the others differ by the noise of stamps that its events are written with.
func TestTheColumnAsLlamaBenchyIsItsOwn(t *testing.T) {
	compared := 0
	for _, name := range []string{"llama-benchy-0.4.0-hits.json", "llama-benchy-0.4.0-misses.json"} {
		theirs, ours := imported(t, filepath.Join("testdata", name)), imported(t, unpacked(t, name+"l"))
		if len(theirs) != len(ours) || len(ours) == 0 {
			t.Fatalf("%s: %d rows in the JSON, %d in the events", name, len(theirs), len(ours))
		}
		for _, want := range theirs {
			row := rowAt(t, ours, want.Depth, want.Concurrency, want.Context)
			got := row.LlamaBenchy().metrics()
			prefill, _ := row.names(true)
			for figure, m := range want.Reported.metrics() {
				tolerance := .01
				switch figure {
				case "ttfr", "est_ppt", "e2e_ttft":
					tolerance = 1e-6
				case "pp_req_throughput":
					tolerance = 1e-6
				case "peak_throughput", "peak_req_throughput":
					tolerance = .03 // one token more or less in the window
				}
				g := got[figure]
				if g == nil || len(g.Values) != len(m.Values) || math.Abs(g.Mean-m.Mean) > tolerance*m.Mean || math.Abs(g.SD-m.SD) > tolerance*m.Mean {
					t.Errorf("%s %s %s: %+v, want %+v", name, prefill, figure, g, m)
				}
				compared++
			}
		}
	}
	if compared != 90 {
		t.Errorf("%d figures were compared", compared)
	}
}
