package metric

const healthLog = "NVMe health log (page 02h)"

// The health log of an NVMe controller since its manufacture, with --collector.nvme.smart.
var (
	NVMeSMARTCriticalWarning = gauge(Def{Name: "uma_nvme_smart_critical_warning", Unit: State, Sum: SumNever(),
		Help:   "Whether the controller warns: spare blocks below the threshold (available_spare), temperature beyond a limit, reliability degraded, read_only, volatile_backup failed, persistent_memory_read_only.",
		Source: healthLog, Labels: []Label{LabelController, LabelKind}})
	NVMeSMARTUsedRatio = gauge(Def{Name: "uma_nvme_smart_percentage_used_ratio", Unit: Ratio, Sum: SumNever(),
		Help:   "The maker's estimate of the endurance used up. It may pass 1, up to 2.55, while the drive still works.",
		Source: healthLog, Labels: []Label{LabelController}})
	NVMeSMARTAvailableSpareRatio = gauge(Def{Name: "uma_nvme_smart_available_spare_ratio", Unit: Ratio, Sum: SumNever(),
		Help:   "Spare blocks that are left.",
		Source: healthLog, Labels: []Label{LabelController}})
	NVMeSMARTAvailableSpareThresholdRatio = gauge(Def{Name: "uma_nvme_smart_available_spare_threshold_ratio", Unit: Ratio, Sum: SumNever(),
		Help:   "Where the controller begins to warn of too few spare blocks.",
		Source: healthLog, Labels: []Label{LabelController}})
	NVMeSMARTDataReadBytesTotal = counter(Def{Name: "uma_nvme_smart_data_read_bytes_total", Unit: Bytes,
		Help:   "What hosts have read since the drive was made, rounded up to units of 512000 bytes.",
		Source: healthLog + ", data units x 512000", Labels: []Label{LabelController}})
	NVMeSMARTDataWrittenBytesTotal = counter(Def{Name: "uma_nvme_smart_data_written_bytes_total", Unit: Bytes,
		Help:   "What hosts have written since the drive was made, rounded up to units of 512000 bytes. The drive writes more to its cells.",
		Source: healthLog + ", data units x 512000", Labels: []Label{LabelController}})
	NVMeSMARTHostReadsTotal = counter(Def{Name: "uma_nvme_smart_host_reads_total", Unit: Count,
		Help: "Read commands of hosts.", Source: healthLog, Labels: []Label{LabelController}})
	NVMeSMARTHostWritesTotal = counter(Def{Name: "uma_nvme_smart_host_writes_total", Unit: Count,
		Help: "Write commands of hosts.", Source: healthLog, Labels: []Label{LabelController}})
	NVMeSMARTBusySecondsTotal = counter(Def{Name: "uma_nvme_smart_controller_busy_seconds_total", Unit: Seconds,
		Help: "Time with commands outstanding, in whole minutes.", Source: healthLog, Labels: []Label{LabelController}})
	NVMeSMARTPowerOnSecondsTotal = counter(Def{Name: "uma_nvme_smart_power_on_seconds_total", Unit: Seconds,
		Help: "Time under power, in whole hours; time in states of low power may be left out.", Source: healthLog, Labels: []Label{LabelController}})
	NVMeSMARTPowerCyclesTotal = counter(Def{Name: "uma_nvme_smart_power_cycles_total", Unit: Count,
		Help: "How often the drive was switched on.", Source: healthLog, Labels: []Label{LabelController}})
	NVMeSMARTUnsafeShutdownsTotal = counter(Def{Name: "uma_nvme_smart_unsafe_shutdowns_total", Unit: Count,
		Help:   "How often power went away without notice. A machine that switches itself off under load counts here.",
		Source: healthLog, Labels: []Label{LabelController}})
	NVMeSMARTMediaErrorsTotal = counter(Def{Name: "uma_nvme_smart_media_errors_total", Unit: Count,
		Help:   "How often data could not be recovered, or was found to be wrong.",
		Source: healthLog, Labels: []Label{LabelController}})
	NVMeSMARTErrorLogEntriesTotal = counter(Def{Name: "uma_nvme_smart_error_log_entries_total", Unit: Count,
		Help:   "Entries of the error log. Many drives make one for every command that they do not support, which is no fault.",
		Source: healthLog, Labels: []Label{LabelController}})
	NVMeSMARTWarningTemperatureSecondsTotal = counter(Def{Name: "uma_nvme_smart_warning_temperature_seconds_total", Unit: Seconds,
		Help:   "Time at or above the warning limit of temperature, in whole minutes.",
		Source: healthLog, Labels: []Label{LabelController}})
	NVMeSMARTCriticalTemperatureSecondsTotal = counter(Def{Name: "uma_nvme_smart_critical_temperature_seconds_total", Unit: Seconds,
		Help:   "Time at or above the critical limit of temperature, in whole minutes.",
		Source: healthLog, Labels: []Label{LabelController}})
	NVMeSMARTThermalTransitionsTotal = counter(Def{Name: "uma_nvme_smart_thermal_management_transitions_total", Unit: Count,
		Help:   "How often the drive began to slow down by its thermal management; level 1 is light, 2 heavy.",
		Source: healthLog, Labels: []Label{LabelController, LabelLevel}})
	NVMeSMARTThermalSecondsTotal = counter(Def{Name: "uma_nvme_smart_thermal_management_seconds_total", Unit: Seconds,
		Help:   "How long the drive was slowed down by its thermal management; level 1 is light, 2 heavy.",
		Source: healthLog, Labels: []Label{LabelController, LabelLevel}})
)

func nvmeSMARTDefs() []Definer {
	return []Definer{
		NVMeSMARTCriticalWarning, NVMeSMARTUsedRatio, NVMeSMARTAvailableSpareRatio, NVMeSMARTAvailableSpareThresholdRatio,
		NVMeSMARTDataReadBytesTotal, NVMeSMARTDataWrittenBytesTotal, NVMeSMARTHostReadsTotal, NVMeSMARTHostWritesTotal,
		NVMeSMARTBusySecondsTotal, NVMeSMARTPowerOnSecondsTotal, NVMeSMARTPowerCyclesTotal, NVMeSMARTUnsafeShutdownsTotal,
		NVMeSMARTMediaErrorsTotal, NVMeSMARTErrorLogEntriesTotal, NVMeSMARTWarningTemperatureSecondsTotal,
		NVMeSMARTCriticalTemperatureSecondsTotal, NVMeSMARTThermalTransitionsTotal, NVMeSMARTThermalSecondsTotal,
	}
}
