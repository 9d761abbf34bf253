package loadgen

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
)

// blockManager serves a page like KVBM's, whose counter grows with every look.
func blockManager(t *testing.T) string {
	t.Helper()
	var looks atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, "# TYPE kvbm_offload_blocks_d2h counter\nkvbm_offload_blocks_d2h %d\n", looks.Add(1))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestPagesThatAreScrapedAreInTheDeltasAndTheSnapshots(t *testing.T) {
	t.Parallel()
	page := blockManager(t)
	dir, _, _ := completed(t, "--url", engine(t, 5*time.Millisecond), "--scrape=kvbm="+page, "--telemetry-interval=100ms",
		"--requests=4", "--warmup=1", "--output-tokens=20", "--engine=vllm", "--ignore-eos", "--validity=telemetry_lost=off")
	sum := summaryOf(t, dir)
	series := fmt.Sprintf("kvbm_offload_blocks_d2h{source=%q}", strings.TrimPrefix(page, "http://")+"/metrics")
	if d := sum.Phases["measure"].Deltas[series]; d.Delta < 1 || d.Reset || len(sum.Machines) > 0 {
		t.Errorf("deltas %+v, machines %+v", sum.Phases["measure"].Deltas, sum.Machines)
	}
	for _, name := range []string{"00-ready-kvbm.prom.gz", "01-warmup-kvbm.prom.gz", "02-measure-kvbm.prom.gz", "03-stop-kvbm.prom.gz"} {
		if text := decompressed(t, filepath.Join(dir, rundir.SnapshotsFolder, name)); !strings.Contains(text, "\nkvbm_offload_blocks_d2h ") {
			t.Errorf("%s: %q", name, text)
		}
	}
	if m := manifestOf(t, dir); len(m.Pages) != 2 || m.Pages[0].Source != "kvbm" || m.Pages[1].Source != "server" {
		t.Errorf("pages of the manifest %+v", m.Pages)
	}
}

func decompressed(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestAPageThatNeverAnswersIsAWarning(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	dir, _, _ := completed(t, "--url", engine(t, time.Millisecond), "--scrape=kvbm="+server.URL, "--telemetry-interval=100ms",
		"--requests=2", "--warmup=0", "--output-tokens=2", "--engine=vllm")
	sum := summaryOf(t, dir)
	if !strings.Contains(strings.Join(sum.Warnings, "\n"), "the page kvbm never answered") {
		t.Errorf("warnings %q", sum.Warnings)
	}
}

func TestASourceHasANameOfItsOwn(t *testing.T) {
	code, _, _, stderr := invoke(t, t.Context(), "--url=http://127.0.0.1:1", "--telemetry=a=http://127.0.0.1:1", "--scrape=a=http://127.0.0.1:2")
	if code != exitUsage || !strings.Contains(stderr, "--scrape: a is given twice") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
