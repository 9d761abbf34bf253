package nvml

import (
	"reflect"
	"strconv"
	"strings"
	"testing"
)

// recorded returns the only device of a recording that has these answers.
func recorded(t *testing.T, lines ...string) Device {
	t.Helper()
	text := headLine + initLine + `{"device":-1,"call":"nvmlDeviceGetCount_v2","return":0,"value":{"number":1}}` + "\n" +
		`{"device":0,"call":"nvmlDeviceGetUUID","return":0,"value":{"text":"GPU-1"}}` + "\n" + strings.Join(lines, "\n") + "\n"
	driver, err := Replay(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	reader := NewReader(driver, ReaderOptions{})
	defer reader.Close()
	return snapshot(t, reader).Devices[0]
}

func answerLine(call Call, value string) string {
	return `{"device":0,"call":"` + string(call) + `","return":0,"value":{` + value + `}}`
}

func TestNumbersOfAllOnesInARecordingAreAbsent(t *testing.T) {
	const int32s, int64s = "4294967295", "18446744073709551615"
	d := recorded(t,
		answerLine(CallTemperature, `"number":`+int32s), answerLine(CallPower, `"number":`+int32s), answerLine(CallPowerLimit, `"number":`+int64s),
		answerLine(CallFan, `"number":`+int32s), answerLine(CallSMClock, `"number":`+int32s), answerLine(CallMemoryClock, `"number":`+int64s),
		answerLine(CallEncoder, `"number":`+int32s), answerLine(CallMIGMode, `"number":`+int32s), answerLine(CallC2CMode, `"number":`+int32s),
		answerLine(CallNUMANode, `"number":`+int32s), answerLine(CallEnergy, `"number":`+int64s), answerLine(CallClockEvents, `"number":`+int64s),
		answerLine(CallUtilization, `"numbers":{"gpu":`+int32s+`,"memory":7}`),
		answerLine(CallMemory, `"numbers":{"total":128,"used":`+int64s+`,"free":`+int64s+`,"reserved":4294967295}`),
		answerLine(CallFields, `"numbers":{"energy":`+int64s+`,"ecc_corrected":`+int64s+`,"sw_power_cap":1000000000}`),
		answerLine(CallThresholdShutdown, `"number":`+int32s), answerLine(CallPCIeLanes, `"number":`+int32s),
		answerLine(CallComputeProcesses, `"processes":[{"pid":7,"used_bytes":`+int64s+`,"gpu_instance":`+int32s+`,"compute_instance":`+int32s+`},{"pid":8,"used_bytes":4294967295}]`),
		answerLine(CallGraphicsProcesses, `"processes":[]`), answerLine(CallMPSProcesses, `"processes":[]`),
	)
	for name, got := range map[string]*float64{
		"temperature": d.TemperatureCelsius, "power": d.PowerWatts, "limit": d.PowerLimitWatts, "fan": d.FanRatio, "clock": d.SMClockHertz,
		"memory clock": d.MemoryClockHertz, "encoder": d.EncoderRatio, "energy": d.EnergyJoules, "utilisation": d.UtilizationRatio,
		"used": d.MemoryUsedBytes, "free": d.MemoryFreeBytes, "lanes": d.PCIeLanes,
	} {
		if got != nil {
			t.Errorf("%s is %v", name, *got)
		}
	}
	if d.NUMANode != nil || d.MIGEnabled != nil || d.ClockEventActive != nil || len(d.ECCErrors) > 0 || len(d.TemperatureMargins) > 0 {
		t.Errorf("node %v, partitioned %v, clock events %v, errors %v, margins %v", d.NUMANode, d.MIGEnabled, d.ClockEventActive, d.ECCErrors, d.TemperatureMargins)
	}
	// The same number is a value where the quantity is wider, and its neighbours are values.
	if *d.MemoryTotalBytes != 128 || *d.MemoryReservedBytes != 4294967295 || *d.MemoryUtilizationRatio != 0.07 || d.ClockEventSeconds["sw_power_cap"] != 1 {
		t.Errorf("%+v", d)
	}
	if want := []Process{{PID: 7}, {PID: 8, UsedBytes: new(uint64(4294967295))}}; !reflect.DeepEqual(d.Processes, want) {
		t.Errorf("processes %+v", d.Processes)
	}
	if d.HeldKnown() {
		t.Error("the sum over a process without a figure is known")
	}
}

func TestAllOnesIsAValueWhereAQuantityCanBeNegative(t *testing.T) {
	d := recorded(t, answerLine(CallMargin, `"number":18446744073709551615`), answerLine(CallLimitFields, `"numbers":{"slowdown":18446744073709551614,"shutdown":18446744073709551611}`))
	if want := map[string]float64{"operating": -1, "slowdown": 1, "shutdown": 4}; !reflect.DeepEqual(d.TemperatureMargins, want) {
		t.Errorf("margins %v, want %v", d.TemperatureMargins, want)
	}
}

func TestInstancesAndLinksWithoutAValueHaveNone(t *testing.T) {
	d := recorded(t, answerLine(CallMIGMode, `"number":1`),
		answerLine(CallMIGDevices, `"instances":[{"uuid":"MIG-1","gpu_instance":1,"compute_instance":0,"total_bytes":5,"used_bytes":18446744073709551615}]`),
		answerLine(CallMIGProcesses, `"instances":[{"uuid":"MIG-1","gpu_instance":1,"compute_instance":0,"processes_read":true,"processes":[{"pid":3,"used_bytes":18446744073709551615}]}]`),
		answerLine(CallLinkFields, `"numbers":{"pcie_replays":4294967295,"nvlinks":1},"links":[{"link":0,"errors":{"crc":18446744073709551615,"replay":2}}]`))
	one := d.Instances[0]
	if *one.TotalBytes != 5 || one.UsedBytes != nil || one.Processes[0].UsedBytes != nil || d.PCIeReplays != nil || !reflect.DeepEqual(d.NVLinks[0].Errors, map[string]uint64{"replay": 2}) {
		t.Errorf("%+v, replays %v, links %v", one, d.PCIeReplays, d.NVLinks)
	}
}

// FuzzNoNumberOfAllOnes gives each call each number: what is left is below all ones.
func FuzzNoNumberOfAllOnes(f *testing.F) {
	f.Add(uint64(0), uint16(0))
	f.Add(uint64(allOnes32), uint16(9))
	f.Add(uint64(allOnes64), uint16(21))
	f.Fuzz(func(t *testing.T, number uint64, which uint16) {
		table := newTable(true)
		calls := table.passed()
		call := calls[int(which)%len(calls)]
		given := Value{Number: number, Numbers: map[string]uint64{"one": number, "two": 1}, Processes: []Process{{PID: 1, UsedBytes: &number}}}
		got, known := call.withoutAllOnes(given)
		if known != (call.none == 0 || number < call.none) {
			t.Errorf("%s: %s is known: %v", call.call, strconv.FormatUint(number, 10), known)
		}
		if len(given.Numbers) != 2 || given.Processes[0].UsedBytes == nil {
			t.Errorf("%s: the given value was changed", call.call)
		}
		if known && (got.Processes[0].UsedBytes == nil) != (number == allOnes64) {
			t.Errorf("%s: %v bytes of %d", call.call, got.Processes[0].UsedBytes, number)
		}
	})
}
