// Package plan knows the plan file of a campaign: what is compared, under which conditions, how often
// and in which order. It reads and checks; nothing here starts or measures anything.
package plan

import "time"

// Schema names the form of a plan file.
const Schema = "umascope.plan/1"

// Plan is a plan file, checked. Texts of argv, env, cwd, files, urls and flags are templates
// (text/template) over the values of the plan, the model and the arm until Render fills them in.
type Plan struct {
	Schema string `yaml:"schema"`
	Name   string `yaml:"name"`
	// Values are variables of the whole plan; those of a model, then those of an arm, stand before them.
	Values     map[string]string `yaml:"values"`
	Models     []Model           `yaml:"models"`
	Arms       []Arm             `yaml:"arms"`
	Scenarios  []Scenario        `yaml:"scenarios"`
	Iterations int               `yaml:"iterations"`
	Order      Order             `yaml:"order"`
	Seed       uint64            `yaml:"seed"`
	Gates      Gates             `yaml:"gates"`
	Checks     []Check           `yaml:"checks"`
	Collect    []Collect         `yaml:"collect"`
	PageCache  PageCache         `yaml:"page_cache"`
	OnInvalid  OnInvalid         `yaml:"on_invalid"`
	AbortIf    []AbortIf         `yaml:"abort_if"`
	// Telemetry is NAME=URL of exporters, Scrape NAME=URL of engine pages; as the flags of run.
	Telemetry []string `yaml:"telemetry"`
	Scrape    []string `yaml:"scrape"`
	// Flags are flags of run for every scenario that is one.
	Flags map[string]string `yaml:"flags"`
	// EngineRestart says whether the arm's processes are started anew for every run (the default) or
	// stay up while the next run is of the same arm and model.
	KeepUp bool `yaml:"keep_up"`
}

// Order is how the runs of the arms follow each other in a cell of model and scenario.
type Order string

// The orders.
const (
	Sequential Order = "sequential" // all of an arm, then all of the next: confounds arm and time
	ABBA       Order = "abba"       // forth and back, alternating
	Random     Order = "random"     // seeded, each arm once per round
)

// Model is one that every arm serves.
type Model struct {
	Name   string            `yaml:"name"`
	Values map[string]string `yaml:"values"`
	// ExpectedBytes is memory that it is expected to need; a gate.
	ExpectedBytes Bytes `yaml:"expected_memory"`
}

// Arm is one way to serve.
type Arm struct {
	Name      string            `yaml:"name"`
	Labels    map[string]string `yaml:"labels"`
	Values    map[string]string `yaml:"values"`
	Optional  bool              `yaml:"optional"` // one that cannot be started is skipped, and said to be
	Files     []File            `yaml:"files"`
	Processes []Process         `yaml:"processes"`
	// Flags are flags of run while this arm is up.
	Flags map[string]string `yaml:"flags"`
}

// File is rendered before the arm starts; its SHA-256 goes into the manifest.
type File struct {
	Path     string `yaml:"path"`
	Text     string `yaml:"text"`   // the template itself
	Source   string `yaml:"source"` // or a file that has it, relative to the plan
	Mode     string `yaml:"mode"`   // octal; 0644
	Optional bool   `yaml:"optional"`
}

// Process is one that an arm needs, started in the order of the plan and stopped in the reverse.
type Process struct {
	Name string            `yaml:"name"`
	Argv []string          `yaml:"argv"`
	Env  map[string]string `yaml:"env"`
	Cwd  string            `yaml:"cwd"`
	// Container runs it by docker exec in that container, Host over ssh on that machine.
	Container string `yaml:"container"`
	Host      string `yaml:"host"`
	// Log is where its output goes; logs/NAME.log of the arm's folder if empty.
	Log   string        `yaml:"log"`
	Ready *Probe        `yaml:"ready"`
	Alive *Probe        `yaml:"alive"`
	Stop  Stop          `yaml:"stop"`
	Root  bool          `yaml:"root"` // by sudo -n
	Delay time.Duration `yaml:"delay"`
}

// Probe asks whether a process is ready or alive: by one of its ways.
type Probe struct {
	URL  string   `yaml:"url"`  // 2xx; of .../v1/models also a list that is not empty
	Log  string   `yaml:"log"`  // a pattern (RE2) in the process's log
	Port int      `yaml:"port"` // accepts TCP on loopback
	Argv []string `yaml:"argv"` // exit code 0
	// Timeout is how long until it must hold (ready: 10m), Every the pause between (2s; alive: 10s),
	// Consecutive how often in a row (2; alive: failures in a row that count as dead, 3).
	Timeout     time.Duration `yaml:"timeout"`
	Every       time.Duration `yaml:"every"`
	Consecutive int           `yaml:"consecutive"`
}

// Stop is how a process is ended: its argv if it has one, else the signal; SIGKILL after the timeout.
type Stop struct {
	Argv    []string      `yaml:"argv"`
	Signal  string        `yaml:"signal"`  // SIGTERM
	Timeout time.Duration `yaml:"timeout"` // 30s
}

// Scenario is one load.
type Scenario struct {
	Name string `yaml:"name"`
	// Run are flags of the verb run ("scenario", "requests", …); Record is a command whose run is
	// recorded. One of the two.
	Run    map[string]string `yaml:"run"`
	Record *Record           `yaml:"record"`
}

// Record is a command as the load.
type Record struct {
	Argv    []string          `yaml:"argv"`
	Extract string            `yaml:"extract"`
	Flags   map[string]string `yaml:"flags"`
}

// Check is a command that prints one number, before or after every run.
type Check struct {
	Name    string        `yaml:"name"`
	Argv    []string      `yaml:"argv"`
	When    []string      `yaml:"when"`   // before, after; both if empty
	Number  string        `yaml:"number"` // a pattern (RE2) whose group 1 is the number; the last number if empty
	Unit    string        `yaml:"unit"`
	Min     *float64      `yaml:"min"`
	Max     *float64      `yaml:"max"`
	Timeout time.Duration `yaml:"timeout"`
}

// Collect is a command whose output goes into the run folder, once for each arm and model.
type Collect struct {
	Name string   `yaml:"name"`
	Argv []string `yaml:"argv"`
}

// Gates are what has to hold before a run. One that does not by its time-out is recorded, and the run
// goes on unless Strict.
type Gates struct {
	Strict  bool          `yaml:"strict"`
	Timeout time.Duration `yaml:"timeout"` // of each gate: 30m
	// Cooldown is the least time between two runs: 5m.
	Cooldown *time.Duration `yaml:"cooldown"`
	// GPUCelsius is the temperature to fall to (45), or to within WithinFirstCelsius (2) of the first start.
	GPUCelsius         *float64 `yaml:"gpu_celsius"`
	WithinFirstCelsius *float64 `yaml:"within_first_celsius"`
	// CPURatio is the busy share of all cores: 0.1.
	CPURatio *float64 `yaml:"cpu_ratio"`
	// MemFree is the least MemFree; MemFreeWithin how close it must be to that of the other arms' starts: 1GiB.
	MemFree       Bytes  `yaml:"mem_free"`
	MemFreeWithin *Bytes `yaml:"mem_free_within"`
	// SMClockHertz is the least clock under a two-second probe; Probe is the command that loads the GPU meanwhile.
	SMClock *SMClock `yaml:"sm_clock"`
}

// SMClock is the gate of the clock under load.
type SMClock struct {
	MinHertz float64  `yaml:"min_hertz"`
	Argv     []string `yaml:"argv"`
}

// PageCache is what is done with the page cache before the arm starts: keep, drop, or evict of paths.
type PageCache struct {
	Policy string   `yaml:"policy"` // keep, evict, drop
	Paths  []string `yaml:"paths"`
}

// OnInvalid is what happens when a run is invalid.
type OnInvalid struct {
	Repeat int    `yaml:"repeat"` // in its slot, so that the order stays balanced: 2
	Then   string `yaml:"then"`   // stop or skip: skip
	// StopAfter is how many slots in a row may stay invalid: 3.
	StopAfter int `yaml:"stop_after"`
}

// AbortIf ends the campaign when a signal is not proven.
type AbortIf struct {
	Signal      string `yaml:"signal"`
	AbsentAfter int    `yaml:"absent_after"`
	Arm         string `yaml:"arm"` // all if empty
}

// Bytes is a size; in a plan with a unit, such as 60GiB.
type Bytes uint64
