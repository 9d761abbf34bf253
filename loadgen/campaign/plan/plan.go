// Package plan knows the plan file of a campaign: what is compared, under which conditions, how often
// and in which order. It reads and checks; nothing here starts or measures anything.
package plan

import "time"

// Schema names the form of a plan file.
const Schema = "umascope.plan/1"

// Plan is a plan file, checked. Texts of argv, env, cwd, files, urls, flags and labels are templates
// (text/template) over the values of the plan, the model and the arm until Cell fills them in.
//
// Beside its name in the file, a field says by the tag "is" what the reader makes of it: required; a
// template; its own key as a name; flags, whose values may be lists. The tag "one" lists the words that it may be.
type Plan struct {
	Schema string `yaml:"schema" is:"required" one:"umascope.plan/1"`
	// Name is that of the campaign and its folder: the file's, if empty.
	Name string `yaml:"name" is:"name"`
	// Values are variables of the whole plan; those of a model, then those of an arm, stand before them.
	// A list is one line for each of its items.
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
	// Telemetry is NAME=URL of exporters, Scrape NAME=URL of engine pages; as the flags of run.
	Telemetry []string `yaml:"telemetry" is:"template"`
	Scrape    []string `yaml:"scrape" is:"template"`
	// Flags are flags of run for every scenario that is one. A flag that may be repeated has a list, which
	// is one line for each of its items.
	Flags map[string]string `yaml:"flags" is:"flags template"`
	// Primary is the metric that decides: that of the scenario if empty. Margins are the largest differences that do not
	// matter, by metric, such as 2% or 1GiB. Both stand since the first run.
	Primary string            `yaml:"primary"`
	Margins map[string]string `yaml:"margins"`
	// RepeatOutliers adds a round, with a run of every arm, for each round with a run more than 5 % from the median of its arm.
	RepeatOutliers bool `yaml:"repeat_outliers"`
	// KeepUp leaves the arm's processes up for all scenarios of a turn: the next round starts them anew. Otherwise
	// they are started anew for every run.
	KeepUp bool `yaml:"keep_up"`

	// from is where the plan stands in its file; nil of one that was made otherwise.
	from *source
	// defaults are the keys that the file does not set, each with its value.
	defaults []string
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
	Name   string            `yaml:"name" is:"required name"`
	Values map[string]string `yaml:"values" is:"values"`
	// ExpectedBytes is memory that it is expected to need; a gate.
	ExpectedBytes Bytes `yaml:"expected_memory"`
}

// Arm is one way to serve.
type Arm struct {
	Name      string            `yaml:"name" is:"required name"`
	Labels    map[string]string `yaml:"labels" is:"template"`
	Values    map[string]string `yaml:"values" is:"values"`
	Optional  bool              `yaml:"optional"` // one that cannot be started is skipped, and said to be
	Files     []File            `yaml:"files"`
	Processes []Process         `yaml:"processes"`
	// Flags are flags of run while this arm is up; of record, those that it has too.
	Flags map[string]string `yaml:"flags" is:"flags template"`
	// Telemetry and Scrape are pages beside those of the plan.
	Telemetry []string `yaml:"telemetry" is:"template"`
	Scrape    []string `yaml:"scrape" is:"template"`
	// Clocks are those of the plan, in a cell.
	Clocks *Clocks
}

// File is rendered before the arm starts and taken away when it is down; its SHA-256 goes into the
// manifest. It never replaces a file that was there with other content.
type File struct {
	Path     string `yaml:"path" is:"required template"`
	Text     string `yaml:"text" is:"template"` // the template itself
	Source   string `yaml:"source"`             // or a file that has it, relative to the plan; read with the plan, into Text
	Mode     string `yaml:"mode"`               // octal; 0640, whatever the umask
	Optional bool   `yaml:"optional"`
}

// Process is one that an arm needs, started in the order of the plan and stopped in the reverse.
type Process struct {
	// Name is its first word, without the folder, if empty.
	Name string            `yaml:"name" is:"name"`
	Argv []string          `yaml:"argv" is:"required template"`
	Env  map[string]string `yaml:"env" is:"template"`
	Cwd  string            `yaml:"cwd" is:"template"`
	// Container runs it by docker exec in that container, Host over ssh on that machine.
	Container string `yaml:"container" is:"template"`
	Host      string `yaml:"host" is:"template"`
	// Log is where its output goes; logs/NAME.log of the arm's folder if empty.
	Log   string `yaml:"log" is:"template"`
	Ready *Probe `yaml:"ready"`
	Alive *Probe `yaml:"alive"`
	Stop  Stop   `yaml:"stop"`
	Root  bool   `yaml:"root"` // by sudo -n
	// Delay is how long after it is ready the next one is started.
	Delay time.Duration `yaml:"delay"`
}

// Probe asks whether a process is ready or alive: by one of its ways.
type Probe struct {
	URL  string   `yaml:"url" is:"template"`  // 2xx; of .../v1/models also a list that is not empty
	Log  string   `yaml:"log"`                // a pattern (RE2) in the process's log
	Port int      `yaml:"port"`               // accepts TCP on loopback
	Argv []string `yaml:"argv" is:"template"` // exit code 0; run where the process runs, with its environment
	// Timeout is how long until it must hold (ready: 10m), Every the pause between (2s; alive: 10s),
	// Consecutive how often in a row (2; alive: failures in a row that count as dead, 3).
	Timeout     time.Duration `yaml:"timeout"`
	Every       time.Duration `yaml:"every"`
	Consecutive int           `yaml:"consecutive"`
}

// Stop is how a process is ended: its argv if it has one, which is run where the process runs, else the
// signal; SIGKILL after the timeout.
type Stop struct {
	Argv    []string      `yaml:"argv" is:"template"`
	Signal  string        `yaml:"signal" one:"SIGTERM SIGINT SIGHUP SIGQUIT SIGKILL SIGUSR1 SIGUSR2"` // SIGTERM
	Timeout time.Duration `yaml:"timeout"`                                                            // 30s
}

// Scenario is one load.
type Scenario struct {
	Name string `yaml:"name" is:"required name"`
	// Run are flags of the verb run ("scenario", "requests", …); Record is a command whose run is
	// recorded. One of the two.
	Run    map[string]string `yaml:"run" is:"flags template"`
	Record *Record           `yaml:"record"`
	// Expected is how long a run of it lasts, without the start of the arm: for the dry run, until one was measured.
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

// Collect is a command whose output goes into the run folder, once for each arm and model.
type Collect struct {
	Name string   `yaml:"name" is:"required name"`
	Argv []string `yaml:"argv" is:"required template"`
}

// Gates are what has to hold before a run. One that does not by its time-out is recorded, and the run
// goes on unless Strict.
type Gates struct {
	Strict  bool          `yaml:"strict"`
	Timeout time.Duration `yaml:"timeout"` // of each gate: 30m
	// Cooldown is the least time between two runs: 5m.
	Cooldown *time.Duration `yaml:"cooldown"`
	// GPUCelsius is the temperature to fall to (45), or to within WithinFirstCelsius of the first start.
	GPUCelsius         *float64 `yaml:"gpu_celsius"`
	WithinFirstCelsius *float64 `yaml:"within_first_celsius"`
	// CPURatio is the busy share of all cores, as a number or a percentage: 10%.
	CPURatio *Ratio `yaml:"cpu_ratio"`
	// MemFree is the least MemFree; MemFreeWithin how close it must be to that of the other arms' starts: 1GiB.
	MemFree       Bytes  `yaml:"mem_free"`
	MemFreeWithin *Bytes `yaml:"mem_free_within"`
	// SMClock is the least clock while a command loads the GPU. It is read every 2 s, until it is reached or 30 s are over.
	SMClock *SMClock `yaml:"sm_clock"`
	// PState is the performance state that the GPU must reach under the probe of SMClock: P0, or the one that earlier runs of the same
	// arm and model mostly had. An idle GPU is in a slow one.
	PState string `yaml:"p_state" one:"P0 usual" json:",omitempty"`
	// Off are the gates that would hold by default and shall not.
	Off []string `yaml:"off" one:"cooldown gpu_celsius cpu_ratio mem_free_within"`
}

// SMClock is the gate of the clock under load.
type SMClock struct {
	MinHertz float64  `yaml:"min_hertz" is:"required"`
	Argv     []string `yaml:"argv" is:"required template"`
}

// Clocks are the clocks of the GPUs of this machine while an arm is up. They are set before its processes start and reset to the
// default of the driver when it is down. That needs root.
type Clocks struct {
	// Lock is the clock of the SMs, such as 1500MHz.
	Lock Hertz `yaml:"lock" is:"required"`
}

// PageCache is what is done with the page cache before the arm starts: keep, drop, or evict of paths.
type PageCache struct {
	Policy string   `yaml:"policy" one:"keep evict drop"` // keep
	Paths  []string `yaml:"paths" is:"template"`
}

// OnInvalid is what happens when a run is invalid.
type OnInvalid struct {
	Repeat int    `yaml:"repeat"`               // in its slot, so that the order stays balanced: 2
	Then   string `yaml:"then" one:"skip stop"` // skip
	// StopAfter is how many slots in a row may stay invalid: 3.
	StopAfter int `yaml:"stop_after"`
}

// AbortIf ends the campaign when a signal is not proven.
type AbortIf struct {
	Signal string `yaml:"signal" is:"required"`
	// AbsentAfter is of how many runs of an arm and model none has proven it: 1.
	AbsentAfter int    `yaml:"absent_after"`
	Arm         string `yaml:"arm"` // all if empty
}
