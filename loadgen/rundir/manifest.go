package rundir

import (
	"fmt"
	"time"

	"github.com/umascope/umascope/loadgen/telemetry/sampling"
)

// Names of the forms of files, which they carry as "schema".
const (
	ManifestSchema = "umascope.manifest/1"
	PhasesSchema   = "umascope.phases/1"
)

// States of a run in its manifest.
const (
	StateRunning     = "running" // also of a run that was killed
	StateComplete    = "complete"
	StateInterrupted = "interrupted"
	StateFailed      = "failed"
	StateStopped     = "stopped" // at once, for a reason that makes it invalid
)

// Manifest is manifest.json: what is needed to repeat the run, and where it happened. It is
// written before the first request and again at the end.
type Manifest struct {
	Schema   string            `json:"schema"`
	Run      string            `json:"run"`
	Scenario string            `json:"scenario"`
	Labels   map[string]string `json:"labels"`
	State    string            `json:"state"`
	// StartedAt is the moment that all offsets of the run count from.
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`

	// Rank is of a run that is a part of a larger one, Ranks of one that was merged from such parts. The
	// client and the flags of a merged run are those of its first rank.
	Rank  *Share `json:"rank,omitempty"`
	Ranks *Ranks `json:"ranks,omitempty"`

	Program Program `json:"program"`
	// Flags are all flags of the run, given or default; secrets are redacted.
	Flags map[string]string `json:"flags"`
	// Seed, Workload and Server are of a load that was ours, Command of one that was not.
	Seed     uint64    `json:"seed,omitzero"`
	Workload Workload  `json:"workload,omitzero"`
	Server   Server    `json:"server,omitzero"`
	Command  *Command  `json:"command,omitempty"`
	Client   Client    `json:"client"`
	Machines []Machine `json:"machines,omitempty"`
	Judging  *Judging  `json:"judging,omitempty"`
	// Campaign is of a run that a campaign made.
	Campaign *Campaign `json:"campaign,omitempty"`
	// Provenance identifies what ran; absent of runs from before it was recorded.
	Provenance *Provenance `json:"provenance,omitempty"`
	// Containers are the versions of what runs containers on the machine of the engine, if that is this one.
	Containers *ContainerSoftware `json:"container_software,omitempty"`
	// Imported is of a run that another tool measured: of its client nothing is known.
	Imported *Imported `json:"imported,omitempty"`
	// Storage is what the run folder lies on, and the disk tier of the KV cache where it can be seen.
	Storage []Storage `json:"storage,omitempty"`
	// Git is of the folder that the program was started in, if that is in a repository.
	Git *Git `json:"git,omitempty"`
	// Container is the one that the engine runs in, if --container names it.
	Container *Container `json:"container,omitempty"`
	// Captures are what became of the commands of --capture.
	Captures []Capture `json:"captures,omitempty"`
	// Pages are those of engines and KV block managers that were read too.
	Pages []Page `json:"pages,omitempty"`
	// Telemetry is what the sampler did and cost.
	Telemetry *sampling.Stats `json:"telemetry,omitempty"`
}

// TimeZone is that of a machine's clock at one moment.
type TimeZone struct {
	// Name is its abbreviation, such as CET.
	Name          string `json:"name"`
	OffsetSeconds int    `json:"utc_offset_seconds"` // east of UTC
}

// Client is the machine that uma-load runs on, and how it fared.
type Client struct {
	Hostname string `json:"hostname"`
	BootID   string `json:"boot_id,omitempty"`
	Kernel   string `json:"kernel"`
	Arch     string `json:"arch"`
	Cores    int    `json:"cores"`
	// TimeZone is that of the run's beginning. All moments in files are in UTC.
	TimeZone *TimeZone `json:"time_zone,omitempty"`
	// Governor is what chooses the processor's clock (cpufreq), PowerProfile the power mode of the
	// machine (platform_profile of ACPI); absent where the kernel has none.
	Governor     string  `json:"cpu_governor,omitempty"`
	PowerProfile string  `json:"power_profile,omitempty"`
	CPURatio     float64 `json:"cpu_ratio,omitempty"`
	Stalls       int     `json:"stalls,omitempty"`
	// ClockStepSeconds is by how much the time of day moved against the clock of the run while that
	// lasted: it was set, or the machine slept. Offsets are of a clock that nobody sets.
	ClockStepSeconds float64 `json:"clock_step_seconds,omitempty"`
}

// Imported is the file of results that a run was read from.
type Imported struct {
	// Format is what the file is, by the name that import takes.
	Format string `json:"format"`
	File   string `json:"file"` // without the folder that it is in
	SHA256 string `json:"sha256"`
	// Key tells the run from the others of its file, by the tool's own word.
	Key string    `json:"key,omitempty"`
	At  time.Time `json:"at"`
	// Engine and the temperatures are what the file says of memory and of the GPU.
	Engine       *EngineReport `json:"engine_reported,omitempty"`
	StartCelsius *float64      `json:"start_celsius,omitempty"`
	MaxCelsius   *float64      `json:"max_celsius,omitempty"`
	EndCelsius   *float64      `json:"end_celsius,omitempty"`
	// EndKnown says that the file would show a run that did not come to its end.
	EndKnown bool `json:"end_known,omitempty"`
}

// Git is a state of a repository.
type Git struct {
	Commit string `json:"commit"`
	// Modified says whether files differ from it; absent where that is not known.
	Modified *bool `json:"modified,omitempty"`
}

// Machine is one that telemetry was read from, by its exporter's word.
type Machine struct {
	Source string              `json:"source"`
	URL    string              `json:"url"`
	Mode   string              `json:"mode"`
	Host   map[string]string   `json:"host,omitempty"`
	GPUs   []map[string]string `json:"gpus,omitempty"`
	// GPULimits are what the GPUs are held to.
	GPULimits []GPULimit `json:"gpu_limits,omitempty"`
	// Drives are its NVMe drives.
	Drives []map[string]string `json:"drives,omitempty"`
}

// GPULimit is the limit in force of a GPU's power and the highest clock of its multiprocessors.
type GPULimit struct {
	UUID         string   `json:"uuid"`
	PowerWatts   *float64 `json:"power_limit_watts,omitempty"`
	SMClockHertz *float64 `json:"sm_clock_max_hertz,omitempty"`
}

// Page is a page of an engine or a KV block manager, named by --scrape.
type Page struct {
	Source string `json:"source"`
	URL    string `json:"url"`
}

// Program is what wrote the folder: uma-load, as its build recorded itself.
type Program struct {
	Version   string `json:"version"`
	Revision  string `json:"revision"`
	GoVersion string `json:"go"`
}

func (p Program) String() string {
	return fmt.Sprintf("uma-load %s (%s, %s)", p.Version, p.Revision, p.GoVersion)
}
