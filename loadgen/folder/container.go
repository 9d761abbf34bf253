package folder

import (
	"encoding/json"
	"time"
)

// Container is the container that the engine runs in: what decides over memory, storage and
// network of a run. Neither its environment nor its command line is read.
type Container struct {
	Name string `json:"name"`
	// Tool is what was asked: docker or podman.
	Tool    string `json:"tool"`
	ID      string `json:"id"`
	Image   string `json:"image"`
	ImageID string `json:"image_id"`
	// Digests are those of the image at its registries; none of one that was built here.
	Digests   []string  `json:"digests,omitempty"`
	StartedAt time.Time `json:"started_at"`
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
