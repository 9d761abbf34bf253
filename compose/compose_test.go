package compose

import (
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/loadgen"
)

// project loads compose files as docker compose does, relative paths and all.
func project(t *testing.T, files ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions(files, cli.WithWorkingDirectory("."))
	if err != nil {
		t.Fatal(err)
	}
	loaded, err := options.LoadProject(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if len(loaded.Services) == 0 {
		t.Fatal("no services")
	}
	return loaded
}

func TestServicesHaveTheLeastThatTheyNeed(t *testing.T) {
	for name, s := range project(t, "compose.yaml").Services {
		var needed []string
		if name == "exporter" {
			needed = []string{"SYS_PTRACE", "DAC_READ_SEARCH"} // to look into engines of other users
		}
		if !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Equal(s.CapAdd, needed) || s.Privileged {
			t.Errorf("%s: read-only %v, drops %v, adds %v, privileged %v", name, s.ReadOnly, s.CapDrop, s.CapAdd, s.Privileged)
		}
		if !slices.Contains(s.SecurityOpt, "no-new-privileges:true") {
			t.Errorf("%s may gain privileges", name)
		}
		if s.MemLimit <= 0 || s.CPUS <= 0 || s.PidsLimit <= 0 {
			t.Errorf("%s has no limit of memory, CPU or processes", name)
		}
		if s.HealthCheck == nil || len(s.HealthCheck.Test) < 2 || s.HealthCheck.Test[0] != "CMD" {
			t.Errorf("%s has no health check of its own program", name)
		}
		if s.ContainerName != "" {
			t.Errorf("%s has a fixed name: a second stack could not start", name)
		}
	}
}

func TestPortsArePublishedOnLoopbackOnly(t *testing.T) {
	published := map[string]bool{}
	for name, s := range project(t, "compose.yaml").Services {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" || published[port.Published] {
				t.Errorf("%s publishes %s on %q", name, port.Published, port.HostIP)
			}
			published[port.Published] = true
		}
	}
	if len(published) == 0 {
		t.Error("nothing can be reached")
	}
}

func TestImagesArePinnedToExactVersions(t *testing.T) {
	exact := regexp.MustCompile(`^[a-z0-9./-]+:(v?\d+\.\d+\.\d+|dev)$`)
	for name, s := range project(t, "compose.yaml").Services {
		if !exact.MatchString(s.Image) || (strings.HasSuffix(s.Image, ":dev") && s.Build == nil) {
			t.Errorf("%s: image %s", name, s.Image)
		}
		if s.Build != nil && s.PullPolicy != types.PullPolicyBuild {
			t.Errorf("%s: whoever takes the name %s at a registry would be run here", name, s.Image)
		}
	}
	text, err := os.ReadFile("exporter.Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	bases := regexp.MustCompile(`(?m)^FROM (\S+)`).FindAllStringSubmatch(string(text), -1)
	if len(bases) < 2 {
		t.Errorf("bases %v: building and running want images of their own", bases)
	}
	for _, base := range bases {
		if !regexp.MustCompile(`:\d+\.\d+(\.\d+)?-[a-z]+$`).MatchString(base[1]) {
			t.Errorf("exporter.Dockerfile: base %s", base[1])
		}
	}
}

// TestEverythingMountedExistsAndIsReadOnly: generated files are mounted where they are, never copied.
func TestEverythingMountedExistsAndIsReadOnly(t *testing.T) {
	bound := map[string]bool{}
	for name, s := range project(t, "compose.yaml").Services {
		for _, mount := range s.Volumes {
			if mount.Type != types.VolumeTypeBind {
				continue
			}
			bound[mount.Source] = true
			if _, err := os.Stat(mount.Source); err != nil {
				t.Errorf("%s mounts what does not exist: %v", name, err)
			}
			if !mount.ReadOnly {
				t.Errorf("%s can write to %s", name, mount.Source)
			}
		}
		if s.Build != nil {
			dockerfile := filepath.Join(s.Build.Context, s.Build.Dockerfile)
			if _, err := os.Stat(dockerfile); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, folder := range []string{"../alerts", "../dashboards"} {
		path, err := filepath.Abs(folder)
		if err != nil {
			t.Fatal(err)
		}
		if !bound[path] {
			t.Errorf("%s is not mounted", folder)
		}
	}
}

func TestTheExporterSeesTheHost(t *testing.T) {
	s := project(t, "compose.yaml").Services["exporter"]
	if s.Pid != "host" || s.NetworkMode != "host" || s.Cgroup != "host" {
		t.Errorf("namespaces: pid %q, network %q, cgroup %q", s.Pid, s.NetworkMode, s.Cgroup)
	}
	// Capabilities of another user than root would be lost when the program starts.
	if s.User != "0:0" || !slices.Contains(s.SecurityOpt, "apparmor=unconfined") {
		t.Errorf("user %q, security options %v", s.User, s.SecurityOpt)
	}
	if s.Deploy == nil || s.Deploy.Resources.Reservations == nil || len(s.Deploy.Resources.Reservations.Devices) != 1 {
		t.Fatal("no GPU is asked for")
	}
	mounted := map[string]string{}
	for _, mount := range s.Volumes {
		mounted[mount.Target] = mount.Source
	}
	for flag, source := range map[string]string{"path.procfs": "/proc", "path.sysfs": "/sys"} {
		if target := argument(s.Command, flag); mounted[target] != source {
			t.Errorf("--%s=%s is a mount of %q", flag, target, mounted[target])
		}
	}
	if cgroups, sys := argument(s.Command, "path.cgroupfs"), argument(s.Command, "path.sysfs"); cgroups != sys+"/fs/cgroup" {
		t.Errorf("--path.cgroupfs=%s is not in %s", cgroups, sys)
	}
}

// argument is the value of --flag=value.
func argument(command []string, flag string) string {
	for _, word := range command {
		if value, found := strings.CutPrefix(word, "--"+flag+"="); found {
			return value
		}
	}
	return ""
}

func TestTheUnprivilegedExporterHasNothing(t *testing.T) {
	s := project(t, "compose.yaml", "unprivileged.yaml").Services["exporter"]
	if len(s.CapAdd) > 0 || !slices.Equal(s.CapDrop, []string{"ALL"}) || strings.HasPrefix(s.User, "0") || !slices.Equal(s.SecurityOpt, []string{"no-new-privileges:true"}) {
		t.Errorf("adds %v, drops %v, user %q, security options %v", s.CapAdd, s.CapDrop, s.User, s.SecurityOpt)
	}
	if s.Pid != "host" {
		t.Errorf("pid %q: the driver leaves processes out", s.Pid)
	}
}

func TestWithoutANvidiaRuntimeTheExporterAsksForNoGPU(t *testing.T) {
	s := project(t, "compose.yaml", "no-gpu.yaml").Services["exporter"]
	if s.Deploy != nil || len(s.Environment) > 0 || s.Pid != "host" {
		t.Errorf("deploy %v, environment %v, pid %q", s.Deploy, s.Environment, s.Pid)
	}
}

// TestTheExporterListensWhereItIsLookedFor follows one address through all files.
func TestTheExporterListensWhereItIsLookedFor(t *testing.T) {
	p := project(t, "compose.yaml")
	gateway := p.Networks["monitoring"].Ipam.Config[0].Gateway
	address := net.JoinHostPort(gateway, portOf(t, exporter.DefaultAddress))
	s := p.Services["exporter"]
	if got := argument(s.Command, "web.listen-address"); got != address {
		t.Errorf("listens on %s, want %s", got, address)
	}
	if got := argument(s.HealthCheck.Test, "url"); got != "http://"+address+"/-/healthy" {
		t.Errorf("health is asked at %s", got)
	}
	if got := targets(t, "exporter.yml"); !slices.Equal(got, []string{address}) {
		t.Errorf("targets %v, want %s", got, address)
	}
	if got, want := targets(t, "load.yml"), net.JoinHostPort(gateway, portOf(t, loadgen.DefaultAddress)); !slices.Equal(got, []string{want}) {
		t.Errorf("targets %v, want %s", got, want)
	}
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		t.Fatal(err)
	}
	return port
}

// TestTheHealthCheckAndTheCommandAreTheProgramsOwn parses them as the container would.
func TestTheHealthCheckAndTheCommandAreTheProgramsOwn(t *testing.T) {
	s := project(t, "compose.yaml").Services["exporter"]
	for _, args := range [][]string{s.Command, s.HealthCheck.Test[2:]} {
		var stderr strings.Builder
		if code := exporter.Run(t.Context(), append(slices.Clone(args), "--help"), io.Discard, &stderr); code != 0 {
			t.Errorf("%v: exit %d, %s", args, code, stderr.String())
		}
	}
}

func TestNoPasswordIsCommitted(t *testing.T) {
	ignored, err := os.ReadFile("secrets/.gitignore")
	if err != nil || !strings.HasPrefix(string(ignored), "*\n") {
		t.Errorf("secrets are not ignored by git: %q, %v", ignored, err)
	}
	for name, s := range project(t, "compose.yaml").Services {
		for key := range s.Environment {
			if strings.Contains(key, "PASSWORD") && !strings.HasSuffix(key, "__FILE") {
				t.Errorf("%s has %s in its environment", name, key)
			}
		}
	}
}

// quiet is a logger for functions that want one.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
