package main

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/collector"
)

func newTestMachine(t *testing.T, n int, still bool) *machine {
	t.Helper()
	m, err := newMachine(n, still, collector.SourceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.close)
	return m
}

// page has the samples of a machine's page by series.
func page(m *machine) map[string]float64 {
	recorder := httptest.NewRecorder()
	m.ServeHTTP(recorder, httptest.NewRequest("GET", "/metrics", nil))
	all := map[string]float64{}
	for line := range strings.Lines(recorder.Body.String()) {
		if series, value, found := strings.Cut(strings.TrimSpace(line), "} "); found && strings.HasPrefix(line, "uma_") {
			all[series], _ = strconv.ParseFloat(value, 64)
		} else if series, value, found := strings.Cut(strings.TrimSpace(line), " "); found {
			all[series], _ = strconv.ParseFloat(value, 64)
		}
	}
	return all
}

// TestMachinesDifferAndMove: most series of a machine are sizes, limits and states, which do neither.
func TestMachinesDifferAndMove(t *testing.T) {
	one, other := newTestMachine(t, 0, false), newTestMachine(t, 1, false)
	before := page(one)
	one.last = one.last.Add(-20 * time.Second)
	for what, pages := range map[string][2]map[string]float64{"moved in 20 seconds": {before, page(one)}, "differ between two machines": {before, page(other)}} {
		different := 0
		for series, value := range pages[0] {
			if second, is := pages[1][series]; is && second != value {
				different++
			}
		}
		if different < 70 {
			t.Errorf("%d of %d values %s", different, len(before), what)
		}
	}
}

func TestAMachineIsControlled(t *testing.T) {
	m := newTestMachine(t, 0, true)
	post := func(body string) int {
		recorder := httptest.NewRecorder()
		m.ServeHTTP(recorder, httptest.NewRequest("POST", "/control", strings.NewReader(body)))
		return recorder.Code
	}
	if code := post(`{"process":"hog","leave_gib":5.4}`); code != 200 {
		t.Errorf("status %d", code)
	}
	if left := page(m)["uma_memory_available_bytes"] / gib; left < 5 || left > 5.8 {
		t.Errorf("%v GiB are available", left)
	}
	post(`{"process":"hog","stop":true,"ambient":60,"advance_seconds":1}`)
	post(`{"process":"furnace","demand":{"DeviceBytes":1073741824,"BusyRatio":1,"CPUs":20},"advance_seconds":1800}`)
	hot := 0.0
	for series, value := range page(m) {
		if strings.HasPrefix(series, "uma_gpu_temperature_celsius{") {
			hot = value
		}
	}
	if hot < 92 {
		t.Errorf("the GPU has %v degrees", hot)
	}
	post(`{"process":"furnace","stop":true}`)
	if code := post(`{"cache_gib":70}`); code != 200 {
		t.Errorf("status %d", code)
	}
	if p := page(m); p["uma_memory_cuda_free_bytes"]/gib > 50 || p["uma_memory_available_bytes"]/gib < 100 {
		t.Errorf("after a file of 70 GiB was read %v GiB are free, %v available", p["uma_memory_cuda_free_bytes"]/gib, p["uma_memory_available_bytes"]/gib)
	}
	if post(`{"down":true}`); len(page(m)) > 5 {
		t.Error("an exporter that is down serves a page")
	}
	if code := post("{"); code != 400 {
		t.Errorf("half a control: status %d", code)
	}
}

func TestTheEngineOfMachinesGoesAndComesBack(t *testing.T) {
	var pages gate
	sources, err := serveEngine(t.Context(), "127.0.0.1:0", &pages)
	if err != nil {
		t.Fatal(err)
	}
	m, err := newMachine(0, true, sources)
	if err != nil {
		t.Fatal(err)
	}
	defer m.close()
	m.engine = &pages
	answers := func() int {
		up := 0
		for series, value := range page(m) {
			if strings.HasPrefix(series, "uma_engine_up{") && value == 1 {
				up++
			}
		}
		return up
	}
	for _, c := range []struct {
		control string
		want    int
	}{{`{}`, 1}, {`{"engine":false}`, 0}, {`{"engine":true}`, 1}} {
		m.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest("POST", "/control", strings.NewReader(c.control)))
		if got := answers(); got != c.want {
			t.Errorf("%s: %d engines answer, want %d", c.control, got, c.want)
		}
	}
}
