package nvml

import (
	"slices"
	"time"
)

// The calls. A suffix in capitals is the fixed argument of a call that has one.
const (
	CallInit          Call = "nvmlInit_v2"
	CallShutdown      Call = "nvmlShutdown"
	CallDeviceCount   Call = "nvmlDeviceGetCount_v2"
	CallDriverVersion Call = "nvmlSystemGetDriverVersion"
	CallCUDAVersion   Call = "nvmlSystemGetCudaDriverVersion_v2"

	CallUUID              Call = "nvmlDeviceGetUUID"
	CallName              Call = "nvmlDeviceGetName"
	CallPCIInfo           Call = "nvmlDeviceGetPciInfo"
	CallVBIOS             Call = "nvmlDeviceGetVbiosVersion"
	CallAddressingMode    Call = "nvmlDeviceGetAddressingMode"
	CallNUMANode          Call = "nvmlDeviceGetNumaNodeId"
	CallC2CMode           Call = "nvmlDeviceGetC2cModeInfoV"
	CallMIGMode           Call = "nvmlDeviceGetMigMode"
	CallComputeProcesses  Call = "nvmlDeviceGetComputeRunningProcesses"
	CallGraphicsProcesses Call = "nvmlDeviceGetGraphicsRunningProcesses"
	CallMPSProcesses      Call = "nvmlDeviceGetMPSComputeRunningProcesses"
	CallMemory            Call = "nvmlDeviceGetMemoryInfo_v2"

	CallTemperature        Call = "nvmlDeviceGetTemperature"
	CallPower              Call = "nvmlDeviceGetPowerUsage"
	CallUtilization        Call = "nvmlDeviceGetUtilizationRates"
	CallSMClock            Call = "nvmlDeviceGetClockInfo_SM"
	CallClockEvents        Call = "nvmlDeviceGetCurrentClocksEventReasons"
	CallClockThrottles     Call = "nvmlDeviceGetCurrentClocksThrottleReasons" // the name before driver 535
	CallFields             Call = "nvmlDeviceGetFieldValues"
	CallEnergy             Call = "nvmlDeviceGetTotalEnergyConsumption"
	CallPerformanceState   Call = "nvmlDeviceGetPerformanceState"
	CallMemoryClock        Call = "nvmlDeviceGetClockInfo_MEM"
	CallPowerLimit         Call = "nvmlDeviceGetEnforcedPowerLimit"
	CallEncoder            Call = "nvmlDeviceGetEncoderUtilization"
	CallDecoder            Call = "nvmlDeviceGetDecoderUtilization"
	CallFan                Call = "nvmlDeviceGetFanSpeed"
	CallMargin             Call = "nvmlDeviceGetMarginTemperature"
	CallSMClockMax         Call = "nvmlDeviceGetMaxClockInfo_SM"
	CallSupportedEvents    Call = "nvmlDeviceGetSupportedClocksEventReasons"
	CallSupportedThrottles Call = "nvmlDeviceGetSupportedClocksThrottleReasons"
	CallLimitFields        Call = "nvmlDeviceGetFieldValues_TLIMIT"
	CallThresholdShutdown  Call = "nvmlDeviceGetTemperatureThreshold_SHUTDOWN"
	CallThresholdSlowdown  Call = "nvmlDeviceGetTemperatureThreshold_SLOWDOWN"
	CallThresholdOperating Call = "nvmlDeviceGetTemperatureThreshold_GPU_MAX"

	// CallXIDErrors registers for XID events when it is first made; later calls return the counts without entering the
	// library, so that they work for a lost device, too.
	CallXIDErrors Call = "nvmlEventSetWait_XID"
	// CallMIGDevices and CallMIGProcesses read the parts of a partitioned GPU, with a few library calls for each.
	CallMIGDevices   Call = "nvmlDeviceGetMigDeviceHandleByIndex"
	CallMIGProcesses Call = "nvmlDeviceGetComputeRunningProcesses_MIG"

	CallLinkFields        Call = "nvmlDeviceGetFieldValues_LINKS"
	CallPCIeGeneration    Call = "nvmlDeviceGetCurrPcieLinkGeneration"
	CallPCIeGenerationMax Call = "nvmlDeviceGetMaxPcieLinkGeneration"
	CallPCIeLanes         Call = "nvmlDeviceGetCurrPcieLinkWidth"
	CallPCIeLanesMax      Call = "nvmlDeviceGetMaxPcieLinkWidth"
	CallPCIeTransmit      Call = "nvmlDeviceGetPcieThroughput_TX"
	CallPCIeReceive       Call = "nvmlDeviceGetPcieThroughput_RX"
)

// deviceCall is one row of the table of calls: the call, its interval, and where the answer goes.
type deviceCall struct {
	call Call
	// symbol must exist in the library before the call may be made: an unbound one ends the process. "" is the name of
	// the call.
	symbol string
	// more are the further symbols of a call that makes several library calls.
	more []string
	// once marks values that cannot change while the library is open.
	once bool
	// every is how long an answer stays valid, 0 for this pass only.
	every time.Duration
	// needless reports that the answer would repeat a value that was already read; nil is never.
	needless func(*reading) bool
	// apply puts a successful answer into the reading, converted to base units.
	apply func(*reading, Value)
	// none is the number of all ones by the type of the quantity: it and larger ones are no value. 0 is a quantity that
	// may be negative, or an answer without a number.
	none uint64
	// fields marks answers whose parts succeed or fail singly.
	fields bool
	// list marks the process lists, which count only all together.
	list bool
}

// marginAge is how long a temperature margin stays valid. It costs more than all temperatures, clocks and powers
// together, and moves no faster than heat does.
const marginAge = 10 * time.Second

// slowAge is the maximum age of values that change only when an administrator changes them, or that count faults.
const slowAge = 30 * time.Second

// vitalCalls are made first in every pass: the device's identity, the holders of its memory, and where that memory
// is. The memory ledger waits only for these. All take microseconds.
func vitalCalls() []deviceCall {
	return []deviceCall{
		{call: CallUUID, once: true, apply: func(d *reading, v Value) { d.UUID = v.Text }},
		{call: CallName, once: true, apply: func(d *reading, v Value) { d.Name = v.Text }},
		{call: CallPCIInfo, once: true, apply: func(d *reading, v Value) { d.PCIBusID = v.Text }},
		{call: CallAddressingMode, once: true, apply: applyAddressing},
		{call: CallNUMANode, none: allOnes32, once: true, apply: applyNUMANode},
		{call: CallC2CMode, none: allOnes32, once: true, apply: func(d *reading, v Value) { d.evidence.C2C = v.Number != 0 }},
		{call: CallMIGMode, none: allOnes32, every: slowAge, apply: applyMIGMode},
		{call: CallComputeProcesses, apply: applyProcesses, list: true},
		{call: CallGraphicsProcesses, apply: applyGraphicsProcesses, list: true},
		{call: CallMPSProcesses, apply: applyProcesses, list: true},
		{call: CallMemory, none: allOnes64, apply: applyMemory},
	}
}

// valueCalls follow, the most important first, so that a call that hangs costs least.
//
// Three of them take nearly all of the time (H200, driver 580, asked once a second): energy 3.4 ms and the times of
// clock events 1.2 ms, which one call for field values answers in 4.2 ms, and the margin, 0.9 ms. The driver answers
// all others from memory, in 0.15 ms together. The cost of the links and of the parts of a partitioned GPU has not been
// measured: the links are read rarely, and the parts only where there are some.
func valueCalls() []deviceCall {
	return []deviceCall{
		eventCall(),
		{call: CallTemperature, none: allOnes32, apply: func(d *reading, v Value) { d.TemperatureCelsius = times(v.Number, 1) }},
		{call: CallPower, none: allOnes32, apply: func(d *reading, v Value) { d.PowerWatts = over(v.Number, milli) }},
		{call: CallUtilization, none: allOnes32, apply: applyUtilization},
		{call: CallSMClock, none: allOnes32, symbol: "nvmlDeviceGetClockInfo", apply: func(d *reading, v Value) { d.SMClockHertz = times(v.Number, mega) }},
		{call: CallSupportedEvents, none: allOnes64, once: true, apply: applySupportedEvents},
		{call: CallSupportedThrottles, none: allOnes64, once: true, apply: applySupportedEvents, needless: knowsSupportedEvents},
		{call: CallClockEvents, none: allOnes64, apply: applyClockEvents},
		{call: CallClockThrottles, none: allOnes64, apply: applyClockEvents, needless: knowsClockEvents},
		{call: CallPerformanceState, none: allOnes32, apply: applyPerformanceState},
		{call: CallMemoryClock, none: allOnes32, symbol: "nvmlDeviceGetClockInfo", apply: func(d *reading, v Value) { d.MemoryClockHertz = times(v.Number, mega) }},
		{call: CallPowerLimit, none: allOnes32, apply: func(d *reading, v Value) { d.PowerLimitWatts = over(v.Number, milli) }},
		{call: CallMargin, apply: applyMargin, every: marginAge},
		{call: CallLimitFields, symbol: "nvmlDeviceGetFieldValues", once: true, apply: applyLimitFields, fields: true},
		{call: CallThresholdShutdown, none: allOnes32, symbol: "nvmlDeviceGetTemperatureThreshold", once: true, apply: applyThreshold(limitShutdown), needless: knowsMargin},
		{call: CallThresholdSlowdown, none: allOnes32, symbol: "nvmlDeviceGetTemperatureThreshold", once: true, apply: applyThreshold(limitSlowdown), needless: knowsMargin},
		{call: CallThresholdOperating, none: allOnes32, symbol: "nvmlDeviceGetTemperatureThreshold", once: true, apply: applyThreshold(limitOperating), needless: knowsMargin},
		{call: CallEncoder, none: allOnes32, apply: func(d *reading, v Value) { d.EncoderRatio = over(v.Number, percent) }},
		{call: CallDecoder, none: allOnes32, apply: func(d *reading, v Value) { d.DecoderRatio = over(v.Number, percent) }},
		{call: CallFan, none: allOnes32, apply: func(d *reading, v Value) { d.FanRatio = over(v.Number, percent) }},
		{call: CallVBIOS, once: true, apply: func(d *reading, v Value) { d.VBIOS = v.Text }},
		{call: CallSMClockMax, none: allOnes32, symbol: "nvmlDeviceGetMaxClockInfo", once: true, apply: func(d *reading, v Value) { d.SMClockMaxHertz = times(v.Number, mega) }},
		{call: CallMIGDevices, more: []string{"nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetUUID", "nvmlDeviceGetName",
			"nvmlDeviceGetGpuInstanceId", "nvmlDeviceGetComputeInstanceId", "nvmlDeviceGetMemoryInfo_v2"}, apply: applyInstances, needless: notPartitioned},
		{call: CallMIGProcesses, symbol: "nvmlDeviceGetMigDeviceHandleByIndex", more: []string{"nvmlDeviceGetMaxMigDeviceCount", "nvmlDeviceGetUUID",
			"nvmlDeviceGetComputeRunningProcesses"}, apply: applyInstanceProcesses, needless: knowsInstanceProcesses},
		{call: CallLinkFields, none: allOnes32, symbol: "nvmlDeviceGetFieldValues", every: slowAge, apply: applyLinkFields, fields: true, needless: hasNoLink},
		{call: CallPCIeGeneration, none: allOnes32, every: slowAge, apply: func(d *reading, v Value) { d.PCIeGeneration = times(v.Number, 1) }, needless: hasNoLink},
		{call: CallPCIeLanes, none: allOnes32, every: slowAge, apply: func(d *reading, v Value) { d.PCIeLanes = times(v.Number, 1) }, needless: hasNoLink},
		{call: CallPCIeGenerationMax, none: allOnes32, once: true, apply: func(d *reading, v Value) { d.PCIeGenerationMax = times(v.Number, 1) }, needless: hasNoLink},
		{call: CallPCIeLanesMax, none: allOnes32, once: true, apply: func(d *reading, v Value) { d.PCIeLanesMax = times(v.Number, 1) }, needless: hasNoLink},
	}
}

// costlyCalls are not made in a brief pass. The energy counter, which is one of the fields, takes three quarters of the driver's
// time of a pass.
func costlyCalls() []deviceCall {
	return []deviceCall{
		{call: CallFields, none: allOnes64, apply: applyFields, fields: true},
		{call: CallEnergy, none: allOnes64, apply: func(d *reading, v Value) { d.EnergyJoules = over(v.Number, milli) }, needless: knowsEnergy},
	}
}

// eventCall is the one call that works for a lost device.
func eventCall() deviceCall {
	return deviceCall{call: CallXIDErrors, symbol: "nvmlDeviceRegisterEvents",
		more:  []string{"nvmlEventSetCreate", "nvmlEventSetWait", "nvmlEventSetFree", "nvmlDeviceGetSupportedEventTypes"},
		apply: applyXIDErrors}
}

// trafficCalls come last, if enabled: for each of them the driver counts for 20 ms. The fields that count bytes
// without that cost (197 and 198) are no substitute, since nvml.h lets them wrap at any time.
func trafficCalls() []deviceCall {
	return []deviceCall{
		{call: CallPCIeTransmit, none: allOnes32, symbol: "nvmlDeviceGetPcieThroughput", apply: func(d *reading, v Value) { d.PCIeTransmitBytesPerSecond = times(v.Number, kilo) }, needless: hasNoLink},
		{call: CallPCIeReceive, none: allOnes32, symbol: "nvmlDeviceGetPcieThroughput", apply: func(d *reading, v Value) { d.PCIeReceiveBytesPerSecond = times(v.Number, kilo) }, needless: hasNoLink},
	}
}

// table is every call in calling order.
type table struct{ vital, values, costly, events []deviceCall }

func newTable(traffic bool) table {
	t := table{vitalCalls(), valueCalls(), costlyCalls(), []deviceCall{eventCall()}}
	if traffic {
		t.costly = append(t.costly, trafficCalls()...)
	}
	return t
}

// passed are the calls of a whole pass.
func (t table) passed() []deviceCall { return slices.Concat(t.vital, t.values, t.costly) }
