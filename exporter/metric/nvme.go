package metric

import "slices"

const diskstats = "/proc/diskstats"

// NVMe namespaces by device, in node_exporter's words, and their controllers' temperatures.
var (
	NVMeReadBytesTotal = counter(Def{Name: "uma_nvme_read_bytes_total", Unit: Bytes, Telemetry: true,
		Help: "Bytes read from the device.", Source: diskstats + " sectors x 512", Labels: []Label{LabelDevice}})
	NVMeWrittenBytesTotal = counter(Def{Name: "uma_nvme_written_bytes_total", Unit: Bytes, Telemetry: true,
		Help: "Bytes written to the device.", Source: diskstats + " sectors x 512", Labels: []Label{LabelDevice}})
	NVMeDiscardedBytesTotal = counter(Def{Name: "uma_nvme_discarded_bytes_total", Unit: Bytes,
		Help: "Bytes discarded (trim).", Source: diskstats + " sectors x 512", Labels: []Label{LabelDevice}})
	NVMeReadsCompletedTotal = counter(Def{Name: "uma_nvme_reads_completed_total", Unit: Count, Telemetry: true,
		Help: "Reads completed.", Source: diskstats, Labels: []Label{LabelDevice}})
	NVMeWritesCompletedTotal = counter(Def{Name: "uma_nvme_writes_completed_total", Unit: Count, Telemetry: true,
		Help: "Writes completed.", Source: diskstats, Labels: []Label{LabelDevice}})
	NVMeDiscardsCompletedTotal = counter(Def{Name: "uma_nvme_discards_completed_total", Unit: Count,
		Help: "Discards completed.", Source: diskstats, Labels: []Label{LabelDevice}})
	NVMeReadTimeSecondsTotal = counter(Def{Name: "uma_nvme_read_time_seconds_total", Unit: Seconds, Telemetry: true,
		Help: "Time spent by all reads, queueing included; several at once count several times.", Source: diskstats, Labels: []Label{LabelDevice}})
	NVMeWriteTimeSecondsTotal = counter(Def{Name: "uma_nvme_write_time_seconds_total", Unit: Seconds, Telemetry: true,
		Help: "Time spent by all writes, queueing included; several at once count several times.", Source: diskstats, Labels: []Label{LabelDevice}})
	NVMeDiscardTimeSecondsTotal = counter(Def{Name: "uma_nvme_discard_time_seconds_total", Unit: Seconds,
		Help: "Time spent by all discards.", Source: diskstats, Labels: []Label{LabelDevice}})
	NVMeFlushTimeSecondsTotal = counter(Def{Name: "uma_nvme_flush_time_seconds_total", Unit: Seconds,
		Help: "Time spent by all flush requests.", Source: diskstats, Labels: []Label{LabelDevice}})
	NVMeFlushRequestsTotal = counter(Def{Name: "uma_nvme_flush_requests_total", Unit: Count,
		Help: "Flush requests completed.", Source: diskstats, Labels: []Label{LabelDevice}})
	NVMeIOTimeSecondsTotal = counter(Def{Name: "uma_nvme_io_time_seconds_total", Unit: Seconds, Telemetry: true,
		Help: "Time with at least one request in flight. On NVMe this is not saturation.", Source: diskstats, Labels: []Label{LabelDevice}})
	NVMeIOTimeWeightedSecondsTotal = counter(Def{Name: "uma_nvme_io_time_weighted_seconds_total", Unit: Seconds,
		Help: "Time in flight summed over requests; its rate is the mean queue length.", Source: diskstats, Labels: []Label{LabelDevice}})
	NVMeIONow = gauge(Def{Name: "uma_nvme_io_now", Unit: Count,
		Help: "Requests in flight.", Source: diskstats, Labels: []Label{LabelDevice}})
	NVMeCapacityBytes = gauge(Def{Name: "uma_nvme_capacity_bytes", Unit: Bytes,
		Help: "Size of the namespace.", Source: "/sys/class/block/*/size x 512", Labels: []Label{LabelDevice}})
	NVMeTemperatureCelsius = gauge(Def{Name: "uma_nvme_temperature_celsius", Unit: Celsius, Telemetry: true, Sum: SumNever(),
		Help:   "Temperature of the controller, up to half a minute old; sensor composite is the one that the limits refer to.",
		Source: "hwmon of the controller, temp*_input; without one the health log, where it is read", Labels: []Label{LabelController, LabelSensor}})
	NVMeTemperatureWarningCelsius = gauge(Def{Name: "uma_nvme_temperature_warning_celsius", Unit: Celsius, Sum: SumNever(),
		Help:   "Temperature above which the controller warns, where it names one.",
		Source: "hwmon of the controller, temp*_max", Labels: []Label{LabelController, LabelSensor}})
	NVMeTemperatureCriticalCelsius = gauge(Def{Name: "uma_nvme_temperature_critical_celsius", Unit: Celsius, Sum: SumNever(),
		Help:   "Temperature at which the controller protects itself, where it names one.",
		Source: "hwmon of the controller, temp*_crit", Labels: []Label{LabelController, LabelSensor}})
	NVMeInfo = gauge(Def{Name: "uma_nvme_info", Unit: Info, Telemetry: true, Sum: SumNever(),
		Help:   "Which controller serves a device, its model and firmware.",
		Source: "/sys/class/nvme", Labels: []Label{LabelDevice, LabelController, LabelModel, LabelFirmware}})
)

func nvmeDefs() []Definer {
	return slices.Concat([]Definer{
		NVMeReadBytesTotal, NVMeWrittenBytesTotal, NVMeDiscardedBytesTotal, NVMeReadsCompletedTotal,
		NVMeWritesCompletedTotal, NVMeDiscardsCompletedTotal, NVMeReadTimeSecondsTotal,
		NVMeWriteTimeSecondsTotal, NVMeDiscardTimeSecondsTotal, NVMeFlushTimeSecondsTotal,
		NVMeFlushRequestsTotal, NVMeIOTimeSecondsTotal, NVMeIOTimeWeightedSecondsTotal, NVMeIONow,
		NVMeCapacityBytes, NVMeTemperatureCelsius, NVMeTemperatureWarningCelsius,
		NVMeTemperatureCriticalCelsius, NVMeInfo,
	}, nvmeSMARTDefs())
}
