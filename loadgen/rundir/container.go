package rundir

import (
	"encoding/json"
	"time"
)

// Container is the container that the engine runs in: what decides over memory, storage and
// network of a run. Its environment and its command line are not here: Provenance identifies them.
type Container struct {
	Name string `json:"name"`
	// Tool is what was asked: docker or podman.
	Tool    string `json:"tool"`
	ID      string `json:"id"`
	Image   string `json:"image"`
	ImageID string `json:"image_id"`
	// Digests are those of the image at its registries; none of one that was built here.
	Digests []string `json:"digests,omitempty"`
	// ImageLayers is how many layers the image has: one that was changed by docker commit or a build has more.
	ImageLayers int       `json:"image_layers,omitempty"`
	StartedAt   time.Time `json:"started_at"`
	// HostConfig has the engine's own names and values, of those that can change what a run measures.
	HostConfig map[string]json.RawMessage `json:"host_config"`
	// LogError is why its log of the run is missing or cut off.
	LogError string `json:"log_error,omitempty"`
}

// Capture is what became of a command. The command itself is not recorded: it may hold a key.
type Capture struct {
	Name string `json:"name"`
	// When is before or after.
	When     string `json:"when"`
	ExitCode int    `json:"exit_code"` // -1 if it was killed or could not be started
	// Seconds is how long it took, Cut whether its output was longer than what is kept.
	Seconds float64 `json:"seconds"`
	Cut     bool    `json:"cut,omitempty"`
}

// ContainerSoftware are the versions of what runs containers on a machine; what is not installed, or does not answer, is
// absent.
type ContainerSoftware struct {
	Docker        string `json:"docker,omitempty"`
	Containerd    string `json:"containerd,omitempty"`
	Runc          string `json:"runc,omitempty"`
	NVIDIAToolkit string `json:"nvidia_container_toolkit,omitempty"`
}
