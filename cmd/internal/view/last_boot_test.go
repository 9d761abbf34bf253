package view

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
)

func TestTheLastBootIsShownAsTheExporterShowsIt(t *testing.T) {
	page, status := "The machine probably stopped without a shutdown.\n  "+hostileText, http.StatusOK
	mux := http.NewServeMux()
	mux.HandleFunc("/metrics", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/plain; version=0.0.4")
		fmt.Fprint(w, machinePage+"uma_exporter_recorder_previous_boot_end{end=\"shutdown\"} 0\numa_exporter_recorder_previous_boot_end{end=\"no_shutdown\"} 1\n")
	})
	mux.HandleFunc("/last-boot", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status); fmt.Fprint(w, page) })
	o := openPages(t, "", map[string]http.Handler{"other.inside:80": mux}, func(o *options) { o.exporter = "http://other.inside:80/metrics" })
	wantParts(t, "/", o.until(t, "/", "probably ended without a shutdown (no_shutdown)"), `<a href="/last-boot">`)
	shown := o.get("/last-boot")
	wantParts(t, "/last-boot", shown.Body.String(), "The machine probably stopped without a shutdown.", "&lt;script&gt;")
	if shown.Code != http.StatusOK || strings.Contains(shown.Body.String(), "<script>") {
		t.Errorf("%d", shown.Code)
	}
	status = http.StatusNotFound
	if gone := o.get("/last-boot"); gone.Code != http.StatusNotFound || !strings.Contains(gone.Body.String(), "--recorder") {
		t.Errorf("without a recorder: %d, %s", gone.Code, gone.Body)
	}
}

func TestWithoutARecorderThereIsNoLineAboutTheLastBoot(t *testing.T) {
	o := openPages(t, machinePage, nil, nil)
	if page := o.until(t, "/", "1 alert fires"); strings.Contains(page, "last-boot") {
		t.Error("there is one")
	}
}
