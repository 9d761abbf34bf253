package exporter

import (
	"bytes"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/nvml"
)

// hanging is a driver of which one call does not return until released.
type hanging struct {
	nvml.Driver
	call    nvml.Call
	release chan struct{}
}

func (h hanging) Do(device int, call nvml.Call) (nvml.Value, nvml.Return) {
	if call == h.call {
		<-h.release
	}
	return h.Driver.Do(device, call)
}

func TestCallThatHangsCostsOnlyWhatComesAfterIt(t *testing.T) {
	tests := []struct {
		name  string
		call  nvml.Call
		first []string // on the first page, in addition to the series of all pages
		gone  []string
	}{
		{
			"after the process lists", nvml.CallPower,
			[]string{
				`uma_gpu_temperature_celsius{uuid="GPU-1"} 60`, `uma_gpu_memory_held_bytes{uuid="GPU-1"} 4.294967296e+10`,
				`uma_memory_ledger_bytes{line="gpu_process"} 4.294967296e+10`,
			},
			[]string{"uma_gpu_power_watts{", "uma_gpu_sm_clock_hertz{"},
		},
		{
			"in the process lists", nvml.CallComputeProcesses,
			[]string{
				`uma_memory_ledger_line_known{line="gpu_process"} 0`,
			},
			[]string{`uma_memory_ledger_bytes{line="gpu_process"}`, "uma_gpu_memory_held_bytes{", "uma_gpu_temperature_celsius{"},
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				release := make(chan struct{})
				e := hangingExporter(t, test.call, release)
				for scrape := range 3 {
					began := time.Now()
					page := pageOf(t, e)
					// No value is carried over: on later pages there is only what was read for them.
					want := []string{
						`uma_gpu_call_hung{call="` + string(test.call) + `",uuid="GPU-1"} 1`, `uma_collector_state{collector="gpu",state="failed"} 1`,
						`uma_collector_state{collector="memory",state="ok"} 1`, `uma_memory_ledger_bytes{line="free"} `,
					}
					if scrape == 0 {
						want = append(want, test.first...)
					} else {
						want = append(want, `uma_memory_ledger_line_known{line="gpu_process"} 0`)
					}
					for _, want := range want {
						if !strings.Contains(page, want) {
							t.Errorf("scrape %d lacks %s", scrape, want)
						}
					}
					for _, unwanted := range test.gone {
						if strings.Contains(page, unwanted) {
							t.Errorf("scrape %d has %s", scrape, unwanted)
						}
					}
					if took := time.Since(began); scrape > 0 && took >= time.Second {
						t.Errorf("scrape %d waited %v for a call that is known to hang", scrape, took)
					}
				}
				close(release)
				time.Sleep(time.Minute)
				if page := pageOf(t, e); !strings.Contains(page, `uma_collector_state{collector="gpu",state="ok"} 1`) || strings.Contains(page, "uma_gpu_call_hung{") {
					t.Error("the device is not read again after its call returned")
				}
			})
		})
	}
}

func pageOf(t *testing.T, e *Exporter) string {
	t.Helper()
	var page bytes.Buffer
	must(t, e.WritePage(t.Context(), &page))
	return page.String()
}

// hangingExporter serves an integrated host whose driver hangs in one call.
func hangingExporter(t *testing.T, call nvml.Call, release chan struct{}) *Exporter {
	t.Helper()
	driver, err := nvml.Replay(strings.NewReader(integratedRecording))
	must(t, err)
	host := integratedHost(t, "x")
	host.GPU = nvml.NewReader(hanging{driver, call, release}, nvml.ReaderOptions{})
	t.Cleanup(host.GPU.Close)
	e := exporterOf(t, host, Settings{Options: collector.Options{ProcessLimit: 1}})
	return e
}
