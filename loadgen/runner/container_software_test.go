package runner

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
)

// dockerVersion is what docker version --format '{{json .}}' prints, shortened.
const dockerVersion = `{"Client":{"Platform":{"Name":"Docker Engine - Community"},"Version":"28.5.1","ApiVersion":"1.51"},"Server":{"Platform":{"Name":"Docker Engine - Community"},
"Components":[{"Name":"Engine","Version":"28.5.1","Details":{"Arch":"arm64"}},{"Name":"containerd","Version":"v1.7.28"},{"Name":"runc","Version":"1.3.0"},{"Name":"docker-init","Version":"0.19.0"}]}}`

func TestVersionsOfWhatRunsContainersAreRead(t *testing.T) {
	bin := t.TempDir()
	for name, text := range map[string]string{
		"docker":     "cat <<'X'\n" + dockerVersion + "\nX\n",
		"nvidia-ctk": "printf 'NVIDIA Container Toolkit CLI version 1.18.0-rc.2\\ncommit: 2c8f\\n'\n",
	} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+text), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("PATH", bin+":/usr/bin:/bin")
	want := rundir.ContainerSoftware{Docker: "28.5.1", Containerd: "v1.7.28", Runc: "1.3.0", NVIDIAToolkit: "1.18.0-rc.2"}
	if got := containerSoftware(t.Context()); got == nil || *got != want {
		t.Errorf("%+v", got)
	}
	t.Setenv("PATH", t.TempDir())
	if got := containerSoftware(t.Context()); got != nil {
		t.Errorf("of a machine without any: %+v", got)
	}
	if got := parseDockerVersion([]byte(`{"Client":{"Version":"28.5.1"},"Server":null}`)); got != (rundir.ContainerSoftware{}) {
		t.Errorf("of a daemon that does not answer: %+v", got)
	}
}

// FuzzVersions: whatever the tools print, a version is short and has no blank.
func FuzzVersions(f *testing.F) {
	f.Add([]byte(dockerVersion))
	f.Add([]byte("NVIDIA Container Toolkit CLI version 1.18.0\n"))
	f.Add([]byte("null"))
	f.Fuzz(func(t *testing.T, text []byte) {
		found := parseDockerVersion(text)
		found.NVIDIAToolkit = parseToolkitVersion(text)
		for _, version := range []string{found.Docker, found.Containerd, found.Runc, found.NVIDIAToolkit} {
			if strings.ContainsAny(version, " \n\t") {
				t.Fatalf("%q", version)
			}
		}
	})
}
