package metric

// The exporter about itself and the host it reads.
var (
	CollectorState = gauge(Def{Name: "uma_collector_state", Unit: State, Sum: SumNever(),
		Help:   "Outcome of the collector in this scrape, as a state set: ok, absent (this machine has nothing to read) or failed.",
		Source: "exporter", Labels: []Label{LabelCollector, LabelState}})
	CollectorDurationSeconds = gauge(Def{Name: "uma_collector_duration_seconds", Unit: Seconds,
		Help:   "Wall time of the collector in this scrape.",
		Source: "exporter", Labels: []Label{LabelCollector}})
	CollectorLastSuccessTimestampSeconds = gauge(Def{Name: "uma_collector_last_success_timestamp_seconds", Unit: Timestamp, Sum: SumNever(),
		Help:   "When the collector last ended ok; absent until it does.",
		Source: "exporter", Labels: []Label{LabelCollector}})
	CollectorPrivilege = gauge(Def{Name: "uma_collector_privilege", Unit: State, Sum: SumNever(),
		Help:   "Whether the exporter has the access that part of a collector needs; doctor says what its absence costs.",
		Source: "exporter", Labels: []Label{LabelCollector, LabelNeeds}})
	ExporterBuildInfo = gauge(Def{Name: "uma_exporter_build_info", Unit: Info, Sum: SumNever(),
		Help:   "Version of this exporter.",
		Source: "exporter", Labels: []Label{LabelVersion, LabelRevision, LabelGoVersion}})
	ExporterMode = gauge(Def{Name: "uma_exporter_mode", Unit: State, Telemetry: true, Sum: SumNever(),
		Help:   "Where the figures on this page come from, as a state set: live (this machine now), replay (a recording), constructed (values put together by hand) or simulated.",
		Source: "exporter", Labels: []Label{LabelMode}})
	HostInfo = gauge(Def{Name: "uma_host_info", Unit: Info, Telemetry: true, Sum: SumNever(),
		Help:   "What machine this is.",
		Source: "/sys/class/dmi/id, /proc/sys/kernel, driver", Labels: []Label{LabelProduct, LabelVendor, LabelKernel, LabelArch, LabelArchitecture}})
)

func exporterDefs() []Definer {
	return []Definer{
		CollectorState, CollectorDurationSeconds, CollectorLastSuccessTimestampSeconds,
		CollectorPrivilege, ExporterBuildInfo, ExporterMode, HostInfo,
	}
}
