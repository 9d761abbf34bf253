//go:build cgo

package nvml

import (
	"encoding/binary"

	"github.com/NVIDIA/go-nvml/pkg/nvml"
)

// deviceFunctions holds the library call of each row of the table, except events, which need the library.
func deviceFunctions() map[Call]func(nvml.Device) (Value, nvml.Return) {
	return map[Call]func(nvml.Device) (Value, nvml.Return){
		CallUUID:               text(nvml.Device.GetUUID),
		CallName:               text(nvml.Device.GetName),
		CallPCIInfo:            busID,
		CallVBIOS:              text(nvml.Device.GetVbiosVersion),
		CallAddressingMode:     addressingMode,
		CallNUMANode:           number(nvml.Device.GetNumaNodeId),
		CallC2CMode:            c2cMode,
		CallMIGMode:            migMode,
		CallComputeProcesses:   processes(nvml.Device.GetComputeRunningProcesses),
		CallGraphicsProcesses:  processes(nvml.Device.GetGraphicsRunningProcesses),
		CallMPSProcesses:       processes(nvml.Device.GetMPSComputeRunningProcesses),
		CallMemory:             memory,
		CallTemperature:        numberOf(nvml.Device.GetTemperature, nvml.TEMPERATURE_GPU),
		CallPower:              number(nvml.Device.GetPowerUsage),
		CallUtilization:        utilization,
		CallSMClock:            numberOf(nvml.Device.GetClockInfo, nvml.CLOCK_SM),
		CallClockEvents:        number(nvml.Device.GetCurrentClocksEventReasons),
		CallClockThrottles:     number(nvml.Device.GetCurrentClocksThrottleReasons),
		CallSupportedEvents:    number(nvml.Device.GetSupportedClocksEventReasons),
		CallSupportedThrottles: number(nvml.Device.GetSupportedClocksThrottleReasons),
		CallFields:             fields(valueFields()),
		CallLimitFields:        fields(limitFields()),
		CallEnergy:             number(nvml.Device.GetTotalEnergyConsumption),
		CallPerformanceState:   number(nvml.Device.GetPerformanceState),
		CallMemoryClock:        numberOf(nvml.Device.GetClockInfo, nvml.CLOCK_MEM),
		CallPowerLimit:         number(nvml.Device.GetEnforcedPowerLimit),
		CallMargin:             margin,
		CallThresholdShutdown:  numberOf(nvml.Device.GetTemperatureThreshold, nvml.TEMPERATURE_THRESHOLD_SHUTDOWN),
		CallThresholdSlowdown:  numberOf(nvml.Device.GetTemperatureThreshold, nvml.TEMPERATURE_THRESHOLD_SLOWDOWN),
		CallThresholdOperating: numberOf(nvml.Device.GetTemperatureThreshold, nvml.TEMPERATURE_THRESHOLD_GPU_MAX),
		CallEncoder:            sampled(nvml.Device.GetEncoderUtilization),
		CallDecoder:            sampled(nvml.Device.GetDecoderUtilization),
		CallFan:                number(nvml.Device.GetFanSpeed),
		CallSMClockMax:         numberOf(nvml.Device.GetMaxClockInfo, nvml.CLOCK_SM),
		CallMIGDevices:         eachInstance(describeInstance),
		CallMIGProcesses:       eachInstance(listInstance),
		CallLinkFields:         linkFields,
		CallPCIeGeneration:     number(nvml.Device.GetCurrPcieLinkGeneration),
		CallPCIeLanes:          number(nvml.Device.GetCurrPcieLinkWidth),
		CallPCIeGenerationMax:  number(nvml.Device.GetMaxPcieLinkGeneration),
		CallPCIeLanesMax:       number(nvml.Device.GetMaxPcieLinkWidth),
		CallPCIeTransmit:       numberOf(nvml.Device.GetPcieThroughput, nvml.PCIE_UTIL_TX_BYTES),
		CallPCIeReceive:        numberOf(nvml.Device.GetPcieThroughput, nvml.PCIE_UTIL_RX_BYTES),
	}
}

func text(get func(nvml.Device) (string, nvml.Return)) func(nvml.Device) (Value, nvml.Return) {
	return func(d nvml.Device) (Value, nvml.Return) {
		text, code := get(d)
		return Value{Text: text}, code
	}
}

type integer interface {
	~int | ~int32 | ~uint32 | ~uint64
}

func number[N integer](get func(nvml.Device) (N, nvml.Return)) func(nvml.Device) (Value, nvml.Return) {
	return func(d nvml.Device) (Value, nvml.Return) {
		n, code := get(d)
		return Value{Number: uint64(n)}, code
	}
}

func numberOf[A any, N integer](get func(nvml.Device, A) (N, nvml.Return), argument A) func(nvml.Device) (Value, nvml.Return) {
	return number(func(d nvml.Device) (N, nvml.Return) { return get(d, argument) })
}

// sampled drops the sample period that comes with encoder and decoder load.
func sampled(get func(nvml.Device) (uint32, uint32, nvml.Return)) func(nvml.Device) (Value, nvml.Return) {
	return number(func(d nvml.Device) (uint32, nvml.Return) {
		n, _, code := get(d)
		return n, code
	})
}

func busID(d nvml.Device) (Value, nvml.Return) {
	info, code := d.GetPciInfo()
	var id []byte
	for _, c := range info.BusId {
		if c == 0 {
			break
		}
		id = append(id, byte(c))
	}
	return Value{Text: string(id)}, code
}

func addressingMode(d nvml.Device) (Value, nvml.Return) {
	mode, code := d.GetAddressingMode()
	return Value{Number: uint64(mode.Value)}, code
}

func c2cMode(d nvml.Device) (Value, nvml.Return) {
	mode, code := d.GetC2cModeInfoV().V1()
	return Value{Number: uint64(mode.IsC2cEnabled)}, code
}

func migMode(d nvml.Device) (Value, nvml.Return) {
	mode, _, code := d.GetMigMode()
	return Value{Number: uint64(mode)}, code
}

func margin(d nvml.Device) (Value, nvml.Return) {
	m, code := d.GetMarginTemperature()
	return Value{Number: uint64(int64(m.MarginTemperature))}, code
}

func memory(d nvml.Device) (Value, nvml.Return) {
	m, code := d.GetMemoryInfo_v2()
	return Value{Numbers: map[string]uint64{"total": m.Total, "used": m.Used, "free": m.Free, "reserved": m.Reserved}}, code
}

func utilization(d nvml.Device) (Value, nvml.Return) {
	u, code := d.GetUtilizationRates()
	return Value{Numbers: map[string]uint64{"gpu": uint64(u.Gpu), "memory": uint64(u.Memory)}}, code
}

func processes(get func(nvml.Device) ([]nvml.ProcessInfo, nvml.Return)) func(nvml.Device) (Value, nvml.Return) {
	return func(d nvml.Device) (Value, nvml.Return) {
		infos, code := get(d)
		return Value{Processes: processList(infos)}, code
	}
}

func processList(infos []nvml.ProcessInfo) []Process {
	list := make([]Process, len(infos))
	for i := range infos {
		info := &infos[i]
		list[i] = Process{PID: info.Pid, UsedBytes: &info.UsedGpuMemory, GPUInstance: &info.GpuInstanceId, ComputeInstance: &info.ComputeInstanceId}
	}
	return knownProcesses(list)
}

type field struct {
	name string
	id   uint32
}

// valueFields are read in every pass, in one call.
func valueFields() []field {
	return []field{
		{"energy", nvml.FI_DEV_TOTAL_ENERGY_CONSUMPTION},
		{"sw_power_cap", nvml.FI_DEV_CLOCKS_EVENT_REASON_SW_POWER_CAP},
		{"sync_boost", nvml.FI_DEV_CLOCKS_EVENT_REASON_SYNC_BOOST},
		{"sw_thermal", nvml.FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN},
		{"hw_thermal", nvml.FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN},
		{"hw_power_brake", nvml.FI_DEV_CLOCKS_EVENT_REASON_HW_POWER_BRAKE_SLOWDOWN},
		{"ecc_corrected", nvml.FI_DEV_ECC_SBE_VOL_TOTAL},
		{"ecc_uncorrected", nvml.FI_DEV_ECC_DBE_VOL_TOTAL},
		{"remapped_correctable", nvml.FI_DEV_REMAPPED_COR},
		{"remapped_uncorrectable", nvml.FI_DEV_REMAPPED_UNC},
		{"remapped_pending", nvml.FI_DEV_REMAPPED_PENDING},
		{"remapped_failed", nvml.FI_DEV_REMAPPED_FAILURE},
	}
}

func limitFields() []field {
	return []field{
		{limitShutdown, nvml.FI_DEV_TEMPERATURE_SHUTDOWN_TLIMIT},
		{limitSlowdown, nvml.FI_DEV_TEMPERATURE_SLOWDOWN_TLIMIT},
		{limitOperating, nvml.FI_DEV_TEMPERATURE_GPU_MAX_TLIMIT},
	}
}

func fields(list []field) func(nvml.Device) (Value, nvml.Return) {
	return func(d nvml.Device) (Value, nvml.Return) {
		request := make([]nvml.FieldValue, len(list))
		for i, f := range list {
			request[i].FieldId = f.id
		}
		if code := d.GetFieldValues(request); code != nvml.SUCCESS {
			return Value{}, code
		}
		v := Value{Numbers: map[string]uint64{}, Refused: map[string]Return{}}
		for i, f := range list {
			if n, code := fieldAnswer(request[i]); code == Success {
				v.Numbers[f.name] = n
			} else {
				v.Refused[f.name] = code
			}
		}
		return v, nvml.SUCCESS
	}
}

// fieldAnswer is the answer for one field.
func fieldAnswer(f nvml.FieldValue) (uint64, Return) {
	if code := Return(f.NvmlReturn); code != Success {
		return 0, code
	}
	n, numeric := fieldNumber(f)
	if !numeric {
		return 0, NotSupported
	}
	return n, Success
}

// fieldNumber decodes the union nvmlValue_t; false for the floating type, which none of the
// fields has.
func fieldNumber(f nvml.FieldValue) (uint64, bool) {
	switch nvml.ValueType(f.ValueType) {
	case nvml.VALUE_TYPE_UNSIGNED_INT:
		return uint64(binary.NativeEndian.Uint32(f.Value[:])), true
	case nvml.VALUE_TYPE_SIGNED_INT:
		return uint64(int64(int32(binary.NativeEndian.Uint32(f.Value[:])))), true
	case nvml.VALUE_TYPE_UNSIGNED_SHORT:
		return uint64(binary.NativeEndian.Uint16(f.Value[:])), true
	case nvml.VALUE_TYPE_UNSIGNED_LONG, nvml.VALUE_TYPE_UNSIGNED_LONG_LONG, nvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return binary.NativeEndian.Uint64(f.Value[:]), true
	}
	return 0, false
}
