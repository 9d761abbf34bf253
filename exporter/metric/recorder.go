package metric

// The flight recorder, with --recorder: what it costs, and how the boot before this one ended.
var (
	RecorderUp = gauge(Def{Name: "uma_exporter_recorder_up", Unit: State, Sum: SumNever(),
		Help:   "Whether the last record of the flight recorder was written. Absent without --recorder, as all series of the recorder are.",
		Source: "exporter"})
	RecorderRecordsTotal = counter(Def{Name: "uma_exporter_recorder_records_total", Unit: Count,
		Help:   "Records that the flight recorder wrote: one a second.",
		Source: "exporter"})
	RecorderErrorsTotal = counter(Def{Name: "uma_exporter_recorder_errors_total", Unit: Count,
		Help:   "Records that could not be written; the log has the reason.",
		Source: "exporter"})
	RecorderWrittenBytesTotal = counter(Def{Name: "uma_exporter_recorder_written_bytes_total", Unit: Bytes, Telemetry: true,
		Help:   "Bytes of records that the flight recorder wrote to the disk with its ring; the 64 MiB of zeros with which a new ring is filled once are not in it.",
		Source: "exporter"})
	RecorderWriteSecondsTotal = counter(Def{Name: "uma_exporter_recorder_write_seconds_total", Unit: Seconds,
		Help:   "Time in which the flight recorder wrote and waited for the disk. CPU time is in process_cpu_seconds_total.",
		Source: "exporter"})
	RecorderPreviousBootEnd = gauge(Def{Name: "uma_exporter_recorder_previous_boot_end", Unit: State, Sum: SumNever(),
		Help:   "How the boot before this one ended, by the records of its last recorder, as a state set: shutdown, driver_errors or no_shutdown (without a shutdown, after errors of NVIDIA's driver or not), or not_recorded, also where there is no record of an earlier boot. uma-exporter explain --last-boot shows it with its evidence.",
		Source: "ring of the recorder", Labels: []Label{LabelEnd}})
	RecorderBootTimestampSeconds = gauge(Def{Name: "uma_exporter_recorder_boot_timestamp_seconds", Unit: Timestamp, Sum: SumNever(),
		Help:   "When this boot began, by the wall clock of the recorder's start.",
		Source: "exporter, CLOCK_MONOTONIC"})
)

// Values of LabelEnd: ends of a boot.
const (
	EndShutdown     = "shutdown"
	EndDriverErrors = "driver_errors"
	EndNoShutdown   = "no_shutdown"
	EndNotRecorded  = "not_recorded"
)

// BootEnds lists them.
func BootEnds() []string {
	return []string{EndShutdown, EndDriverErrors, EndNoShutdown, EndNotRecorded}
}

func recorderDefs() []Definer {
	return []Definer{
		RecorderUp, RecorderRecordsTotal, RecorderErrorsTotal, RecorderWrittenBytesTotal, RecorderWriteSecondsTotal,
		RecorderPreviousBootEnd, RecorderBootTimestampSeconds,
	}
}
