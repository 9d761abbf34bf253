package main

import (
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/collector"
)

// values are the samples of a machine's page by series.
func values(t *testing.T, m *machine, path, body string) map[string]string {
	t.Helper()
	recorder := httptest.NewRecorder()
	method := map[bool]string{true: "GET", false: "POST"}[body == ""]
	m.ServeHTTP(recorder, httptest.NewRequest(method, path, strings.NewReader(body)))
	if recorder.Code != 200 {
		t.Fatalf("%s %s: %s", path, body, recorder.Body)
	}
	all := map[string]string{}
	for line := range strings.Lines(recorder.Body.String()) {
		if i := strings.LastIndex(line, " "); strings.HasPrefix(line, "uma_") {
			all[line[:i]] = strings.TrimSpace(line[i:])
		}
	}
	return all
}

// different counts the series of both whose values differ.
func different(a, b map[string]string) (n int) {
	for series, value := range a {
		if other, is := b[series]; is && other != value {
			n++
		}
	}
	return n
}

// TestMachinesDifferAndMove: most series of a machine are sizes, limits and states, which do neither.
func TestMachinesDifferAndMove(t *testing.T) {
	var pages []map[string]string
	for n := range 2 {
		m, err := newMachine(n, false, collector.SourceOptions{})
		if err != nil {
			t.Fatal(err)
		}
		defer m.seen.GPU.Close()
		before := values(t, m, "/metrics", "")
		m.last = m.last.Add(-20 * time.Second)
		after := values(t, m, "/metrics", "")
		if moved := different(before, after); moved < 70 {
			t.Errorf("machine %d: %d of %d values moved in 20 seconds", n, moved, len(before))
		}
		pages = append(pages, after)
	}
	if n := different(pages[0], pages[1]); n < 70 {
		t.Errorf("%d of %d values differ between two machines", n, len(pages[0]))
	}
}

func TestAMachineDoesWhatItIsToldTo(t *testing.T) {
	m, err := newMachine(0, true, collector.SourceOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer m.seen.GPU.Close()
	values(t, m, "/control", `{"process":"hog","leave_gib":5.4}`)
	if got := values(t, m, "/metrics", "")["uma_memory_available_bytes"]; !strings.HasPrefix(got, "5.") || !strings.HasSuffix(got, "e+09") {
		t.Errorf("%s bytes are available", got)
	}
	values(t, m, "/control", `{"process":"hog","stop":true,"ambient":60,"advance_seconds":1}`)
	values(t, m, "/control", `{"process":"furnace","demand":{"DeviceBytes":1073741824,"BusyRatio":1,"CPUs":20},"advance_seconds":1800}`)
	hot := 0.0
	for series, value := range values(t, m, "/metrics", "") {
		if strings.HasPrefix(series, "uma_gpu_temperature_celsius{") {
			hot, _ = strconv.ParseFloat(value, 64)
		}
	}
	if hot < 92 {
		t.Errorf("the GPU has %v degrees", hot)
	}
	recorder := httptest.NewRecorder()
	m.ServeHTTP(recorder, httptest.NewRequest("POST", "/control", strings.NewReader("{")))
	if recorder.Code != 400 {
		t.Errorf("half a control: status %d", recorder.Code)
	}
}
