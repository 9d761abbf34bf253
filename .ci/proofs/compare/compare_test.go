package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestArgumentsAreSplitAtDashes(t *testing.T) {
	exporters, err := parse([]string{"a", "http://a", "run-a", "-x", "--", "b", "http://b", "run-b"})
	if err != nil || len(exporters) != 2 {
		t.Fatalf("%d exporters, %v", len(exporters), err)
	}
	if e := exporters[0]; e.name != "a" || e.address != "http://a" || !slices.Equal(e.command, []string{"run-a", "-x"}) {
		t.Errorf("first is %v", e)
	}
	for _, args := range [][]string{nil, {"a", "http://a", "run"}, {"a", "http://a", "--", "b", "http://b", "run"}} {
		if _, err := parse(args); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
}

func TestCPUTimeOfAProcessIsWhatItSpends(t *testing.T) {
	before, err := cpuTime(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	for sum, began := 0, time.Now(); time.Since(began) < 50*time.Millisecond; sum++ {
		_ = sum
	}
	after, err := cpuTime(os.Getpid())
	if err != nil || after <= before {
		t.Errorf("%v, then %v: %v", before, after, err)
	}
	if _, err := cpuTime(1 << 23); err == nil {
		t.Error("a process that does not exist has CPU time")
	}
}

func TestSpreadIsOfTheValuesGiven(t *testing.T) {
	got := spread([]time.Duration{4, 1, 3, 2})
	if want := (spreadOf{least: 1, median: 2, most: 4, mean: 2}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestSeriesOfPagesAreCountedPackedOrNot(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Write([]byte("# HELP a b\n# TYPE a gauge\na{x=\"1\"} 1\na{x=\"2\"} 2\n\n"))
	}))
	defer server.Close()
	e := &exporter{address: server.URL}
	page, err := e.page(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if count, err := page.series(); count != 2 || err != nil {
		t.Errorf("%d series, %v", count, err)
	}
	if _, err := (answer{body: []byte("not packed"), packed: true}).series(); err == nil {
		t.Error("garbage was unpacked")
	}
}

func TestReportHasARowForEachAndRatiosToTheFirst(t *testing.T) {
	var out strings.Builder
	report(&out, []*exporter{
		{name: "ours", walls: []time.Duration{2e6}, cpus: []time.Duration{1e6}},
		{name: "theirs", walls: []time.Duration{3e6}, cpus: []time.Duration{4e6}},
	})
	if text := out.String(); strings.Count(text, "\n") != 3 || !strings.Contains(text, "1.50  ") || !strings.Contains(text, "4.00  ") {
		t.Errorf("prints\n%s", text)
	}
}
