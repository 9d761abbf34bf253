package nvml

import (
	"maps"
	"reflect"
	"slices"
	"testing"
)

func TestAnswersAreConvertedToBaseUnits(t *testing.T) {
	f := newFake(1)
	for call, v := range map[Call]Value{
		CallPCIInfo:          {Text: "00000000:1B:00.0"},
		CallVBIOS:            {Text: "96.00"},
		CallTemperature:      {Number: 52},
		CallPower:            {Number: 10801},
		CallUtilization:      {Numbers: map[string]uint64{"gpu": 96, "memory": 7}},
		CallSMClock:          {Number: 2405},
		CallMemoryClock:      {Number: 3201},
		CallSMClockMax:       {Number: 3003},
		CallPowerLimit:       {Number: 700000},
		CallEncoder:          {Number: 5},
		CallDecoder:          {Number: 0},
		CallFan:              {Number: 30},
		CallPerformanceState: {Number: 8},
		CallFields:           {Numbers: map[string]uint64{"energy": 1234, "sw_power_cap": 10800240649000, "ecc_corrected": 3, "remapped_pending": 1}},
	} {
		f.set(0, call, v)
	}
	d := snapshot(t, NewReader(f, ReaderOptions{})).Devices[0]
	for name, c := range map[string]struct {
		got  *float64
		want float64
	}{
		"temperature": {d.TemperatureCelsius, 52}, "power": {d.PowerWatts, 10.801}, "limit": {d.PowerLimitWatts, 700},
		"energy": {d.EnergyJoules, 1.234}, "utilisation": {d.UtilizationRatio, 0.96}, "memory utilisation": {d.MemoryUtilizationRatio, 0.07},
		"encoder": {d.EncoderRatio, 0.05}, "decoder": {d.DecoderRatio, 0}, "fan": {d.FanRatio, 0.3},
		"clock": {d.SMClockHertz, 2.405e9}, "highest clock": {d.SMClockMaxHertz, 3.003e9}, "memory clock": {d.MemoryClockHertz, 3.201e9},
		"state": {d.PerformanceState, 8}, "total": {d.MemoryTotalBytes, 141 << 30}, "used": {d.MemoryUsedBytes, 1 << 30},
		"free": {d.MemoryFreeBytes, 140 << 30}, "reserved": {d.MemoryReservedBytes, 1 << 20},
		"capped":    {new(d.ClockEventSeconds["sw_power_cap"]), 10800.240649},
		"corrected": {new(d.ECCErrors["corrected"]), 3}, "pending": {new(d.RemappedRows["pending"]), 1},
	} {
		if c.got == nil || *c.got != c.want {
			t.Errorf("%s is %v, want %v", name, c.got, c.want)
		}
	}
	if d.PCIBusID != "00000000:1B:00.0" || d.VBIOS != "96.00" {
		t.Errorf("identity %+v", d)
	}
	if f.count(0, CallEnergy) != 0 {
		t.Error("energy is asked twice")
	}
}

func TestWhatADeviceLacksIsAbsentAndUnsupported(t *testing.T) {
	f := newFake(1)
	f.answers = map[question]answer{}
	d := snapshot(t, NewReader(f, ReaderOptions{})).Devices[0]
	v := reflect.ValueOf(d)
	for i := range v.NumField() {
		name := v.Type().Field(i).Name
		if slices.Contains([]string{"Index", "Architecture", "Supported"}, name) {
			continue
		}
		if !v.Field(i).IsZero() {
			t.Errorf("%s is %v", name, v.Field(i))
		}
	}
	for _, r := range allCalls() {
		if supported, judged := d.Supported[r.call]; supported || judged == slices.Contains(partitionCalls(), r.call) {
			t.Errorf("%s: supported %v, said %v", r.call, supported, judged)
		}
	}
}

// allCalls is the table without what has to be asked for.
func allCalls() []deviceCall {
	all := newTable(false)
	return all.passed()
}

// partitionCalls are made on partitioned GPUs only.
func partitionCalls() []Call { return []Call{CallMIGDevices, CallMIGProcesses} }

func TestFieldsSucceedSingly(t *testing.T) {
	f := newFake(1)
	f.set(0, CallFields, Value{Numbers: map[string]uint64{"sw_power_cap": 5e9},
		Refused: map[string]Return{"energy": NotSupported, "sync_boost": Unknown}})
	f.set(0, CallEnergy, Value{Number: 2000})
	s, err := NewReader(f, ReaderOptions{}).Read(t.Context()).Snapshot(t.Context())
	d := s.Devices[0]
	if err == nil || d.Errors[CallFields+"_sync_boost"] != Unknown {
		t.Errorf("a field that fails is left out without a word: %v, %v", err, d.Errors)
	}
	if !maps.Equal(d.ClockEventSeconds, map[string]float64{"sw_power_cap": 5}) || d.ECCErrors != nil || d.RemappedRows != nil {
		t.Errorf("%v %v %v", d.ClockEventSeconds, d.ECCErrors, d.RemappedRows)
	}
	if d.EnergyJoules == nil || *d.EnergyJoules != 2 {
		t.Error("energy is not asked by its own call where there is no field")
	}
	_, judged := d.Supported[CallFields+"_sync_boost"]
	if !d.Supported[CallFields+"_sw_power_cap"] || d.Supported[CallFields+"_energy"] || judged {
		t.Errorf("%v", d.Supported)
	}
}

func TestProcessInSeveralListsCountsOnceWithItsLargestValue(t *testing.T) {
	f := newFake(1)
	f.set(0, CallComputeProcesses, Value{Processes: []Process{{PID: 30, UsedBytes: new(uint64(100))}, {PID: 10}, {PID: 20, UsedBytes: new(uint64(7))}}})
	f.set(0, CallGraphicsProcesses, Value{Processes: []Process{{PID: 30, UsedBytes: new(uint64(250))}, {PID: 10, UsedBytes: new(uint64(1))}}})
	f.set(0, CallMPSProcesses, Value{Processes: []Process{{PID: 30, UsedBytes: new(uint64(200))}, {PID: 20}, {PID: 40}}})
	d := snapshot(t, NewReader(f, ReaderOptions{})).Devices[0]
	var pids []uint32
	for _, p := range d.Processes {
		pids = append(pids, p.PID)
		if want := p.PID == 10 || p.PID == 30; p.Graphics != want {
			t.Errorf("process %d is listed for graphics: %v", p.PID, p.Graphics)
		}
	}
	if !slices.Equal(pids, []uint32{10, 20, 30, 40}) || d.HeldBytes() != 258 || d.Processes[3].UsedBytes != nil {
		t.Errorf("%v, %d bytes", pids, d.HeldBytes())
	}
}

func TestEmptyListsAreReadAndUnreadableOnesAreNot(t *testing.T) {
	f := newFake(1)
	f.set(0, CallComputeProcesses, Value{})
	if d := snapshot(t, NewReader(f, ReaderOptions{})).Devices[0]; !d.ProcessesRead || len(d.Processes) != 0 {
		t.Errorf("%+v", d)
	}
	for _, code := range []Return{NoPermission, Unknown} {
		f.fail(0, CallGraphicsProcesses, Value{}, code)
		devices, err := NewReader(f, ReaderOptions{}).Read(t.Context()).Processes(t.Context())
		if err == nil || devices[0].ProcessesRead {
			t.Errorf("a list that fails with %d passes for read: %v", code, err)
		}
	}
}

func TestClockEventsAreStatesOfTheReasonsSupported(t *testing.T) {
	f := newFake(1)
	f.set(0, CallSupportedEvents, Value{Number: 0x1 | 0x4 | 0x20})
	f.set(0, CallClockEvents, Value{Number: 0x4 | 0x8})
	d := snapshot(t, NewReader(f, ReaderOptions{})).Devices[0]
	if want := (map[string]bool{"idle": false, "sw_power_cap": true, "sw_thermal": false}); !maps.Equal(d.ClockEventActive, want) {
		t.Errorf("%v", d.ClockEventActive)
	}
	if f.count(0, CallClockThrottles)+f.count(0, CallSupportedThrottles) != 0 {
		t.Error("the old names are asked too")
	}
	old := newFake(1)
	old.set(0, CallClockThrottles, Value{Number: 0x40})
	if d := snapshot(t, NewReader(old, ReaderOptions{})).Devices[0]; !maps.Equal(d.ClockEventActive, map[string]bool{"hw_thermal": true}) {
		t.Errorf("old driver: %v", d.ClockEventActive)
	}
}

func TestDeviceWithoutSupportedReasonsHasThoseItGaveOrCounts(t *testing.T) {
	f := newFake(1)
	f.set(0, CallClockEvents, Value{Number: 0x8})
	f.set(0, CallFields, Value{Numbers: map[string]uint64{"sw_power_cap": 1}})
	r := NewReader(f, ReaderOptions{})
	snapshot(t, r)
	f.set(0, CallClockEvents, Value{Number: 0})
	if d := snapshot(t, r).Devices[0]; !maps.Equal(d.ClockEventActive, map[string]bool{"hw_slowdown": false, "sw_power_cap": false}) {
		t.Errorf("%v", d.ClockEventActive)
	}
}

func TestMarginsComeFromTheDevicesScaleOrFromThresholds(t *testing.T) {
	minus := func(n int64) uint64 { return uint64(-n) }
	f := newFake(1)
	f.set(0, CallMargin, Value{Number: 50})
	f.set(0, CallLimitFields, Value{Numbers: map[string]uint64{"shutdown": minus(8), "slowdown": minus(2), "operating": 0}})
	f.set(0, CallThresholdShutdown, Value{Number: 90})
	d := snapshot(t, NewReader(f, ReaderOptions{})).Devices[0]
	if want := (map[string]float64{"operating": 50, "slowdown": 52, "shutdown": 58}); !maps.Equal(d.TemperatureMargins, want) {
		t.Errorf("%v", d.TemperatureMargins)
	}
	passed := newFake(1)
	passed.set(0, CallMargin, Value{Number: minus(3)})
	if d := snapshot(t, NewReader(passed, ReaderOptions{})).Devices[0]; d.TemperatureMargins["operating"] != -3 {
		t.Errorf("%v", d.TemperatureMargins)
	}
	old := newFake(1)
	old.set(0, CallThresholdShutdown, Value{Number: 90})
	old.set(0, CallThresholdSlowdown, Value{Number: 87})
	d = snapshot(t, NewReader(old, ReaderOptions{})).Devices[0]
	if want := (map[string]float64{"shutdown": 50, "slowdown": 47}); !maps.Equal(d.TemperatureMargins, want) {
		t.Errorf("%v", d.TemperatureMargins)
	}
}

func TestPlaceholdersOfTheDriverAreAbsent(t *testing.T) {
	f := newFake(1)
	f.set(0, CallPerformanceState, Value{Number: 32})
	f.set(0, CallNUMANode, Value{Number: 0xffffffff})
	f.set(0, CallName, Value{Text: "NVIDIA GB10"})
	f.fail(0, CallMemory, Value{}, NotSupported)
	f.set(0, CallUtilization, Value{Numbers: map[string]uint64{"gpu": 90, "memory": 0}})
	d := snapshot(t, NewReader(f, ReaderOptions{})).Devices[0]
	if d.Architecture != Integrated || d.PerformanceState != nil || d.MemoryUtilizationRatio != nil || *d.UtilizationRatio != 0.9 {
		t.Errorf("%+v", d)
	}
}
