package metric

// Values of LabelReason on the clock event series, one per reason that the driver names.
const (
	ReasonSWPowerCap   = "sw_power_cap"
	ReasonHWSlowdown   = "hw_slowdown"
	ReasonSyncBoost    = "sync_boost"
	ReasonSWThermal    = "sw_thermal"
	ReasonHWThermal    = "hw_thermal"
	ReasonHWPowerBrake = "hw_power_brake"
)

// ArchitecturesInPool lists the values of LabelArchitecture of machines whose GPU memory comes from the pool in a way
// that only the driver's process lists show.
func ArchitecturesInPool() []string {
	return []string{"integrated", "integrated_carveout", "shimmed"}
}

// MinBlockHuge is the value of LabelMinBlock for the 2 MiB blocks that the driver asks for first.
const MinBlockHuge = "2097152"

// ResourceMemory is the value of LabelResource for waits for memory.
const ResourceMemory = "memory"

// Values of LabelPhase on phases that every run of a campaign has, in their order. A scenario has its own
// instead of measure.
const (
	PhaseCooldown = "cooldown" // the machine comes to rest
	PhaseStart    = "start"    // the moment before the engine is started; the ledger at start is read then
	PhaseLoad     = "load"     // processes are started; the engine reads its weights and sizes its KV cache
	PhaseReady    = "ready"    // it answers
	PhaseWarmup   = "warmup"
	PhaseMeasure  = "measure"
	PhaseStop     = "stop"
)

// Values of LabelVerdict that alerts go by. Worse is by more than the margin, and than chance would make it.
const (
	VerdictWorse           = "worse"
	VerdictWorseExtentOpen = "worse_extent_not_decided" // the interval crosses the margin
	VerdictConfounded      = "confounded"               // time explains the difference as well
)

// EventOOMKill is the value of LabelEvent for processes that were killed because memory ran out.
const EventOOMKill = "oom_kill"

// AlertFiring is the value of LabelAlertState on alerts that fire.
const AlertFiring = "firing"

// Names of the scrape jobs, values of LabelJob.
const (
	JobExporter = "uma-exporter"
	JobLoad     = "uma-load"
	JobResults  = "uma-results"
	JobEngine   = "engine" // histograms of engines, which no collector passes on
)

// Values of LabelMode. Live is the machine as it is now; every other mode must be labelled wherever its figures are
// shown. The counters of a replayed or constructed machine do not move.
const (
	ModeLive        = "live"
	ModeReplay      = "replay"
	ModeConstructed = "constructed"
	ModeSimulated   = "simulated"
)

// Modes lists the values of LabelMode.
func Modes() []string { return []string{ModeLive, ModeReplay, ModeConstructed, ModeSimulated} }

// Values of LabelArm by convention: how the engine of an arm runs.
const (
	ArmNative    = "native"    // as a process of the host
	ArmContainer = "container" // in a container
)
