package metric

import "slices"

// recordedSource is the source of recorded series.
const recordedSource = "recording rule"

// Labels of recorded series other than host.
var (
	perDrive    = []Label{LabelHost, LabelDevice}
	perGPU      = []Label{LabelHost, LabelUUID}
	perCell     = []Label{LabelHost, LabelArm, LabelScenario, LabelEngine, LabelModel, LabelMode}
	perRun      = append([]Label{LabelRun}, perCell...)
	perLiveCell = []Label{LabelHost, LabelArm, LabelScenario}
)

// Series that Prometheus records by rules of package alerts: expressions that several panels and alerts use, or that
// would cost too much to evaluate each time.
var (
	NVMeReadAwaitSeconds5m = gauge(Def{Name: "host_device:uma_nvme_read_await_seconds:rate5m", Unit: Seconds, Sum: SumNever(), Labels: perDrive,
		Help: "Mean time of a read, waiting included, over 5 minutes: r_await of iostat. Absent without reads.", Source: recordedSource})
	NVMeWriteAwaitSeconds5m = gauge(Def{Name: "host_device:uma_nvme_write_await_seconds:rate5m", Unit: Seconds, Sum: SumNever(), Labels: perDrive,
		Help: "Mean time of a write, waiting included, over 5 minutes: w_await of iostat. Absent without writes.", Source: recordedSource})
	NVMeOperationSeconds5m = gauge(Def{Name: "host_device:uma_nvme_operation_seconds:rate5m", Unit: Seconds, Sum: SumNever(), Labels: perDrive,
		Help: "Mean time of a read or write, waiting included, over 5 minutes. Absent without any.", Source: recordedSource})
	NVMeOperationsPerSecond5m = gauge(Def{Name: "host_device:uma_nvme_operations_per_second:rate5m", Unit: CountPerSecond, Labels: perDrive,
		Help: "Reads and writes completed, over 5 minutes.", Source: recordedSource})
	NVMeQueueLength5m = gauge(Def{Name: "host_device:uma_nvme_queue_length:rate5m", Unit: Count, Sum: SumNever(), Labels: perDrive,
		Help: "Mean number of requests in flight, over 5 minutes: aqu-sz of iostat.", Source: recordedSource})
	NVMeBusyRatio5m = gauge(Def{Name: "host_device:uma_nvme_busy_ratio:rate5m", Unit: Ratio, Sum: SumNever(), Labels: perDrive,
		Help: "Share of the last 5 minutes with a request in flight: %util of iostat. A drive that serves many at once is not full at 1.", Source: recordedSource})
	NVMeOperationSeconds7d = gauge(Def{Name: "host_device:uma_nvme_operation_seconds:median7d", Unit: Seconds, Sum: SumNever(), Labels: perDrive,
		Help: "Median over 7 days of the mean time of a read or write, of the times in which the drive had something to do. Absent until there are enough of them.", Source: recordedSource})
	GPUThermalThrottleRatio5m = gauge(Def{Name: "host_uuid:uma_gpu_thermal_throttle_ratio:rate5m", Unit: Ratio, Sum: SumNever(), Labels: perGPU,
		Help: "Share of the last 5 minutes in which heat held the clock down, by the reason that did so longest.", Source: recordedSource})
	GPUPowerCapRatio5m = gauge(Def{Name: "host_uuid:uma_gpu_power_cap_ratio:rate5m", Unit: Ratio, Sum: SumNever(), Labels: perGPU,
		Help: "Share of the last 5 minutes in which the software power cap held the clock down. Normal under load on GB10.", Source: recordedSource})
	RunPowerWattsMedian = gauge(Def{Name: "host_arm_scenario:uma_run_gpu_power_watts:median5", Unit: Watts, Sum: SumNever(), Labels: perLiveCell,
		Help: "Median power of the last 5 valid runs of a cell that were measured of what the exporter of the host shows now (a live machine, say); the least one where cells differ in engine or model only. Absent with fewer.", Source: recordedSource})
	RunCellInfo = gauge(Def{Name: "host_run_arm_scenario_engine_model_mode:uma_run_info:max", Unit: Info, Sum: SumNever(), Labels: perRun,
		Help: "A finished run with its cell, and what it was measured of: the mode is simulated if its engine or its machine was, else that of its telemetry; no mode without telemetry.", Source: recordedSource})
	RunValidStartTimestampSeconds = gauge(Def{Name: "host_run_arm_scenario_engine_model_mode:uma_run_start_timestamp_seconds:valid", Unit: Timestamp, Sum: SumNever(), Labels: perRun,
		Help: "When each valid finished run started, with its cell and mode.", Source: recordedSource})
	RunNewestInfo = gauge(Def{Name: "host_run_arm_scenario_engine_model_mode:uma_run_info:newest", Unit: Info, Sum: SumNever(), Labels: perRun,
		Help: "The newest valid run of each cell and mode.", Source: recordedSource})
	RunTemperatureCelsiusMedian = gauge(Def{Name: "host_arm_scenario_engine_model_mode:uma_run_gpu_temperature_celsius:median5", Unit: Celsius, Sum: SumNever(), Labels: perCell,
		Help: "Median of the highest temperatures of the last 5 valid runs of a cell and mode before its newest. Absent with fewer.", Source: recordedSource})
	RunKVCapacityTokensMedian = gauge(Def{Name: "host_arm_scenario_engine_model_mode:uma_run_kv_capacity_tokens:median5", Unit: Count, Sum: SumNever(), Labels: perCell,
		Help: "Median KV capacity of the last 5 valid runs of a cell and mode before its newest. Absent with fewer.", Source: recordedSource})
)

// Recorded lists the series that rules record.
func Recorded() []Definer {
	return slices.Concat([]Definer{
		NVMeReadAwaitSeconds5m, NVMeWriteAwaitSeconds5m, NVMeOperationSeconds5m, NVMeOperationsPerSecond5m,
		NVMeQueueLength5m, NVMeBusyRatio5m, NVMeOperationSeconds7d, GPUThermalThrottleRatio5m, GPUPowerCapRatio5m,
		RunCellInfo, RunValidStartTimestampSeconds, RunNewestInfo, RunPowerWattsMedian, RunTemperatureCelsiusMedian, RunKVCapacityTokensMedian,
	}, machineRecorded())
}
