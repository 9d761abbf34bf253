package metric

// GPUNameGB10 matches the value of LabelName of the GPU of a DGX Spark, from every maker of the machine.
const GPUNameGB10 = `.*\bGB10\b.*`

// LimitShutdown is the value of LabelLimit for the limit above which a GPU may switch itself off.
const LimitShutdown = "shutdown"

// SensorComposite is the value of LabelSensor of the temperature to which the limits of a drive apply.
const SensorComposite = "composite"

// Values of LabelCollector of collectors that alerts use.
const (
	CollectorGPU    = "gpu"
	CollectorEngine = "engine"
	CollectorKVBM   = "kvbm"
)

// CollectorFailed is the value of LabelState of a collector that could not read its source.
const CollectorFailed = "failed"

// Phases around a command that is recorded, in addition to those of every run of a campaign.
const (
	PhaseBefore = "before"
	PhaseAfter  = "after"
)

// PhasesWithoutEngine lists the phases in which an engine that does not answer is expected: it has not started, is
// about to answer, or is being stopped.
func PhasesWithoutEngine() []string {
	return []string{PhaseBefore, PhaseCooldown, PhaseStart, PhaseLoad, PhaseReady, PhaseStop, PhaseAfter}
}

// SMARTFailing lists the values of LabelKind with which a controller reports that it fails to keep data. Heat and spare
// blocks are in series of their own.
func SMARTFailing() []string { return []string{"reliability", "read_only", "volatile_backup"} }

// HardwareXIDs lists those of KnownXIDs that a program cannot bring about by a fault of its own: memory that is lost, a
// link, the power management or the system processor that has failed, a GPU that is gone. Such an error needs an
// inspection of the machine.
func HardwareXIDs() []uint64 {
	return []uint64{48, 62, 64, 74, 79, 95, 119, 120, 140, 143, 149, 158, 171, 172, 173}
}

// ReasonsOfHeat lists the values of LabelReason for clocks that heat lowered.
func ReasonsOfHeat() []string { return []string{ReasonSWThermal, ReasonHWThermal} }

var perSource = []Label{LabelHost, LabelRun, LabelSource}

// Series that rules record of the machine and keep of its sources.
var (
	EngineAnswered = gauge(Def{Name: "host_run_source:uma_engine_up:answered", Unit: State, Sum: SumNever(), Labels: perSource,
		Help: "1 for every page of an engine that has answered in a warm-up or a measured phase of the one run that goes on on the host. Absent while there are several.", Source: recordedSource})
	EnginesAnswering = gauge(Def{Name: "host:uma_engine_up:count", Unit: Count, Labels: []Label{LabelHost},
		Help: "Pages of engines that answer on a host; 0 where its exporter reads none.", Source: recordedSource})
	GPUMemoryHeldBytes1d = gauge(Def{Name: "host:uma_gpu_memory_held_bytes:max1d", Unit: Bytes, Labels: []Label{LabelHost},
		Help: "The most memory that GPU processes of a host held within a day.", Source: recordedSource})
	GPUProcessStart = gauge(Def{Name: "host_comm_cgroup:uma_process_start_time_seconds:min", Unit: Timestamp, Sum: SumNever(), Labels: []Label{LabelHost, LabelComm, LabelCgroup},
		Help: "When the oldest process of a program in a cgroup began that uses a GPU; not of programs started in a session of a user.", Source: recordedSource})
	ExporterModeSeen = gauge(Def{Name: "host_mode:uma_exporter_mode:seen", Unit: State, Sum: SumNever(), Labels: []Label{LabelHost, LabelMode},
		Help: "1 for what the exporter of a target shows, or showed last if it no longer answers. Absent of a target that has never answered.", Source: recordedSource})
	ExporterModeTaken = gauge(Def{Name: "host_mode:uma_exporter_mode:taken", Unit: State, Sum: SumNever(), Labels: []Label{LabelHost, LabelMode},
		Help: "The same with one mode for each host: live where it shows several.", Source: recordedSource})
	KVBMAnswered = gauge(Def{Name: "host_run_source:uma_kvbm_up:answered", Unit: State, Sum: SumNever(), Labels: perSource,
		Help: "The same of pages of KV block managers.", Source: recordedSource})
	NVMeLoadedOperationSeconds5m = gauge(Def{Name: "host_device:uma_nvme_loaded_operation_seconds:rate5m", Unit: Seconds, Sum: SumNever(), Labels: perDrive,
		Help: "Mean time of a read or write, waiting included, over 5 minutes in which the drive had something to do; absent otherwise. A drive at rest answers in other times than one at work.", Source: recordedSource})
)

// machineRecorded lists them.
func machineRecorded() []Definer {
	return []Definer{NVMeLoadedOperationSeconds5m, ExporterModeSeen, ExporterModeTaken, EnginesAnswering, GPUMemoryHeldBytes1d, GPUProcessStart, EngineAnswered, KVBMAnswered}
}
