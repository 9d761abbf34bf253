// Package plan reads and checks the plan file of a campaign: what is compared, under which conditions, how often and
// in which order. It does not start or measure anything.
package plan

import "time"

// Schema is the schema name of a plan file.
const Schema = "umascope.plan/1"

// Plan is a checked plan file. Texts of argv, env, cwd, files, urls, flags and labels are templates (text/template)
// over the values of the plan, the model and the arm. Cell has them filled in.
//
// Besides its name in the file, a field has a tag "is" for the decoder: required; a template; its own key as a name;
// flags, whose values may be lists. The tag "one" lists the allowed words.
type Plan struct {
	Schema string `yaml:"schema" is:"required" one:"umascope.plan/1"`
	// Name is the name of the campaign and its folder; if empty, the name of the file.
	Name string `yaml:"name" is:"name"`
	// Values are variables of the whole plan. The values of a model override them, and those of an arm override both.
	// A list becomes one line for each of its items.
	Values    map[string]string `yaml:"values" is:"values"`
	Models    []Model           `yaml:"models" is:"required"`
	Arms      []Arm             `yaml:"arms" is:"required"`
	Scenarios []Scenario        `yaml:"scenarios" is:"required"`
	// Iterations is how often each scenario is run with each arm and model: 10.
	Iterations int       `yaml:"iterations"`
	Order      Order     `yaml:"order" one:"abba sequential random"`
	Seed       uint64    `yaml:"seed"` // of the order random: 1337
	Gates      Gates     `yaml:"gates"`
	Checks     []Check   `yaml:"checks"`
	Collect    []Collect `yaml:"collect"`
	PageCache  PageCache `yaml:"page_cache"`
	Clocks     *Clocks   `yaml:"clocks"`
	OnInvalid  OnInvalid `yaml:"on_invalid"`
	AbortIf    []AbortIf `yaml:"abort_if"`
	// Telemetry is NAME=URL of exporters, Scrape NAME=URL of engine pages, as in the flags of run.
	Telemetry []string `yaml:"telemetry" is:"template"`
	Scrape    []string `yaml:"scrape" is:"template"`
	// Flags are flags of run for every scenario that uses run. A flag that may be repeated has a list, which becomes
	// one line for each of its items.
	Flags map[string]string `yaml:"flags" is:"flags template"`
	// Primary is the metric that decides; if empty, the scenario's. Margins are the largest differences that do not
	// matter, by metric, such as 2% or 1GiB. Both are fixed at the first run.
	Primary string            `yaml:"primary"`
	Margins map[string]string `yaml:"margins"`
	// RepeatOutliers adds a round, with a run of every arm, for each round with a run more than 5 % from the median of
	// its arm.
	RepeatOutliers bool `yaml:"repeat_outliers"`
	// KeepUp leaves the arm's processes up for all scenarios of a turn; the next round starts them anew. Otherwise
	// they are started anew for every run.
	KeepUp bool `yaml:"keep_up"`

	// from holds the positions of the keys in the file; nil for a plan that was not read from one.
	from *source
	// defaults are the keys that the file does not set, each with its default.
	defaults []string
}

// Order is the order of the arms' runs in a cell of model and scenario.
type Order string

// The orders.
const (
	Sequential Order = "sequential" // all runs of one arm, then all of the next: confounds arm and time
	ABBA       Order = "abba"       // forth and back, alternating
	Random     Order = "random"     // seeded, each arm once per round
)

// Model is a model that every arm serves.
type Model struct {
	Name   string            `yaml:"name" is:"required name"`
	Values map[string]string `yaml:"values" is:"values"`
	// ExpectedBytes is the memory that it is expected to need; a gate.
	ExpectedBytes Bytes `yaml:"expected_memory"`
}

// Arm is one way to serve.
type Arm struct {
	Name      string            `yaml:"name" is:"required name"`
	Labels    map[string]string `yaml:"labels" is:"template"`
	Values    map[string]string `yaml:"values" is:"values"`
	Optional  bool              `yaml:"optional"` // skipped, with a message, if it cannot be started
	Files     []File            `yaml:"files"`
	Processes []Process         `yaml:"processes"`
	// Flags are flags of run while this arm is up. For record, those apply that it has too.
	Flags map[string]string `yaml:"flags" is:"flags template"`
	// Telemetry and Scrape are pages in addition to those of the plan.
	Telemetry []string `yaml:"telemetry" is:"template"`
	Scrape    []string `yaml:"scrape" is:"template"`
	// Clocks are the plan's clocks, in a cell.
	Clocks *Clocks
}

// File is rendered before the arm starts and removed when it is down; its SHA-256 goes into the manifest. It never
// replaces an existing file with other content.
type File struct {
	Path     string `yaml:"path" is:"required template"`
	Text     string `yaml:"text" is:"template"` // the template itself
	Source   string `yaml:"source"`             // or the file with the template, relative to the plan; read into Text with the plan
	Mode     string `yaml:"mode"`               // octal; 0640, whatever the umask
	Optional bool   `yaml:"optional"`
}

// Process is a process that an arm needs. Processes are started in the order of the plan and stopped in reverse order.
type Process struct {
	// Name is the first word of argv, without the folder, if empty.
	Name string            `yaml:"name" is:"name"`
	Argv []string          `yaml:"argv" is:"required template"`
	Env  map[string]string `yaml:"env" is:"template"`
	Cwd  string            `yaml:"cwd" is:"template"`
	// Container runs it with docker exec in that container, Host over ssh on that machine.
	Container string `yaml:"container" is:"template"`
	Host      string `yaml:"host" is:"template"`
	// Log is the file for its output; logs/NAME.log in the arm's folder if empty.
	Log   string `yaml:"log" is:"template"`
	Ready *Probe `yaml:"ready"`
	Alive *Probe `yaml:"alive"`
	Stop  Stop   `yaml:"stop"`
	Root  bool   `yaml:"root"` // with sudo -n
	// Delay is how long to wait, once it is ready, before the next process is started.
	Delay time.Duration `yaml:"delay"`
}

// Probe checks whether a process is ready or alive, in one of these ways.
type Probe struct {
	URL  string   `yaml:"url" is:"template"`  // 2xx; for .../v1/models also a list that is not empty
	Log  string   `yaml:"log"`                // a pattern (RE2) in the process's log
	Port int      `yaml:"port"`               // accepts TCP on loopback
	Argv []string `yaml:"argv" is:"template"` // exit code 0; runs where the process runs, with its environment
	// Timeout is how long the probe may take to succeed (ready: 10m), Every the pause between attempts (2s; alive:
	// 10s), Consecutive how many must succeed in a row (2; alive: how many failures in a row count as dead, 3).
	Timeout     time.Duration `yaml:"timeout"`
	Every       time.Duration `yaml:"every"`
	Consecutive int           `yaml:"consecutive"`
}

// Stop is how a process is ended: with its argv, if set, which runs where the process runs, else with the signal.
// SIGKILL follows after the timeout.
type Stop struct {
	Argv    []string      `yaml:"argv" is:"template"`
	Signal  string        `yaml:"signal" one:"SIGTERM SIGINT SIGHUP SIGQUIT SIGKILL SIGUSR1 SIGUSR2"` // SIGTERM
	Timeout time.Duration `yaml:"timeout"`                                                            // 30s
}

// Scenario is one load.
type Scenario struct {
	Name string `yaml:"name" is:"required name"`
	// Run are flags of the verb run ("scenario", "requests", …). Record is a command whose run is recorded. A scenario
	// has one of the two.
	Run    map[string]string `yaml:"run" is:"flags template"`
	Record *Record           `yaml:"record"`
	// Expected is how long a run of it lasts, without the start of the arm. The dry run uses it until a run was
	// measured.
	Expected time.Duration `yaml:"expected_duration"`
}

// Record is a command as the load.
type Record struct {
	Argv    []string          `yaml:"argv" is:"required template"`
	Extract string            `yaml:"extract"` // none
	Flags   map[string]string `yaml:"flags" is:"flags template"`
}

// Check is a command that prints one number, before or after every run.
type Check struct {
	Name    string        `yaml:"name" is:"required name"`
	Argv    []string      `yaml:"argv" is:"required template"`
	When    []string      `yaml:"when" one:"before after"` // both if empty
	Number  string        `yaml:"number"`                  // a pattern (RE2) whose group 1 is the number; the last number if empty
	Unit    string        `yaml:"unit"`
	Min     *float64      `yaml:"min"`
	Max     *float64      `yaml:"max"`
	Timeout time.Duration `yaml:"timeout"` // 5m
}

// Collect is a command whose output goes into the run folder. It is run once for each arm and model.
type Collect struct {
	Name string   `yaml:"name" is:"required name"`
	Argv []string `yaml:"argv" is:"required template"`
}

// Gates are conditions that must hold before a run. A gate that has not opened at its timeout is recorded, and the run
// goes on unless Strict is set.
type Gates struct {
	Strict  bool          `yaml:"strict"`
	Timeout time.Duration `yaml:"timeout"` // of each gate: 30m
	// Cooldown is the least time between two runs: 5m.
	Cooldown *time.Duration `yaml:"cooldown"`
	// GPUCelsius is the temperature to wait for (45), or the temperature of the first start plus WithinFirstCelsius.
	GPUCelsius         *float64 `yaml:"gpu_celsius"`
	WithinFirstCelsius *float64 `yaml:"within_first_celsius"`
	// CPURatio is the busy share of all cores, as a number or a percentage: 10%.
	CPURatio *Ratio `yaml:"cpu_ratio"`
	// MemFree is the least MemFree. MemFreeWithin is how close it must be to the MemFree at the other arms' starts:
	// 1GiB.
	MemFree       Bytes  `yaml:"mem_free"`
	MemFreeWithin *Bytes `yaml:"mem_free_within"`
	// SMClock is the least clock while a command loads the GPU. It is read every 2 s, until it is reached or 30 s have passed.
	SMClock *SMClock `yaml:"sm_clock"`
	// PState is the performance state that the GPU must reach under the probe of SMClock: P0, or the usual one, which
	// most earlier runs of the same arm and model had. An idle GPU is in a slow state.
	PState string `yaml:"p_state" one:"P0 usual" json:",omitempty"`
	// Off are gates that are on by default and are switched off.
	Off []string `yaml:"off" one:"cooldown gpu_celsius cpu_ratio mem_free_within"`
}

// SMClock is the gate for the clock under load.
type SMClock struct {
	MinHertz float64  `yaml:"min_hertz" is:"required"`
	Argv     []string `yaml:"argv" is:"required template"`
}

// Clocks are the clocks of the GPUs of this machine while an arm is up. They are set before its processes start and
// reset to the driver's default when it is down. This needs root.
type Clocks struct {
	// Lock is the clock of the SMs, such as 1500MHz.
	Lock Hertz `yaml:"lock" is:"required"`
}

// PageCache is what happens to the page cache before the arm starts: keep, drop, or evict the files at paths.
type PageCache struct {
	Policy string   `yaml:"policy" one:"keep evict drop"` // keep
	Paths  []string `yaml:"paths" is:"template"`
}

// OnInvalid is what happens when a run is invalid.
type OnInvalid struct {
	Repeat int    `yaml:"repeat"`               // number of further runs in its slot, which keep the order balanced: 2
	Then   string `yaml:"then" one:"skip stop"` // skip
	// StopAfter is how many slots in a row may stay invalid: 3.
	StopAfter int `yaml:"stop_after"`
}

// AbortIf ends the campaign if a signal is not proven.
type AbortIf struct {
	Signal string `yaml:"signal" is:"required"`
	// AbsentAfter is the number of runs of an arm and model of which at least one must prove the signal: 1.
	AbsentAfter int    `yaml:"absent_after"`
	Arm         string `yaml:"arm"` // all if empty
}
