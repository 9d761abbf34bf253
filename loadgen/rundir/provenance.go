package rundir

// Provenance identifies the programs that ran: command lines, environment, files and images of processes, and the plan.
// Values are kept only of listed engine options, which hold no secrets; everything else is kept as a keyed hash:
// HMAC-SHA256, the first 128 bits, in hex. The key is stored next to the run folders, never in them.
type Provenance struct {
	// Key names the key of the hashes. Hashes of different keys are not comparable.
	Key       string       `json:"key" pack:"sum"`
	Processes []RanProcess `json:"processes,omitempty"`
	// Files are the files that were written for the engine, by name, without the folder.
	Files []Hashed `json:"files,omitempty"`
	// Plan has the parts of a campaign's plan that define how the run is made: its gates, checks and flags.
	Plan []Hashed `json:"plan,omitempty"`
	// Missing is what could not be read, and why.
	Missing []string `json:"missing,omitempty" pack:"text"`
}

// Sources of a process's command line.
const (
	ReadFromPlan      = "plan"
	ReadFromCommand   = "command"   // of a recorded run
	ReadFromContainer = "container" // by docker inspect
	ReadFromProc      = "proc"      // /proc/PID, of the process that listens on the server's port
)

// RanProcess is a process that served the run or was its load.
type RanProcess struct {
	Name     string `json:"name" pack:"word"`
	ReadFrom string `json:"read_from" pack:"word"`
	// Program is the engine's program or module if it is recognized, else the first word, without its folder.
	Program string `json:"program,omitempty" pack:"word"`
	// Options are by program and name, in any order; arguments without an option are named argument 1, 2, ….
	Options []Hashed `json:"options,omitempty"`
	// Environment has the variables that the plan, the container or the process sets, Inherited those of uma-load's own
	// environment that engines read.
	Environment []Hashed `json:"environment,omitempty"`
	Inherited   []Hashed `json:"inherited,omitempty"`
	// Image is the hash of the id of the image that the process's container runs.
	Image string `json:"image,omitempty" pack:"sum"`
	// Changed are the container's code files and libraries that differ from its image.
	Changed *ChangedFiles `json:"changed_files,omitempty"`
}

// Hashed is an option, a variable, a file or a part of a plan. If it is given several times, it has as many values or
// hashes, in order.
type Hashed struct {
	// Program is the launcher, such as docker or numactl, whose option it is; empty for the process's own options.
	Program string `json:"program,omitempty" pack:"word"`
	Name    string `json:"name" pack:"word"`
	// Values are set for a listed option, Hashes for any other.
	Values []string `json:"values,omitempty" pack:"word"`
	Hashes []string `json:"hashes,omitempty" pack:"sum"`
}

// ChangedFiles are files that were added, changed or deleted in a container since it was created. Their contents are not
// read: two changes of the same files look alike.
type ChangedFiles struct {
	Files int `json:"files"`
	// Hash is of the sorted list of paths and kinds of change.
	Hash string `json:"hash,omitempty" pack:"sum"`
}
