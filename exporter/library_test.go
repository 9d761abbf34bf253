package exporter

import (
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/nvml"
)

// changing is a driver whose library does not load while refusal is not Success.
type changing struct {
	nvml.Driver
	refusal *atomic.Int32
}

func (c changing) Init() nvml.Return {
	if code := nvml.Return(c.refusal.Load()); code != nvml.Success {
		return code
	}
	return c.Driver.Init()
}

// TestLibraryThatComesLaterIsReadWithoutARestart goes from a machine without the library to one whose
// library is of another version than the driver, and on to one that works.
func TestLibraryThatComesLaterIsReadWithoutARestart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		driver, err := nvml.Replay(strings.NewReader(integratedRecording))
		must(t, err)
		refusal := new(atomic.Int32)
		host := integratedHost(t, "x")
		host.GPU = nvml.NewReader(changing{driver, refusal}, nvml.ReaderOptions{})
		defer host.Close()
		e := exporterOf(t, host, Settings{Options: collector.Options{ProcessLimit: 1}})
		for _, step := range []struct {
			code nvml.Return
			has  []string
			not  []string
		}{
			{nvml.LibraryNotFound, []string{`uma_collector_state{collector="gpu",state="absent"} 1`, `uma_memory_ledger_bytes{line="free"} `}, []string{"uma_gpu_temperature_celsius{"}},
			{nvml.LibRMVersionMismatch, []string{`uma_collector_state{collector="gpu",state="failed"} 1`, `uma_memory_ledger_line_known{line="gpu_process"} 0`}, []string{"uma_gpu_temperature_celsius{", `uma_memory_ledger_bytes{line="gpu_process"}`}},
			{nvml.Success, []string{`uma_collector_state{collector="gpu",state="ok"} 1`, `uma_gpu_temperature_celsius{uuid="GPU-1"} 60`, `uma_memory_ledger_bytes{line="gpu_process"} 4.294967296e+10`}, nil},
		} {
			refusal.Store(int32(step.code))
			time.Sleep(time.Hour) // longer than any wait before it is tried again
			page := pageOf(t, e)
			for _, want := range step.has {
				if !strings.Contains(page, want) {
					t.Errorf("%v: page lacks %s", step.code, want)
				}
			}
			for _, unwanted := range step.not {
				if strings.Contains(page, unwanted) {
					t.Errorf("%v: page has %s", step.code, unwanted)
				}
			}
		}
	})
}
