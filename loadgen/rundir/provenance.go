package rundir

// Provenance identifies what ran: command lines, environment, files and images of processes, and the plan. Values are
// kept of listed engine options alone, which hold no secrets; of everything else a keyed hash is: HMAC-SHA256, the first
// 128 bits, in hex. The key lies beside the run folders, never in them.
type Provenance struct {
	// Key names the key of the hashes. Hashes of different keys are not comparable.
	Key       string       `json:"key"`
	Processes []RanProcess `json:"processes,omitempty"`
	// Files are those that were written for the engine, by name, without the folder.
	Files []Hashed `json:"files,omitempty"`
	// Plan has the parts of a campaign's plan that say how the run is made: its gates, checks and flags.
	Plan []Hashed `json:"plan,omitempty"`
	// Missing is what could not be read, and why.
	Missing []string `json:"missing,omitempty"`
}

// Where the command line of a process was read.
const (
	ReadFromPlan      = "plan"
	ReadFromCommand   = "command"   // of a recorded run
	ReadFromContainer = "container" // by docker inspect
	ReadFromProc      = "proc"      // /proc/PID, of the process that listens on the server's port
)

// RanProcess is a process that served the run or was its load.
type RanProcess struct {
	Name     string `json:"name"`
	ReadFrom string `json:"read_from"`
	// Program is the engine's program or module where one is recognised, else the first word, without its folder.
	Program string `json:"program,omitempty"`
	// Options are by program and name, whatever their order; arguments without an option are called argument 1, 2, ….
	Options []Hashed `json:"options,omitempty"`
	// Environment has the variables that the plan, the container or the process sets, Inherited those of uma-load's own
	// environment that engines read.
	Environment []Hashed `json:"environment,omitempty"`
	Inherited   []Hashed `json:"inherited,omitempty"`
	// Image is the hash of the id of the image that the process's container runs.
	Image string `json:"image,omitempty"`
	// Changed are files of the container that are not as its image has them: code and libraries alone.
	Changed *ChangedFiles `json:"changed_files,omitempty"`
}

// Hashed is an option, a variable, a file or a part of a plan. One that is given several times has as many values or
// hashes, in their order.
type Hashed struct {
	// Program is that of a launcher, such as docker or numactl, whose option it is; empty of the process's own.
	Program string `json:"program,omitempty"`
	Name    string `json:"name"`
	// Values are those of a listed option, Hashes of any other.
	Values []string `json:"values,omitempty"`
	Hashes []string `json:"hashes,omitempty"`
}

// ChangedFiles are files that were added, changed or deleted in a container since it was created. Their contents are not
// read: two changes of the same files look alike.
type ChangedFiles struct {
	Files int `json:"files"`
	// Hash is of the sorted list of paths and kinds of change.
	Hash string `json:"hash,omitempty"`
}
