package rundir

import (
	"fmt"
	"time"

	"github.com/umascope/umascope/loadgen/runfile"
)

// Schema names of the files, in their member "schema".
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
	StateStopped     = "stopped" // aborted for a reason that makes it invalid
)

// Manifest is manifest.json: what is needed to repeat the run, and where it ran. It is written before the first request
// and again at the end.
type Manifest struct {
	Schema   string            `json:"schema" pack:"word"`
	Run      string            `json:"run" pack:"run"`
	Scenario string            `json:"scenario" pack:"word"`
	Labels   map[string]string `json:"labels" pack:"labels"`
	State    string            `json:"state" pack:"word"`
	// StartedAt is the moment that all offsets of the run count from.
	StartedAt time.Time  `json:"started_at"`
	EndedAt   *time.Time `json:"ended_at,omitempty"`

	// Rank is set for a part of a larger run, Ranks for a run merged from such parts. The client and the flags of a
	// merged run are those of its first rank.
	Rank  *Share `json:"rank,omitempty"`
	Ranks *Ranks `json:"ranks,omitempty"`

	Program Program `json:"program"`
	// Flags are all flags of the run, given or default; secrets are redacted.
	Flags map[string]string `json:"flags" pack:"flags"`
	// Seed, Workload and Server are set for uma-load's own load, Command for another program's.
	Seed     uint64   `json:"seed,omitzero"`
	Workload Workload `json:"workload,omitzero"`
	Server   Server   `json:"server,omitzero"`
	// Replicas are the other servers of a load that several shared, in the order of --url; Server is the first.
	Replicas []Server  `json:"replicas,omitempty"`
	Command  *Command  `json:"command,omitempty"`
	Client   Client    `json:"client"`
	Machines []Machine `json:"machines,omitempty"`
	Judging  *Judging  `json:"judging,omitempty"`
	// Campaign is set for a run of a campaign.
	Campaign *Campaign `json:"campaign,omitempty"`
	// Provenance identifies the programs that ran; absent in runs from before it was recorded.
	Provenance *Provenance `json:"provenance,omitempty"`
	// Containers are the versions of the container software on the engine's machine, if that is this one.
	Containers *ContainerSoftware `json:"container_software,omitempty"`
	// Imported is set for a run that another tool measured; the state of its client is unknown.
	Imported *Imported `json:"imported,omitempty"`
	// Storage is the storage of the run folder, and of the disk tier of the KV cache if it is visible.
	Storage []Storage `json:"storage,omitempty"`
	// Git is the repository of the folder that the program was started in, if there is one.
	Git *Git `json:"git,omitempty"`
	// Container is the one that the engine runs in, if --container names it.
	Container *Container `json:"container,omitempty"`
	// Captures are the outcomes of the commands of --capture.
	Captures []Capture `json:"captures,omitempty"`
	// Pages are the pages of engines and KV block managers that were also read.
	Pages []Page `json:"pages,omitempty"`
	// Telemetry is the sampler's counts and cost.
	Telemetry *runfile.SamplingStats `json:"telemetry,omitempty"`
}

// TimeZone is the zone of a machine's clock at one moment.
type TimeZone struct {
	// Name is its abbreviation, such as CET.
	Name          string `json:"name"`
	OffsetSeconds int    `json:"utc_offset_seconds"` // east of UTC
}

// Client is the machine that uma-load runs on, and its state during the run.
type Client struct {
	Hostname string `json:"hostname" pack:"host"`
	BootID   string `json:"boot_id,omitempty" pack:"boot"`
	Kernel   string `json:"kernel" pack:"word"`
	Arch     string `json:"arch" pack:"word"`
	Cores    int    `json:"cores"`
	// TimeZone is the zone at the run's beginning. All moments in files are in UTC.
	TimeZone *TimeZone `json:"time_zone,omitempty" pack:"-"`
	// Governor is the kernel's policy for the processor's clock (cpufreq), PowerProfile the power mode of the machine
	// (platform_profile of ACPI); absent if the kernel has none.
	Governor     string  `json:"cpu_governor,omitempty" pack:"word"`
	PowerProfile string  `json:"power_profile,omitempty" pack:"word"`
	CPURatio     float64 `json:"cpu_ratio,omitempty"`
	Stalls       int     `json:"stalls,omitempty"`
	// ClockStepSeconds is by how much the time of day moved against the clock of the run during it: it was set, or the
	// machine slept. Offsets use a clock that is never set.
	ClockStepSeconds float64 `json:"clock_step_seconds,omitempty"`
	// Programs are what umascope's own processes on this machine took during the run; absent if unknown.
	Programs []OwnProgram `json:"programs,omitempty"`
}

// OwnPrograms returns the programs of umascope that run beside an engine.
func OwnPrograms() []string { return []string{"uma-exporter", "uma-load", "uma-view"} }

// OwnProgram is what all processes of one program took.
type OwnProgram struct {
	Program   string `json:"program" pack:"word"`
	Processes int    `json:"processes"` // at the end of the run
	// CPURatio is the share of one core, as a mean over the run. ResidentBytes is at its end.
	CPURatio      float64 `json:"cpu_ratio"`
	ResidentBytes uint64  `json:"resident_bytes"`
}

// Imported is the file of results that a run was read from.
type Imported struct {
	// Format is the format of the file, by the name that import takes.
	Format string `json:"format" pack:"word"`
	File   string `json:"file" pack:"word"` // without the folder that it is in
	SHA256 string `json:"sha256" pack:"sum"`
	// Key distinguishes the run from the others of its file; the tool assigned it.
	Key string    `json:"key,omitempty" pack:"word"`
	At  time.Time `json:"at"`
	// Engine and the temperatures are the file's figures for memory and for the GPU.
	Engine       *EngineReport `json:"engine_reported,omitempty"`
	StartCelsius *float64      `json:"start_celsius,omitempty"`
	MaxCelsius   *float64      `json:"max_celsius,omitempty"`
	EndCelsius   *float64      `json:"end_celsius,omitempty"`
	// EndKnown is true if the file would show a run that did not finish.
	EndKnown bool `json:"end_known,omitempty"`
}

// Git is a state of a repository.
type Git struct {
	Commit string `json:"commit" pack:"sum"`
	// Modified is whether files differ from it; absent if unknown.
	Modified *bool `json:"modified,omitempty"`
}

// Machine is a machine that telemetry was read from, as its exporter reports it.
type Machine struct {
	Source string              `json:"source" pack:"host"`
	URL    string              `json:"url" pack:"url"`
	Mode   string              `json:"mode" pack:"word"`
	Host   map[string]string   `json:"host,omitempty" pack:"series"`
	GPUs   []map[string]string `json:"gpus,omitempty" pack:"series"`
	// GPULimits are the limits in force on the GPUs.
	GPULimits []GPULimit `json:"gpu_limits,omitempty"`
	// Drives are its NVMe drives.
	Drives []map[string]string `json:"drives,omitempty" pack:"series"`
}

// GPULimit is the limit in force of a GPU's power and the highest clock of its multiprocessors.
type GPULimit struct {
	UUID         string   `json:"uuid" pack:"uuid"`
	PowerWatts   *float64 `json:"power_limit_watts,omitempty"`
	SMClockHertz *float64 `json:"sm_clock_max_hertz,omitempty"`
}

// Page is a page of an engine or a KV block manager, named by --scrape.
type Page struct {
	Source string `json:"source" pack:"source"`
	URL    string `json:"url" pack:"url"`
}

// Program is the program that wrote the folder: uma-load, with its recorded build information.
type Program struct {
	Version   string `json:"version" pack:"version"`
	Revision  string `json:"revision" pack:"word"`
	GoVersion string `json:"go" pack:"word"`
}

func (p Program) String() string {
	return fmt.Sprintf("uma-load %s (%s, %s)", p.Version, p.Revision, p.GoVersion)
}
