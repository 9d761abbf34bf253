package summary

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/rundir"
)

// A pool of 100 bytes: 60 in use by processes, 30 of page cache, 10 free.
const memoryBefore = `{"source":"s","mode":"live","excluding_kv_bytes":50,"used_peak_bytes":65,"cuda_free_min_bytes":8,
"gpu_held_peak_bytes":40,"ledger_at":{"ready":{"gpu_process":40,"anon":25,"page_cache":30,"unattributed":-5,"free":10}}}`

// opened is a finished run with this summary.json.
func opened(t *testing.T, summary string) (Summary, error) {
	t.Helper()
	return openedBeside(t, summary, nil)
}

// openedBeside is a finished run with this summary.json and telemetry; without a file of it if it is nil.
func openedBeside(t *testing.T, summary string, telemetry []byte) (Summary, error) {
	t.Helper()
	dir := t.TempDir()
	files := map[string]string{rundir.ManifestFile: `{"schema":"umascope.manifest/1","run":"r"}`, rundir.SummaryFile: summary}
	if telemetry != nil {
		files[rundir.TelemetryFile] = string(telemetry)
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open(dir)
	return r.Summary, err
}

func TestASummaryOfTheFormBeforeIsReadByTodaysNames(t *testing.T) {
	s, err := opened(t, `{"schema":"umascope.summary/1","run":"r","memory":`+memoryBefore+`,"machines":[{"source":"s","mode":"live","memory":`+memoryBefore+`}]}`)
	if err != nil {
		t.Fatal(err)
	}
	if s.Schema != Schema {
		t.Errorf("its form is %q, want %q", s.Schema, Schema)
	}
	if len(s.Machines) != 1 || !reflect.DeepEqual(s.Memory, s.Machines[0].Memory) {
		t.Fatalf("memory %+v, machines %+v", s.Memory, s.Machines)
	}
	for name, figure := range map[string]struct {
		got  *float64
		want float64
	}{
		"occupied without KV cache": {s.Memory.OccupiedWithoutKV, 50},
		"unavailable, peak":         {s.Memory.UnavailablePeak, 65},
		"free, least":               {s.Memory.CUDAFreeMin, 8},
		"GPU-held":                  {s.Memory.GPUHeldPeak, 40},
		"pool":                      {s.Memory.Pool, 100},        // the sum of the ledger
		"available, least":          {s.Memory.AvailableMin, 35}, // what is left of the pool
		"occupied, peak":            {s.Memory.OccupiedPeak, 92},
	} {
		if figure.got == nil || *figure.got != figure.want {
			t.Errorf("%s: %v, want %v", name, figure.got, figure.want)
		}
	}
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, old := range metric.RenamedFields() {
		if strings.Contains(string(text), `"`+old.Old+`"`) || !strings.Contains(string(text), `"`+old.New+`"`) {
			t.Errorf("%s stands in %s, and not %s", old.Old, text, old.New)
		}
	}
}

func TestASummaryOfTheFormBeforeKeepsWhatIsNotKnownAbsent(t *testing.T) {
	s, err := opened(t, `{"schema":"umascope.summary/1","run":"r","memory":{"source":"s","mode":"live","used_peak_bytes":65,"ledger_at":{"peak":{"free":10,"anon":60}}}}`)
	if err != nil || s.Memory.UnavailablePeak == nil || *s.Memory.UnavailablePeak != 65 {
		t.Fatalf("%+v, %v", s.Memory, err)
	}
	if m := s.Memory; m.Pool != nil || m.AvailableMin != nil || m.OccupiedPeak != nil || m.OccupiedWithoutKV != nil {
		t.Errorf("without all lines of the ledger the pool is not known: %+v", m)
	}
	// Occupied without KV cache is the pool less KV cache and free memory, whichever lines of the ledger were lost.
	s, err = opened(t, `{"schema":"umascope.summary/1","run":"r","kv":{"capacity_bytes":40,"source":"x"},"memory":{"source":"s","mode":"live","excluding_kv_bytes":50,"ledger_at":{"ready":{"free":10,"anon":20}}}}`)
	if err != nil || s.Memory.Pool == nil || *s.Memory.Pool != 100 {
		t.Errorf("%+v, %v", s.Memory, err)
	}
	if s, err := opened(t, `{"schema":"umascope.summary/1","run":"r"}`); err != nil || s.Memory != nil {
		t.Errorf("%+v, %v", s.Memory, err)
	}
}

// A limit of series dropped lines of the ledger of early runs, and never the pool.
func TestThePoolOfASummaryOfTheFormBeforeIsReadFromTelemetry(t *testing.T) {
	const lost = `{"schema":"umascope.summary/1","run":"r","memory":{"source":"s","mode":"live","used_peak_bytes":65,"cuda_free_min_bytes":8,"ledger_at":{"ready":{"free":10}}}}`
	const head = `{"schema":"umascope.telemetry/1","interval_ns":1000,"series_per_source":1,"sources":[{"name":"other","url":"http://h:1/metrics"},{"name":"s","url":"http://h:2/metrics"}]}
{"series":{"source":0,"name":"uma_memory_pool_bytes"}}
{"sample":{"source":0,"at_ns":5,"index":[0],"values":[7]}}
`
	for name, c := range map[string]struct {
		telemetry                 string
		pool, available, occupied *float64
	}{
		"read":       {head + `{"series":{"source":1,"name":"uma_memory_pool_bytes"}}` + "\n" + `{"sample":{"source":1,"at_ns":6,"index":[0],"values":[100]}}` + "\n{\"end\":true}\n", ptr(100.0), ptr(35.0), ptr(92.0)},
		"of another": {head + "{\"end\":true}\n", nil, nil, nil},
		"damaged":    {"{", nil, nil, nil},
	} {
		var zipped bytes.Buffer
		z := gzip.NewWriter(&zipped)
		if _, err := io.WriteString(z, c.telemetry); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		s, err := openedBeside(t, lost, zipped.Bytes())
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, want := []*float64{s.Memory.Pool, s.Memory.AvailableMin, s.Memory.OccupiedPeak}, []*float64{c.pool, c.available, c.occupied}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v", name, s.Memory)
		}
	}
}

func TestASummaryOfTodayIsReadAsItIs(t *testing.T) {
	s, err := opened(t, `{"schema":"umascope.summary/2","run":"r","memory":{"source":"s","mode":"live","occupied_without_kv_bytes":50,"excluding_kv_bytes":7,"ledger_at":{"ready":{"free":10}}}}`)
	if err != nil || *s.Memory.OccupiedWithoutKV != 50 || s.Memory.Pool != nil {
		t.Errorf("%+v, %v", s.Memory, err)
	}
	if _, err := opened(t, `{"schema":"umascope.summary/3","run":"r"}`); err == nil || !strings.Contains(err.Error(), `"umascope.summary/3"`) {
		t.Errorf("another form: %v", err)
	}
}

// FuzzASummaryOfTheFormBefore holds, for any text in place of memory, that it is refused or read, and that what is derived
// adds up.
func FuzzASummaryOfTheFormBefore(f *testing.F) {
	f.Add(memoryBefore)
	f.Add(`{"excluding_kv_bytes":1,"occupied_without_kv_bytes":2}`)
	f.Add(`{"excluding_kv_bytes":"x"}`)
	f.Add(`null`)
	f.Add(`[]`)
	f.Fuzz(func(t *testing.T, memory string) {
		var s Summary
		if json.Unmarshal([]byte(`{"schema":"umascope.summary/1","memory":`+memory+`}`), &s) != nil || s.Memory == nil {
			return
		}
		m := s.Memory
		if m.Pool != nil && m.UnavailablePeak != nil && (m.AvailableMin == nil || *m.Pool-*m.UnavailablePeak != *m.AvailableMin) {
			t.Errorf("%+v", m)
		}
		if m.Pool != nil && m.CUDAFreeMin != nil && (m.OccupiedPeak == nil || *m.Pool-*m.CUDAFreeMin != *m.OccupiedPeak) {
			t.Errorf("%+v", m)
		}
	})
}
