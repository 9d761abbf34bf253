package rundir

import (
	"encoding/json"
	"time"
)

// Container is the container that the engine runs in: its settings that affect memory, storage and network of a run.
// Its environment and its command line are left out: Provenance identifies them.
type Container struct {
	Name string `json:"name" pack:"container"`
	// Tool is the container tool: docker or podman.
	Tool    string `json:"tool" pack:"word"`
	ID      string `json:"id" pack:"container"`
	Image   string `json:"image" pack:"image"`
	ImageID string `json:"image_id" pack:"sum"`
	// Digests are those of the image at its registries; empty for a locally built image.
	Digests []string `json:"digests,omitempty" pack:"image"`
	// ImageLayers is how many layers the image has: one that was changed by docker commit or a build has more.
	ImageLayers int       `json:"image_layers,omitempty"`
	StartedAt   time.Time `json:"started_at"`
	// HostConfig has the container engine's own names and values, of those settings that can change what a run
	// measures.
	HostConfig map[string]json.RawMessage `json:"host_config" pack:"word"`
	// LogError is why its log of the run is missing or truncated.
	LogError string `json:"log_error,omitempty" pack:"text"`
}

// Capture is the outcome of a command. The command itself is not recorded: it may hold a key.
type Capture struct {
	Name string `json:"name" pack:"word"`
	// When is before or after.
	When     string `json:"when" pack:"word"`
	ExitCode int    `json:"exit_code"` // -1 if it was killed or could not be started
	// Seconds is how long it took; Cut is true if its output was longer than the part that is kept.
	Seconds float64 `json:"seconds"`
	Cut     bool    `json:"cut,omitempty"`
}

// ContainerSoftware has the versions of a machine's container software. Software that is not installed, or does not
// answer, is absent.
type ContainerSoftware struct {
	Docker        string `json:"docker,omitempty" pack:"version"`
	Containerd    string `json:"containerd,omitempty" pack:"version"`
	Runc          string `json:"runc,omitempty" pack:"version"`
	NVIDIAToolkit string `json:"nvidia_container_toolkit,omitempty" pack:"version"`
}
