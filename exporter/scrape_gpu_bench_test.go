//go:build gpu && cgo

// Built with -tags gpu and run on a machine with a real GPU:
//
//	go test -c -tags gpu -o scrape.test ./exporter
//	./scrape.test -test.run '^$' -test.bench BesideRawNVML -test.benchtime 1x -test.v

package exporter_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"syscall"
	"testing"
	"time"

	raw "github.com/NVIDIA/go-nvml/pkg/nvml"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/nvml"
)

const (
	benchRounds = 30
	benchPause  = time.Second
)

// cost is what one scrape, or the calls of one, took.
type cost struct{ wall, cpu time.Duration }

// measure runs f and takes wall time and the CPU time, user and system, of the whole process.
func measure(b *testing.B, f func()) cost {
	b.Helper()
	cpu := processCPU(b)
	began := time.Now()
	f()
	return cost{time.Since(began), processCPU(b) - cpu}
}

func processCPU(b *testing.B) time.Duration {
	b.Helper()
	var usage syscall.Rusage
	must(b, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkScrapeBesideRawNVML puts one full scrape with the default collectors beside the same
// driver calls made in sequence: 30 times each, in random order, a second apart, so that the
// driver has to refresh its figures for either of them.
func BenchmarkScrapeBesideRawNVML(b *testing.B) {
	handler := liveHandler(b)
	calls := callsOfAPass(b)
	sequence := rawSequence(b, calls)
	scrape := func() {
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
		if recorder.Code != http.StatusOK || !bytes.Contains(recorder.Body.Bytes(), []byte(`uma_collector_state{collector="gpu",state="ok"} 1`)) {
			b.Fatalf("scrape failed: %d, %.2000s", recorder.Code, recorder.Body)
		}
	}
	scrape() // what is read once per library is not part of a scrape
	sequence()
	for b.Loop() {
		var scrapes, sequences []cost
		for range benchRounds {
			for _, first := range rand.Perm(2) {
				time.Sleep(benchPause)
				if first == 0 {
					scrapes = append(scrapes, measure(b, scrape))
				} else {
					sequences = append(sequences, measure(b, sequence))
				}
			}
		}
		b.Logf("%d driver calls a pass: %v", len(calls), calls)
		reportCosts(b, scrapes, sequences)
	}
}

// liveHandler is the exporter as it is run, on this machine.
func liveHandler(b *testing.B) http.Handler {
	b.Helper()
	host, err := exporter.LiveHost()
	must(b, err)
	b.Cleanup(host.Close)
	e, err := exporter.New(host, exporter.Settings{Options: collector.Options{ProcessLimit: 20}})
	must(b, err)
	return e.Handler()
}

// deviceCall is one driver call on one device.
type deviceCall struct {
	Device int       `json:"device"`
	Call   nvml.Call `json:"call"`
}

// callsOfAPass records which calls a pass makes after the first, in order.
func callsOfAPass(b *testing.B) []deviceCall {
	b.Helper()
	var recording bytes.Buffer
	reader := nvml.NewReader(nvml.Record(nvml.Live(), &recording), nvml.ReaderOptions{})
	pass := func() {
		snapshot, err := reader.Read(b.Context()).Snapshot(b.Context())
		if err != nil || len(snapshot.Devices) == 0 {
			b.Fatalf("%d devices: %v", len(snapshot.Devices), err)
		}
	}
	pass()
	recording.Reset()
	pass()
	made := slices.Clone(recording.Bytes())
	reader.Close()
	var calls []deviceCall
	for line := range bytes.Lines(made) {
		var call deviceCall
		must(b, json.Unmarshal(line, &call))
		calls = append(calls, call)
	}
	return calls
}

// rawSequence makes the calls by go-nvml alone. A call that it does not know is an error: the
// two sides would not be doing the same work.
func rawSequence(b *testing.B, calls []deviceCall) func() {
	b.Helper()
	library := raw.New()
	if code := library.Init(); code != raw.SUCCESS {
		b.Fatal(code)
	}
	b.Cleanup(func() { library.Shutdown() })
	functions := rawFunctions()
	var sequence []func()
	for _, call := range calls {
		function, known := functions[call.Call]
		if !known {
			b.Fatalf("%s is made in a pass and is not in the raw sequence", call.Call)
		}
		device, code := library.DeviceGetHandleByIndex(call.Device)
		if code != raw.SUCCESS {
			b.Fatal(code)
		}
		sequence = append(sequence, func() { function(device) })
	}
	return func() {
		for _, call := range sequence {
			call()
		}
	}
}

func rawFunctions() map[nvml.Call]func(raw.Device) {
	fields := []uint32{
		raw.FI_DEV_TOTAL_ENERGY_CONSUMPTION,
		raw.FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP, raw.FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST,
		raw.FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN, raw.FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN,
		raw.FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN,
		raw.FI_DEV_ECC_SBE_VOL_TOTAL, raw.FI_DEV_ECC_DBE_VOL_TOTAL,
		raw.FI_DEV_REMAPPED_COR, raw.FI_DEV_REMAPPED_UNC, raw.FI_DEV_REMAPPED_PENDING, raw.FI_DEV_REMAPPED_FAILURE,
	}
	return map[nvml.Call]func(raw.Device){
		nvml.CallXIDErrors:         func(raw.Device) {}, // counted by a thread of its own: no driver call
		nvml.CallComputeProcesses:  func(d raw.Device) { d.GetComputeRunningProcesses() },
		nvml.CallGraphicsProcesses: func(d raw.Device) { d.GetGraphicsRunningProcesses() },
		nvml.CallMPSProcesses:      func(d raw.Device) { d.GetMPSComputeRunningProcesses() },
		nvml.CallMemory:            func(d raw.Device) { d.GetMemoryInfo_v2() },
		nvml.CallTemperature:       func(d raw.Device) { d.GetTemperature(raw.TEMPERATURE_GPU) },
		nvml.CallPower:             func(d raw.Device) { d.GetPowerUsage() },
		nvml.CallUtilization:       func(d raw.Device) { d.GetUtilizationRates() },
		nvml.CallSMClock:           func(d raw.Device) { d.GetClockInfo(raw.CLOCK_SM) },
		nvml.CallClockEvents:       func(d raw.Device) { d.GetCurrentClocksEventReasons() },
		nvml.CallClockThrottles:    func(d raw.Device) { d.GetCurrentClocksThrottleReasons() },
		nvml.CallFields: func(d raw.Device) {
			values := make([]raw.FieldValue, len(fields))
			for i, id := range fields {
				values[i].FieldId = id
			}
			d.GetFieldValues(values)
		},
		nvml.CallEnergy:           func(d raw.Device) { d.GetTotalEnergyConsumption() },
		nvml.CallPerformanceState: func(d raw.Device) { d.GetPerformanceState() },
		nvml.CallMemoryClock:      func(d raw.Device) { d.GetClockInfo(raw.CLOCK_MEM) },
		nvml.CallPowerLimit:       func(d raw.Device) { d.GetEnforcedPowerLimit() },
		nvml.CallMargin:           func(d raw.Device) { d.GetMarginTemperature() },
		nvml.CallEncoder:          func(d raw.Device) { d.GetEncoderUtilization() },
		nvml.CallDecoder:          func(d raw.Device) { d.GetDecoderUtilization() },
		nvml.CallFan:              func(d raw.Device) { d.GetFanSpeed() },
	}
}

// reportCosts prints minimum, median and maximum of both sides, and the ratio of the medians.
func reportCosts(b *testing.B, scrapes, sequences []cost) {
	b.Helper()
	wall := func(c cost) time.Duration { return c.wall }
	cpu := func(c cost) time.Duration { return c.cpu }
	for _, kind := range []struct {
		name string
		of   func(cost) time.Duration
	}{{"wall", wall}, {"cpu", cpu}} {
		ours, theirs := spread(scrapes, kind.of), spread(sequences, kind.of)
		ratio := float64(ours[1]) / float64(theirs[1])
		b.Logf("%-4s min/median/max: scrape %v, raw sequence %v, ratio of medians %.3f", kind.name, ours, theirs, ratio)
		b.ReportMetric(float64(ours[1].Microseconds())/1000, fmt.Sprintf("scrape-%s-ms", kind.name))
		b.ReportMetric(float64(theirs[1].Microseconds())/1000, fmt.Sprintf("raw-%s-ms", kind.name))
		b.ReportMetric(ratio, kind.name+"-ratio")
	}
}

// spread is minimum, median and maximum.
func spread(costs []cost, of func(cost) time.Duration) [3]time.Duration {
	values := make([]time.Duration, len(costs))
	for i, c := range costs {
		values[i] = of(c)
	}
	slices.Sort(values)
	middle := (values[(len(values)-1)/2] + values[len(values)/2]) / 2
	return [3]time.Duration{values[0], middle, values[len(values)-1]}
}

// BenchmarkScrapeOnRealGPU is for profiles: scrapes with no pause between them.
func BenchmarkScrapeOnRealGPU(b *testing.B) {
	handler := liveHandler(b)
	b.ReportAllocs()
	for b.Loop() {
		handler.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/metrics", nil))
	}
}
