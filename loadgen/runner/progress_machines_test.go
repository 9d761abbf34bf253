package runner

import (
	"math"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/telemetry"
)

// machinePage is the page of a machine with two GPUs and an engine of two models.
const machinePage = `uma_exporter_mode{mode="simulated"} 1
uma_memory_pool_bytes 100
uma_memory_available_bytes 50
uma_memory_ledger_bytes{line="anon"} 45
uma_memory_ledger_bytes{line="page_cache"} 30
uma_memory_ledger_bytes{line="free"} 25
uma_gpu_temperature_celsius{uuid="a"} 60
uma_gpu_temperature_celsius{uuid="b"} 71
uma_gpu_power_watts{uuid="a"} 20
uma_gpu_power_watts{uuid="b"} 22
uma_engine_kv_capacity_bytes{source="e",model="m"} 7
uma_engine_kv_capacity_bytes{source="e",model="n"} 8
`

func TestTheMachinesOfARunAreThoseOfItsLastSamples(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(machinePage)) }))
	defer server.Close()
	sampler, err := telemetry.Start(t.Context(), telemetry.Options{
		Sources: []telemetry.Source{{Name: "spark-1", URL: server.URL}}, Interval: 100 * time.Millisecond,
		File: t.TempDir() + "/telemetry.jsonl.gz", Clock: func() int64 { return 0 },
	})
	if err != nil {
		t.Fatal(err)
	}
	c := &Capture{sampler: sampler}
	for len(c.machines()) == 0 && t.Context().Err() == nil {
		time.Sleep(time.Millisecond)
	}
	got := c.machines()[0]
	sum := 0.0
	for _, bytes := range got.LedgerBytes {
		sum += bytes
	}
	if got.Host != "spark-1" || got.Mode != "simulated" || *got.PoolBytes != 100 || sum != *got.PoolBytes || *got.AvailableBytes != 50 {
		t.Errorf("%+v", got)
	}
	for name, c := range map[string]struct{ got, want float64 }{
		"occupied": {*got.OccupiedBytes, 75}, "KV cache": {*got.KVCacheBytes, 15}, "hottest GPU": {*got.GPUCelsius, 71}, "power": {*got.GPUWatts, 42},
	} {
		if math.Abs(c.got-c.want) > 1e-9 {
			t.Errorf("%s: %v, want %v", name, c.got, c.want)
		}
	}
	if _, err := sampler.Stop(); err != nil {
		t.Fatal(err)
	}
	if (&Capture{}).machines() != nil {
		t.Error("a run without telemetry has machines")
	}
}
