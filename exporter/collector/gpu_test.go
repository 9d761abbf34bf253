package collector

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/exporter/nvml"
)

func gpuPage(t *testing.T, host Host) (map[string]float64, Outcome) {
	t.Helper()
	return page(t, gpuSpec(), host, Options{ProcessLimit: 10})
}

// answering is a driver of one GPU that answers these calls and supports no other.
func answering(values map[nvml.Call]nvml.Value) driver {
	return driver{count: 1, answer: func(_ int, call nvml.Call) (nvml.Value, nvml.Return) {
		if v, known := values[call]; known {
			return v, nvml.Success
		}
		return nvml.Value{}, nvml.NotSupported
	}}
}

// everything is a driver that supports every call.
func everything() driver {
	return answering(map[nvml.Call]nvml.Value{
		nvml.CallUUID: {Text: "GPU-1"}, nvml.CallName: {Text: "NVIDIA H200"}, nvml.CallPCIInfo: {Text: "00000000:1B:00.0"}, nvml.CallVBIOS: {Text: "96.00"},
		nvml.CallDriverVersion: {Text: "580.142"}, nvml.CallCUDAVersion: {Number: 13010},
		nvml.CallComputeProcesses: {Processes: []nvml.Process{{PID: 6330, UsedBytes: new(uint64(3 * gib))}, {PID: 77, UsedBytes: new(uint64(gib))}}},
		nvml.CallMemory:           {Numbers: map[string]uint64{"total": 141 * gib, "used": 5 * gib, "free": 135 * gib, "reserved": gib}},
		nvml.CallTemperature:      {Number: 52}, nvml.CallMargin: {Number: 35}, nvml.CallPower: {Number: 10800}, nvml.CallPowerLimit: {Number: 700000},
		nvml.CallUtilization: {Numbers: map[string]uint64{"gpu": 96, "memory": 12}}, nvml.CallEncoder: {Number: 3}, nvml.CallDecoder: {Number: 0},
		nvml.CallFan: {Number: 30}, nvml.CallSMClock: {Number: 1980}, nvml.CallSMClockMax: {Number: 1980}, nvml.CallMemoryClock: {Number: 3201},
		nvml.CallPerformanceState: {Number: 0}, nvml.CallSupportedEvents: {Number: 0x4 | 0x40}, nvml.CallClockEvents: {Number: 0x4},
		nvml.CallLimitFields: {Numbers: map[string]uint64{"shutdown": ^uint64(7)}},
		nvml.CallFields: {Numbers: map[string]uint64{"energy": 5000, "sw_power_cap": 2e9, "ecc_corrected": 1, "ecc_uncorrected": 0,
			"remapped_correctable": 2, "remapped_uncorrectable": 0, "remapped_pending": 1, "remapped_failed": 0}},
		nvml.CallXIDErrors: {Numbers: map[string]uint64{"31": 2, "8": 1, "1000": 3}},
		nvml.CallMIGMode:   {Number: 1}, nvml.CallMIGDevices: {Instances: []nvml.Instance{
			{UUID: "MIG-1", GPUInstance: 2, Profile: "3g.71gb", TotalBytes: new(uint64(70 * gib)), UsedBytes: new(uint64(4 * gib)), FreeBytes: new(uint64(66 * gib))},
			{UUID: "MIG-2", GPUInstance: 9, ComputeInstance: 1, Profile: "1c.3g.71gb"},
		}},
		nvml.CallMIGProcesses: {Instances: []nvml.Instance{
			{UUID: "MIG-1", ProcessesRead: true, Processes: []nvml.Process{{PID: 6330, UsedBytes: new(uint64(3 * gib))}, {PID: 77, UsedBytes: new(uint64(gib))}}},
			{UUID: "MIG-2", ProcessesRead: true},
		}},
		nvml.CallLinkFields: {Numbers: map[string]uint64{"pcie_replays": 5, "nvlinks": 18}, Links: []nvml.Link{
			{Number: 0, Errors: map[string]uint64{"replay": 1, "crc": 0}}, {Number: 17, Errors: map[string]uint64{"replay": 7}}}},
		nvml.CallPCIeGeneration: {Number: 1}, nvml.CallPCIeGenerationMax: {Number: 5}, nvml.CallPCIeLanes: {Number: 8}, nvml.CallPCIeLanesMax: {Number: 16},
		nvml.CallPCIeTransmit: {Number: 2500}, nvml.CallPCIeReceive: {Number: 0},
	})
}

// withTraffic is a host of which PCIe traffic is asked, too.
func withTraffic(t testing.TB, d nvml.Driver) Host {
	host := sparkWith(t, d)
	host.GPU = nvml.NewReader(d, nvml.ReaderOptions{PCIeThroughput: true})
	return host
}

func TestGPUThatSupportsEverythingWorkedOutByHand(t *testing.T) {
	series, outcome := gpuPage(t, sparkWith(t, everything()))
	if outcome.State != OK {
		t.Fatal(outcome.Err)
	}
	one := `{uuid="GPU-1"}`
	wantSeries(t, series, map[string]float64{
		`uma_gpu_info{cuda_version="13.1",driver_version="580.142",gpu="0",memory_architecture="discrete",name="NVIDIA H200",pci_bus_id="00000000:1B:00.0",uuid="GPU-1",vbios="96.00"}`: 1,
		"uma_gpu_temperature_celsius" + one: 52, "uma_gpu_power_watts" + one: 10.8, "uma_gpu_power_limit_watts" + one: 700, "uma_gpu_energy_joules_total" + one: 5,
		`uma_gpu_temperature_margin_celsius{limit="operating",uuid="GPU-1"}`: 35, `uma_gpu_temperature_margin_celsius{limit="shutdown",uuid="GPU-1"}`: 43,
		"uma_gpu_utilization_ratio" + one: 0.96, "uma_gpu_memory_utilization_ratio" + one: 0.12, "uma_gpu_encoder_utilization_ratio" + one: 0.03,
		"uma_gpu_decoder_utilization_ratio" + one: 0, "uma_gpu_fan_ratio" + one: 0.3, "uma_gpu_sm_clock_hertz" + one: 1.98e9,
		"uma_gpu_sm_clock_max_hertz" + one: 1.98e9, "uma_gpu_memory_clock_hertz" + one: 3.201e9, "uma_gpu_performance_state" + one: 0,
		`uma_gpu_clock_event_active{reason="sw_power_cap",uuid="GPU-1"}`: 1, `uma_gpu_clock_event_active{reason="hw_thermal",uuid="GPU-1"}`: 0,
		`uma_gpu_clock_event_seconds_total{reason="sw_power_cap",uuid="GPU-1"}`: 2,
		"uma_gpu_memory_total_bytes" + one:                                      141 * gib, "uma_gpu_memory_used_bytes" + one: 5 * gib, "uma_gpu_memory_free_bytes" + one: 135 * gib,
		"uma_gpu_memory_reserved_bytes" + one: gib, "uma_gpu_memory_held_bytes" + one: 4 * gib, "uma_gpu_processes" + one: 2, "uma_gpu_process_list_trusted" + one: 1,
		`uma_gpu_process_memory_bytes{cgroup="` + engineCgroup + `",comm="VLLM::EngineCor",pid="6330",uuid="GPU-1"}`: 3 * gib,
		`uma_gpu_process_memory_bytes{cgroup="",comm="",pid="77",uuid="GPU-1"}`:                                      gib,
		`uma_gpu_ecc_errors_total{kind="corrected",uuid="GPU-1"}`:                                                    1, `uma_gpu_ecc_errors_total{kind="uncorrected",uuid="GPU-1"}`: 0,
		`uma_gpu_remapped_rows{kind="correctable",uuid="GPU-1"}`: 2, `uma_gpu_remapped_rows{kind="pending",uuid="GPU-1"}`: 1,
		`uma_gpu_call_supported{call="nvmlDeviceGetTemperature",uuid="GPU-1"}`: 1, `uma_gpu_call_supported{call="nvmlDeviceGetNumaNodeId",uuid="GPU-1"}`: 0,
	})
	wantAbsent(t, series, "uma_gpu_call_hung", `uma_gpu_clock_event_active{reason="idle"`)
}

func TestLinksAndPartsOfAGPUWorkedOutByHand(t *testing.T) {
	series, outcome := gpuPage(t, withTraffic(t, everything()))
	if outcome.State != OK {
		t.Fatal(outcome.Err)
	}
	one, first, second := `{uuid="GPU-1"}`, `{mig_uuid="MIG-1",uuid="GPU-1"}`, `{mig_uuid="MIG-2",uuid="GPU-1"}`
	wantSeries(t, series, map[string]float64{
		"uma_gpu_pcie_replays_total" + one: 5, "uma_gpu_pcie_link_generation" + one: 1, "uma_gpu_pcie_link_generation_max" + one: 5,
		"uma_gpu_pcie_link_lanes" + one: 8, "uma_gpu_pcie_link_lanes_max" + one: 16,
		`uma_gpu_pcie_throughput_bytes_per_second{direction="tx",uuid="GPU-1"}`: 2.5e6,
		`uma_gpu_pcie_throughput_bytes_per_second{direction="rx",uuid="GPU-1"}`: 0,
		`uma_gpu_nvlink_errors_total{kind="replay",link="0",uuid="GPU-1"}`:      1,
		`uma_gpu_nvlink_errors_total{kind="crc",link="0",uuid="GPU-1"}`:         0,
		`uma_gpu_nvlink_errors_total{kind="replay",link="17",uuid="GPU-1"}`:     7,
		"uma_gpu_mig_enabled" + one: 1, "uma_gpu_mig_instances" + one: 2,
		`uma_gpu_mig_info{compute_instance="0",gpu_instance="2",mig_uuid="MIG-1",profile="3g.71gb",uuid="GPU-1"}`:    1,
		`uma_gpu_mig_info{compute_instance="1",gpu_instance="9",mig_uuid="MIG-2",profile="1c.3g.71gb",uuid="GPU-1"}`: 1,
		"uma_gpu_mig_memory_total_bytes" + first: 70 * gib, "uma_gpu_mig_memory_used_bytes" + first: 4 * gib, "uma_gpu_mig_memory_free_bytes" + first: 66 * gib,
		"uma_gpu_mig_memory_held_bytes" + first: 4 * gib, "uma_gpu_mig_processes" + first: 2,
		"uma_gpu_mig_memory_held_bytes" + second: 0, "uma_gpu_mig_processes" + second: 0,
	})
	wantAbsent(t, series, `uma_gpu_mig_memory_total_bytes{mig_uuid="MIG-2"`, `uma_gpu_nvlink_errors_total{kind="crc",link="17"`)
	untold, _ := gpuPage(t, sparkWith(t, everything()))
	wantAbsent(t, untold, "uma_gpu_pcie_throughput")
}

func TestXIDErrorsStartAtZeroWhereTheyAreDelivered(t *testing.T) {
	series, _ := gpuPage(t, sparkWith(t, everything()))
	wantSeries(t, series, map[string]float64{
		`uma_gpu_xid_errors_total{uuid="GPU-1",xid="31"}`: 2, `uma_gpu_xid_errors_total{uuid="GPU-1",xid="other"}`: 4,
		`uma_gpu_xid_errors_total{uuid="GPU-1",xid="79"}`: 0, `uma_gpu_xid_errors_total{uuid="GPU-1",xid="119"}`: 0,
		`uma_gpu_call_supported{call="nvmlEventSetWait_XID",uuid="GPU-1"}`: 1,
	})
	wantAbsent(t, series, `uma_gpu_xid_errors_total{uuid="GPU-1",xid="8"}`, `uma_gpu_xid_errors_total{uuid="GPU-1",xid="1000"}`)
	undelivered, _ := gpuPage(t, spark(t))
	wantSeries(t, undelivered, map[string]float64{`uma_gpu_call_supported{call="nvmlEventSetWait_XID",uuid="GPU-spark"}`: 0})
	wantAbsent(t, undelivered, "uma_gpu_xid_errors_total")
}

func TestPartitionedGPUWithoutPrivilegeShowsItsPartsAndSaysSo(t *testing.T) {
	denied := everything()
	for _, call := range []nvml.Call{nvml.CallComputeProcesses, nvml.CallGraphicsProcesses, nvml.CallMPSProcesses, nvml.CallMemory} {
		denied = denied.with(call, nvml.Value{}, nvml.NoPermission)
	}
	series, outcome := gpuPage(t, sparkWith(t, denied))
	if unmet := outcome.Unmet(); outcome.State != OK || len(unmet) != 1 || !strings.Contains(unmet[0].Fix, "MIG_MONITOR") {
		t.Errorf("%s: %v, unmet %+v", outcome.State, outcome.Err, unmet)
	}
	wantSeries(t, series, map[string]float64{
		`uma_collector_privilege{collector="gpu",needs="mig_monitor"}`:  0,
		`uma_gpu_mig_memory_held_bytes{mig_uuid="MIG-1",uuid="GPU-1"}`:  4 * gib,
		`uma_gpu_mig_memory_total_bytes{mig_uuid="MIG-1",uuid="GPU-1"}`: 70 * gib,
	})
	wantAbsent(t, series, "uma_gpu_processes", "uma_gpu_memory_total", "uma_gpu_memory_used", "uma_gpu_memory_held", "uma_gpu_process_memory")
	whole, _ := gpuPage(t, sparkWith(t, everything()))
	wantSeries(t, whole, map[string]float64{`uma_collector_privilege{collector="gpu",needs="mig_monitor"}`: 1})
}

func TestWaitForEventsThatHangsIsTold(t *testing.T) {
	series, outcome := gpuPage(t, sparkWith(t, everything().with(nvml.CallXIDErrors, nvml.Value{}, nvml.Timeout)))
	if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), string(nvml.CallXIDErrors)) {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{
		`uma_gpu_call_hung{call="nvmlEventSetWait_XID",uuid="GPU-1"}`: 1, `uma_gpu_power_watts{uuid="GPU-1"}`: 10.8,
	})
	wantAbsent(t, series, "uma_gpu_xid_errors_total")
}

func TestCallThatReturnsWithATimeoutHasFailedAndDoesNotHang(t *testing.T) {
	series, outcome := gpuPage(t, sparkWith(t, everything().with(nvml.CallPower, nvml.Value{}, nvml.Timeout)))
	if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), "no answer in time") {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantAbsent(t, series, "uma_gpu_call_hung", "uma_gpu_power_watts")
	wantSeries(t, series, map[string]float64{`uma_gpu_temperature_celsius{uuid="GPU-1"}`: 52})
}

func TestEveryGPUSeriesIsDeclaredAndEmitted(t *testing.T) {
	wantDeclared(t, gpuSpec(), "GPU")
	series, _ := gpuPage(t, withTraffic(t, everything()))
	for _, definer := range gpuSpec().Metrics {
		name := definer.Def().Name
		emitted := slices.ContainsFunc(slices.Collect(maps.Keys(series)), func(s string) bool { return strings.HasPrefix(s, name+"{") })
		if !emitted && name != metric.GPUCallHung.Def().Name {
			t.Errorf("%s is never emitted", name)
		}
	}
}

func TestReasonsAreThoseOfTheVocabulary(t *testing.T) {
	series, _ := gpuPage(t, sparkWith(t, answering(map[nvml.Call]nvml.Value{nvml.CallUUID: {Text: "GPU-1"}, nvml.CallSupportedEvents: {Number: 0x1ff}, nvml.CallClockEvents: {}})))
	for _, reason := range []string{metric.ReasonSWPowerCap, metric.ReasonHWSlowdown, metric.ReasonSyncBoost, metric.ReasonSWThermal, metric.ReasonHWThermal, metric.ReasonHWPowerBrake} {
		if value, there := series[`uma_gpu_clock_event_active{reason="`+reason+`",uuid="GPU-1"}`]; !there || value != 0 {
			t.Errorf("%s: there %v, %v", reason, there, value)
		}
	}
}

func TestWhatAGPUDoesNotSupportIsAbsentAndNotZero(t *testing.T) {
	series, outcome := gpuPage(t, spark(t))
	if outcome.State != OK {
		t.Fatal(outcome.Err)
	}
	wantAbsent(t, series, "uma_gpu_memory_total_bytes", "uma_gpu_memory_used_bytes", "uma_gpu_memory_free_bytes", "uma_gpu_memory_reserved_bytes",
		"uma_gpu_power", "uma_gpu_fan", "uma_gpu_temperature", "uma_gpu_ecc", "uma_gpu_remapped", "uma_gpu_clock_event", "uma_gpu_energy")
	wantSeries(t, series, map[string]float64{
		`uma_gpu_memory_held_bytes{uuid="GPU-spark"}`:                                96291 * mib,
		`uma_gpu_call_supported{call="nvmlDeviceGetMemoryInfo_v2",uuid="GPU-spark"}`: 0,
	})
}

func TestCountedEmptyListIsZeroAndAnUnreadOneIsNot(t *testing.T) {
	empty, _ := gpuPage(t, sparkWith(t, gb10().with(nvml.CallComputeProcesses, nvml.Value{}, nvml.Success).with(nvml.CallGraphicsProcesses, nvml.Value{}, nvml.NotSupported)))
	wantSeries(t, empty, map[string]float64{`uma_gpu_processes{uuid="GPU-spark"}`: 0, `uma_gpu_memory_held_bytes{uuid="GPU-spark"}`: 0})
	unread, outcome := gpuPage(t, sparkWith(t, gb10().with(nvml.CallComputeProcesses, nvml.Value{}, nvml.NoPermission)))
	if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), string(nvml.CallComputeProcesses)) {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantAbsent(t, unread, "uma_gpu_processes", "uma_gpu_memory_held_bytes", "uma_gpu_process_")
}

func TestListWithoutFiguresGivesNoSum(t *testing.T) {
	series, _ := gpuPage(t, sparkWith(t, gb10().with(nvml.CallComputeProcesses, nvml.Value{Processes: []nvml.Process{{PID: 6330}}}, nvml.Success)))
	wantSeries(t, series, map[string]float64{`uma_gpu_processes{uuid="GPU-spark"}`: 2})
	wantAbsent(t, series, "uma_gpu_memory_held_bytes", `uma_gpu_process_memory_bytes{cgroup="`+engineCgroup)
}

func TestOnlyTheLargestHoldersGetSeries(t *testing.T) {
	series, _ := page(t, gpuSpec(), spark(t), Options{ProcessLimit: 1})
	wantSeries(t, series, map[string]float64{
		`uma_gpu_process_memory_bytes{cgroup="` + engineCgroup + `",comm="VLLM::EngineCor",pid="6330",uuid="GPU-spark"}`: 96073 * mib,
		`uma_gpu_memory_held_bytes{uuid="GPU-spark"}`:                                                                    96291 * mib,
	})
	wantAbsent(t, series, `uma_gpu_process_memory_bytes{cgroup="/user.slice"`)
}

func TestListOfAnotherPIDNamespaceIsNotTrusted(t *testing.T) {
	host := spark(t)
	proc := sparkProc()
	proc["self/ns/pid"].Data = []byte("pid:[4026532841]")
	host.Proc = onDisk(t, proc)
	series, outcome := gpuPage(t, host)
	wantSeries(t, series, map[string]float64{
		`uma_gpu_process_list_trusted{uuid="GPU-spark"}`:                      0,
		`uma_collector_privilege{collector="gpu",needs="host_pid_namespace"}`: 0,
	})
	if unmet := outcome.Unmet(); len(unmet) != 1 || !strings.Contains(unmet[0].Fix, "pid") {
		t.Errorf("%+v", unmet)
	}
	host.ForeignGPU = true
	foreign, _ := gpuPage(t, host)
	wantAbsent(t, foreign, "uma_gpu_process_list_trusted", `uma_gpu_process_memory_bytes{cgroup="/`)
}

func TestMachineWithoutDriverIsAbsentAndOneWithABrokenDriverFails(t *testing.T) {
	for code, want := range map[nvml.Return]State{
		nvml.LibraryNotFound: Absent, nvml.DriverNotLoaded: Absent, nvml.NotBuilt: Absent,
		nvml.LibRMVersionMismatch: Failed, nvml.NoPermission: Failed, nvml.Unknown: Failed,
	} {
		series, outcome := gpuPage(t, sparkWith(t, driver{opens: code}))
		if outcome.State != want || !strings.Contains(outcome.Err.Error(), code.String()) {
			t.Errorf("%d: %s, %v", code, outcome.State, outcome.Err)
		}
		wantAbsent(t, series, "uma_gpu_")
	}
	if _, outcome := gpuPage(t, sparkWith(t, driver{})); outcome.State != Failed || !strings.Contains(outcome.Err.Error(), "lists no GPU") {
		t.Errorf("driver without a GPU: %s, %v", outcome.State, outcome.Err)
	}
}

func TestValuesBeforeAHangAreServedAndTheCollectorFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		defer close(release)
		hanging := everything()
		answer := hanging.answer
		hanging.answer = func(device int, call nvml.Call) (nvml.Value, nvml.Return) {
			if call == nvml.CallPower {
				<-release
			}
			return answer(device, call)
		}
		series, outcome := gpuPage(t, sparkWith(t, hanging))
		if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), string(nvml.CallPower)) {
			t.Errorf("%s: %v", outcome.State, outcome.Err)
		}
		wantSeries(t, series, map[string]float64{
			`uma_gpu_call_hung{call="nvmlDeviceGetPowerUsage",uuid="GPU-1"}`: 1,
			`uma_gpu_temperature_celsius{uuid="GPU-1"}`:                      52,
			`uma_gpu_memory_held_bytes{uuid="GPU-1"}`:                        4 * gib,
		})
		wantAbsent(t, series, "uma_gpu_power_watts", "uma_gpu_sm_clock_hertz")
	})
}

func TestDeviceWithoutUUIDGoesByItsIndex(t *testing.T) {
	series, _ := gpuPage(t, sparkWith(t, everything().with(nvml.CallUUID, nvml.Value{}, nvml.Unknown)))
	wantSeries(t, series, map[string]float64{`uma_gpu_temperature_celsius{uuid="gpu0"}`: 52})
}

func TestOfALostDeviceOnlyItsErrorsAreServed(t *testing.T) {
	series, outcome := gpuPage(t, sparkWith(t, everything().with(nvml.CallSMClock, nvml.Value{}, nvml.GPUIsLost)))
	if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), "fallen off the bus") {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{`uma_gpu_lost{uuid="GPU-1"}`: 1, `uma_gpu_xid_errors_total{uuid="GPU-1",xid="31"}`: 2})
	for name := range series {
		if strings.HasPrefix(name, "uma_gpu_") && !strings.HasPrefix(name, "uma_gpu_lost") && !strings.HasPrefix(name, "uma_gpu_xid_errors_total") {
			t.Errorf("%s is served", name)
		}
	}
}

func TestDeviceThatIsBackIsServedAndItsCountersGoOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lost, xid := false, nvml.Value{}
		working := everything()
		host := sparkWith(t, driver{count: 1, answer: func(device int, call nvml.Call) (nvml.Value, nvml.Return) {
			switch {
			case call == nvml.CallXIDErrors:
				return xid, nvml.Success
			case lost && device >= 0:
				return nvml.Value{}, nvml.GPUIsLost
			}
			return working.answer(device, call)
		}})
		gpuPage(t, host)
		lost, xid = true, nvml.Value{Numbers: map[string]uint64{"79": 1}}
		for range 2 { // the page that finds out, and the one after it
			series, outcome := gpuPage(t, host)
			if outcome.State != Failed {
				t.Errorf("%s: %v", outcome.State, outcome.Err)
			}
			wantSeries(t, series, map[string]float64{`uma_gpu_lost{uuid="GPU-1"}`: 1, `uma_gpu_xid_errors_total{uuid="GPU-1",xid="79"}`: 1})
			wantAbsent(t, series, "uma_gpu_temperature")
		}
		lost = false
		time.Sleep(time.Minute)
		series, outcome := gpuPage(t, host)
		if outcome.State != OK {
			t.Errorf("%s: %v", outcome.State, outcome.Err)
		}
		wantSeries(t, series, map[string]float64{
			`uma_gpu_lost{uuid="GPU-1"}`: 0, `uma_gpu_xid_errors_total{uuid="GPU-1",xid="79"}`: 1, `uma_gpu_temperature_celsius{uuid="GPU-1"}`: 52,
		})
	})
}
