package runner

import (
	"context"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/umascope/umascope/loadgen/rundir"
)

// containerSoftware reads the versions of Docker, of its container runtime and of the NVIDIA Container Toolkit on this
// machine. It is nil if none of them answers.
func containerSoftware(ctx context.Context) *rundir.ContainerSoftware {
	var found rundir.ContainerSoftware
	if text, err := askProgram(ctx, "docker", "version", "--format", "{{json .}}"); err == nil {
		found = parseDockerVersion(text)
	}
	if text, err := askProgram(ctx, "nvidia-ctk", "--version"); err == nil {
		found.NVIDIAToolkit = parseToolkitVersion(text)
	}
	if found == (rundir.ContainerSoftware{}) {
		return nil
	}
	return &found
}

// parseDockerVersion reads the output of docker version --format '{{json .}}', such as
//
//	{"Client":{"Version":"28.5.1"},"Server":{"Components":[{"Name":"Engine","Version":"28.5.1"},{"Name":"runc","Version":"1.3.3"}]}}
//
// Server is null if the daemon does not answer.
func parseDockerVersion(text []byte) rundir.ContainerSoftware {
	var output struct {
		Server *struct {
			Components []struct{ Name, Version string }
		}
	}
	var found rundir.ContainerSoftware
	if json.Unmarshal(text, &output) != nil || output.Server == nil {
		return found
	}
	for _, component := range output.Server.Components {
		of := map[string]*string{"engine": &found.Docker, "containerd": &found.Containerd, "runc": &found.Runc}[strings.ToLower(component.Name)]
		if of != nil {
			*of = versionIn(component.Version)
		}
	}
	return found
}

// parseToolkitVersion reads the output of nvidia-ctk --version, such as "NVIDIA Container Toolkit CLI version 1.18.0".
func parseToolkitVersion(text []byte) string {
	_, version, _ := strings.Cut(string(text), " version ")
	return versionIn(version)
}

// versionIn returns the version at the begin of a text, or "".
func versionIn(text string) string {
	return regexp.MustCompile(`^v?[0-9]+(?:\.[0-9]+)+(?:[-+~.][0-9A-Za-z.]{1,24})?`).FindString(strings.TrimSpace(text))
}
