package metric

import "slices"

// GPUs, by uuid. Absent is not supported or not readable, as uma_gpu_call_supported shows; it is never 0.
var (
	GPUInfo = gauge(Def{Name: "uma_gpu_info", Unit: Info, Telemetry: true, Sum: SumNever(),
		Help:   "Identity of a GPU and where its memory is: integrated (in the pool), coherent or discrete.",
		Source: "NVML", Labels: []Label{LabelUUID, LabelGPU, LabelName, LabelDriver, LabelCUDAVersion, LabelVBIOS, LabelPCIBusID, LabelArchitecture}})
	GPUTemperatureCelsius = gauge(Def{Name: "uma_gpu_temperature_celsius", Unit: Celsius, Telemetry: true, Sum: SumNever(),
		Help: "Temperature of the GPU die.", Source: "nvmlDeviceGetTemperature", Labels: []Label{LabelUUID}})
	GPUTemperatureMarginCelsius = gauge(Def{Name: "uma_gpu_temperature_margin_celsius", Unit: Celsius, Telemetry: true, Sum: SumNever(),
		Help: "Degrees left below a limit of the device; negative when the limit is passed.", Source: "nvmlDeviceGetMarginTemperature every 10 s and limits on its scale by nvmlDeviceGetFieldValues, else nvmlDeviceGetTemperatureThreshold", Labels: []Label{LabelUUID, LabelLimit}})
	GPUPowerWatts = gauge(Def{Name: "uma_gpu_power_watts", Unit: Watts, Telemetry: true,
		Help: "Power draw.", Source: "nvmlDeviceGetPowerUsage", Labels: []Label{LabelUUID}})
	GPUPowerLimitWatts = gauge(Def{Name: "uma_gpu_power_limit_watts", Unit: Watts, Telemetry: true,
		Help: "Power limit in force.", Source: "nvmlDeviceGetEnforcedPowerLimit", Labels: []Label{LabelUUID}})
	GPUEnergyJoulesTotal = counter(Def{Name: "uma_gpu_energy_joules_total", Unit: Joules, Telemetry: true,
		Help: "Energy used since the driver was loaded.", Source: "nvmlDeviceGetFieldValues, else nvmlDeviceGetTotalEnergyConsumption", Labels: []Label{LabelUUID}})
	GPUUtilizationRatio = gauge(Def{Name: "uma_gpu_utilization_ratio", Unit: Ratio, Telemetry: true, Sum: SumNever(),
		Help: "Share of the driver's last sample period in which a kernel ran, however little of the GPU it used.", Source: "nvmlDeviceGetUtilizationRates", Labels: []Label{LabelUUID}})
	GPUMemoryUtilizationRatio = gauge(Def{Name: "uma_gpu_memory_utilization_ratio", Unit: Ratio, Sum: SumNever(),
		Help: "Share of the driver's last sample period in which device memory was read or written: traffic, not fill level. Absent on integrated GPUs, where the driver answers 0 whatever happens.", Source: "nvmlDeviceGetUtilizationRates", Labels: []Label{LabelUUID}})
	GPUEncoderUtilizationRatio = gauge(Def{Name: "uma_gpu_encoder_utilization_ratio", Unit: Ratio, Sum: SumNever(),
		Help: "Load of the video encoder.", Source: "nvmlDeviceGetEncoderUtilization", Labels: []Label{LabelUUID}})
	GPUDecoderUtilizationRatio = gauge(Def{Name: "uma_gpu_decoder_utilization_ratio", Unit: Ratio, Sum: SumNever(),
		Help: "Load of the video decoder.", Source: "nvmlDeviceGetDecoderUtilization", Labels: []Label{LabelUUID}})
	GPUFanRatio = gauge(Def{Name: "uma_gpu_fan_ratio", Unit: Ratio, Sum: SumNever(),
		Help: "Fan speed asked for, as a share of the maximum.", Source: "nvmlDeviceGetFanSpeed", Labels: []Label{LabelUUID}})
	GPUSMClockHertz = gauge(Def{Name: "uma_gpu_sm_clock_hertz", Unit: Hertz, Telemetry: true, Sum: SumNever(),
		Help: "Clock of the multiprocessors.", Source: "nvmlDeviceGetClockInfo SM", Labels: []Label{LabelUUID}})
	GPUSMClockMaxHertz = gauge(Def{Name: "uma_gpu_sm_clock_max_hertz", Unit: Hertz, Telemetry: true, Sum: SumNever(),
		Help: "Highest clock of the multiprocessors.", Source: "nvmlDeviceGetMaxClockInfo SM", Labels: []Label{LabelUUID}})
	GPUMemoryClockHertz = gauge(Def{Name: "uma_gpu_memory_clock_hertz", Unit: Hertz, Sum: SumNever(),
		Help: "Clock of the device memory.", Source: "nvmlDeviceGetClockInfo MEM", Labels: []Label{LabelUUID}})
	GPUPerformanceState = gauge(Def{Name: "uma_gpu_performance_state", Unit: Index, Telemetry: true, Sum: SumNever(),
		Help: "Performance state: 0 is the fastest, 15 the slowest; absent when the driver does not report it.", Source: "nvmlDeviceGetPerformanceState", Labels: []Label{LabelUUID}})
	GPUClockEventActive = gauge(Def{Name: "uma_gpu_clock_event_active", Unit: State, Sum: SumNever(),
		Help: "Whether the driver gives this reason for the present clock. Reads 0 at times while uma_gpu_clock_event_seconds_total climbs: alert on that. Of a device that does not list its reasons, those that it has given or whose time it counts.", Source: "nvmlDeviceGetCurrentClocksEventReasons", Labels: []Label{LabelUUID, LabelReason}})
	GPUClockEventSecondsTotal = counter(Def{Name: "uma_gpu_clock_event_seconds_total", Unit: Seconds, Telemetry: true, Sum: SumKeeping(LabelReason),
		Help: "Time that the clock was held down for this reason. Software power capping under load is normal on GB10.", Source: "nvmlDeviceGetFieldValues", Labels: []Label{LabelUUID, LabelReason}})
	GPUMemoryTotalBytes = gauge(Def{Name: "uma_gpu_memory_total_bytes", Unit: Bytes,
		Help: "Memory of the device itself. Absent where it has none of its own.", Source: "nvmlDeviceGetMemoryInfo_v2", Labels: []Label{LabelUUID}})
	GPUMemoryUsedBytes = gauge(Def{Name: "uma_gpu_memory_used_bytes", Unit: Bytes, Telemetry: true,
		Help: "Device memory in use, the driver's reserve not counted. Absent where the device has no memory of its own.", Source: "nvmlDeviceGetMemoryInfo_v2", Labels: []Label{LabelUUID}})
	GPUMemoryFreeBytes = gauge(Def{Name: "uma_gpu_memory_free_bytes", Unit: Bytes, Telemetry: true,
		Help: "Device memory not in use. Absent where the device has no memory of its own.", Source: "nvmlDeviceGetMemoryInfo_v2", Labels: []Label{LabelUUID}})
	GPUMemoryReservedBytes = gauge(Def{Name: "uma_gpu_memory_reserved_bytes", Unit: Bytes,
		Help: "Device memory that driver and firmware keep for themselves.", Source: "nvmlDeviceGetMemoryInfo_v2", Labels: []Label{LabelUUID}})
	GPUMemoryHeldBytes = gauge(Def{Name: "uma_gpu_memory_held_bytes", Unit: Bytes, Telemetry: true,
		Help: "GPU memory held by processes, summed over them; the only per-GPU figure where the device has no memory of its own. Charged to no cgroup.", Source: "nvmlDeviceGet{Compute,Graphics,MPSCompute}RunningProcesses", Labels: []Label{LabelUUID}})
	GPUProcesses = gauge(Def{Name: "uma_gpu_processes", Unit: Count, Telemetry: true,
		Help: "Processes that the driver lists on the GPU; see uma_gpu_process_list_trusted before reading a 0 as idle.", Source: "nvmlDeviceGet{Compute,Graphics,MPSCompute}RunningProcesses", Labels: []Label{LabelUUID}})
	GPUProcessMemoryBytes = gauge(Def{Name: "uma_gpu_process_memory_bytes", Unit: Bytes, Telemetry: true,
		Help: "GPU memory held by one process: allocated, not touched. The largest holders only.", Source: "nvmlDeviceGet{Compute,Graphics,MPSCompute}RunningProcesses, /proc/<pid>/cgroup", Labels: []Label{LabelUUID, LabelPID, LabelComm, LabelCgroup}})
	GPUProcessListTrusted = gauge(Def{Name: "uma_gpu_process_list_trusted", Unit: State, Sum: SumNever(),
		Help: "Whether the process list is that of the whole host: outside the host's PID namespace the driver silently drops processes, and an empty list means nothing.", Source: "/proc, PID namespace", Labels: []Label{LabelUUID}})
	GPUECCErrorsTotal = counter(Def{Name: "uma_gpu_ecc_errors_total", Unit: Count,
		Help: "Memory errors since the driver was loaded.", Source: "nvmlDeviceGetFieldValues, volatile ECC totals", Labels: []Label{LabelUUID, LabelKind}})
	GPURemappedRows = gauge(Def{Name: "uma_gpu_remapped_rows", Unit: Count, Sum: SumKeeping(LabelKind),
		Help: "Rows of device memory replaced by spares (correctable, uncorrectable), and whether a replacement is pending or failed.", Source: "nvmlDeviceGetFieldValues", Labels: []Label{LabelUUID, LabelKind}})
	GPUCallSupported = gauge(Def{Name: "uma_gpu_call_supported", Unit: State, Sum: SumNever(),
		Help: "Whether a driver call works on this device; its series are absent where it does not.", Source: "NVML return codes", Labels: []Label{LabelUUID, LabelCall}})
	GPUCallHung = gauge(Def{Name: "uma_gpu_call_hung", Unit: State, Sum: SumNever(),
		Help: "1 while a driver call of this device has not returned; the device is not asked again until it does. Absent for calls that return.", Source: "exporter", Labels: []Label{LabelUUID, LabelCall}})
)

func gpuDefs() []Definer {
	return slices.Concat([]Definer{
		GPUInfo, GPUTemperatureCelsius, GPUTemperatureMarginCelsius, GPUPowerWatts, GPUPowerLimitWatts,
		GPUEnergyJoulesTotal, GPUUtilizationRatio, GPUMemoryUtilizationRatio, GPUEncoderUtilizationRatio,
		GPUDecoderUtilizationRatio, GPUFanRatio, GPUSMClockHertz, GPUSMClockMaxHertz, GPUMemoryClockHertz,
		GPUPerformanceState, GPUClockEventActive, GPUClockEventSecondsTotal, GPUMemoryTotalBytes,
		GPUMemoryUsedBytes, GPUMemoryFreeBytes, GPUMemoryReservedBytes, GPUMemoryHeldBytes, GPUProcesses,
		GPUProcessMemoryBytes, GPUProcessListTrusted, GPUECCErrorsTotal, GPURemappedRows,
		GPUCallSupported, GPUCallHung,
	}, gpuXIDDefs(), gpuLinkDefs(), gpuMIGDefs())
}
