package compose

import (
	"io"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/umascope/umascope/exporter"
)

// privileges are what a service may do beyond running its program in a room of its own.
type privileges struct {
	user                   string
	adds                   []string
	security               []string
	pid, cgroup, network   string // namespaces of the host
	devices                int    // requests for GPUs
	writes, sees           []string
	privileged, ipc, extra bool
}

func noNewPrivileges(more ...string) []string {
	return append([]string{"no-new-privileges:true"}, more...)
}

// privilegesOf is all that compose can give.
func privilegesOf(s types.ServiceConfig) privileges {
	p := privileges{
		user: s.User, adds: s.CapAdd, security: s.SecurityOpt, pid: s.Pid, cgroup: s.Cgroup, network: s.NetworkMode,
		privileged: s.Privileged || !s.ReadOnly || !slices.Equal(s.CapDrop, []string{"ALL"}),
		ipc:        s.Ipc != "" || s.Uts != "" || s.UserNSMode != "",
		extra:      len(s.Devices)+len(s.GroupAdd)+len(s.Sysctls)+len(s.VolumesFrom)+len(s.Gpus)+len(s.DeviceCgroupRules) > 0 || s.CgroupParent != "" || s.UseAPISocket,
	}
	if s.Deploy != nil && s.Deploy.Resources.Reservations != nil {
		p.devices = len(s.Deploy.Resources.Reservations.Devices)
	}
	for _, mount := range s.Volumes {
		switch {
		case mount.Type != types.VolumeTypeBind:
		case !mount.ReadOnly:
			p.writes = append(p.writes, mount.Target)
		case !strings.HasPrefix(mount.Target, "/etc/") && mount.Target != "/runs":
			p.sees = append(p.sees, mount.Source)
		}
	}
	return p
}

// TestServicesHaveTheLeastThatTheyNeed holds the contract as one table. A change of it is a change of the threat model.
func TestServicesHaveTheLeastThatTheyNeed(t *testing.T) {
	unprivileged := privileges{user: "65534:65534", security: noNewPrivileges()}
	want := map[string]privileges{
		"exporter": {
			user: "65534:65534", security: noNewPrivileges(),
			pid: "host", cgroup: "host", network: "host", devices: 1, sees: []string{"/proc", "/sys"},
		},
		"results": unprivileged, "prometheus": unprivileged, "alertmanager": unprivileged,
		"sim": unprivileged, "sim-results": unprivileged, "sim-prometheus": unprivileged, "sim-alertmanager": unprivileged,
		"grafana": {user: "472:0", security: noNewPrivileges()}, "sim-grafana": {user: "472:0", security: noNewPrivileges()},
		"load": {user: "65534:65534", security: noNewPrivileges(), network: "host", writes: []string{"/runs"}},
	}
	services := project(t, stackFile).Services
	for name, s := range services {
		comparePrivileges(t, name, privilegesOf(s), want[name])
	}
	if len(services) != len(want) {
		t.Errorf("%d services, and %d in the table", len(services), len(want))
	}
}

func comparePrivileges(t *testing.T, name string, got, want privileges) {
	t.Helper()
	for _, list := range []*[]string{&got.adds, &got.security, &got.writes, &got.sees, &want.adds, &want.security, &want.writes, &want.sees} {
		if len(*list) == 0 {
			*list = nil
		}
	}
	if a, b := describe(got), describe(want); a != b {
		t.Errorf("%s has\n%s, want\n%s", name, a, b)
	}
}

func describe(p privileges) string {
	yes := map[bool]string{true: "yes", false: "no"}
	return strings.Join([]string{
		"user " + p.user, "adds " + strings.Join(p.adds, ","), "security " + strings.Join(p.security, ","), "pid " + p.pid, "cgroup " + p.cgroup,
		"network " + p.network, "GPUs " + strings.Repeat("|", p.devices), "writes " + strings.Join(p.writes, ","), "sees " + strings.Join(p.sees, ","),
		"privileged " + yes[p.privileged], "ipc " + yes[p.ipc], "extra " + yes[p.extra],
	}, "; ")
}

// TestOverridesChangeThePrivilegesTheyName: each is compared with the whole exporter.
func TestOverridesChangeThePrivilegesTheyName(t *testing.T) {
	for file, change := range map[string]func(*privileges){
		"no-gpu.yaml": func(p *privileges) { p.devices = 0 },
		"cdi.yaml":    func(*privileges) {},
		"privileged.yaml": func(p *privileges) {
			p.user, p.adds, p.security = "0:0", []string{"SYS_PTRACE", "DAC_READ_SEARCH"}, noNewPrivileges("apparmor=unconfined")
		},
		"unprivileged.yaml":    func(*privileges) {},
		"container-names.yaml": func(*privileges) {},
		"docker-socket.yaml":   func(p *privileges) { p.writes = []string{"/var/run/docker.sock"} },
	} {
		want := privilegesOf(project(t, stackFile).Services["exporter"])
		change(&want)
		changed := project(t, stackFile, file).Services["exporter"]
		comparePrivileges(t, file, privilegesOf(changed), want)
		if asks := file != "no-gpu.yaml" && file != "cdi.yaml"; (len(changed.Environment) > 0) != asks { // which the NVIDIA runtime reads
			t.Errorf("%s: environment %v", file, changed.Environment)
		}
	}
	device := project(t, stackFile, "cdi.yaml").Services["exporter"].Deploy.Resources.Reservations.Devices[0]
	if device.Driver != "cdi" || !slices.Equal(device.IDs, []string{"nvidia.com/gpu=all"}) || device.Count != 0 {
		t.Errorf("cdi.yaml asks for %+v", device)
	}
}

// TestOverridesThatRepeatTheArgumentsRepeatThemAll: compose replaces a list of them as a whole.
func TestOverridesThatRepeatTheArgumentsRepeatThemAll(t *testing.T) {
	whole := project(t, stackFile).Services["exporter"].Command
	for file, more := range map[string]string{
		"container-names.yaml": "--cgroup.names-file=/etc/umascope/engines/names", "docker-socket.yaml": "--cgroup.runtime-socket=/var/run/docker.sock",
	} {
		if got := project(t, stackFile, file).Services["exporter"].Command; !slices.Equal(got, append(slices.Clone(whole), more)) {
			t.Errorf("%s says %v, compose.yaml %v", file, got, whole)
		}
	}
}

// TestTheExporterSeesTheHost: the paths that it is told are those that are mounted.
func TestTheExporterSeesTheHost(t *testing.T) {
	s := project(t, stackFile).Services["exporter"]
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

// TestWhatUnprivilegedLosesIsInTheTable: the tests of package exporter start it with and without these very
// capabilities, and hold PRIVILEGES.md to what its page then lacks. Here: that the default lacks what that table calls
// ptrace, and nothing by which another need is met.
func TestWhatUnprivilegedLosesIsInTheTable(t *testing.T) {
	text, err := os.ReadFile("../exporter/PRIVILEGES.md")
	must(t, err)
	taken := []string{"SYS_PTRACE", "DAC_READ_SEARCH"}
	lost := map[string]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| (\\w+) \\| `(\\w+)` \\| .* \\| (.*) \\|$").FindAllStringSubmatch(string(text), -1) {
		collector, need, mends := row[1], row[2], row[3]
		if strings.Contains(mends, "--cap-add="+taken[0]) && strings.Contains(mends, "--cap-add="+taken[1]) {
			lost[collector+" "+need] = true
		}
	}
	if want := map[string]bool{"process ptrace": true, "kvbm ptrace": true, "cufile ptrace": true, "engine ptrace": true}; !maps.Equal(lost, want) {
		t.Errorf("lost without them by PRIVILEGES.md: %v, want %v", lost, want)
	}
	if !strings.Contains(string(text), "unprivileged container ([compose](../compose/compose.yaml)") {
		t.Error("PRIVILEGES.md does not name the default")
	}
	readme := readText(t, "README.md")
	for loss := range lost {
		if collector, _, _ := strings.Cut(loss, " "); !strings.Contains(section(t, readme, "Without privileges"), "`"+collector+"`") {
			t.Errorf("README.md does not say that %s loses something", collector)
		}
	}
}

// section is the text below a heading of the second level.
func section(t *testing.T, text, heading string) string {
	t.Helper()
	_, after, found := strings.Cut(text, "\n## "+heading+"\n")
	if !found {
		t.Fatalf("no section %q", heading)
	}
	below, _, _ := strings.Cut(after, "\n## ")
	return below
}

// TestTheDoctorRunsAsInTheReadme, with the paths that the container has.
func TestTheDoctorRunsAsInTheReadme(t *testing.T) {
	text, err := os.ReadFile("README.md")
	must(t, err)
	command := project(t, stackFile).Services["exporter"].Command
	match := regexp.MustCompile("docker compose exec exporter uma-exporter (doctor [^`\n]*)").FindSubmatch(text)
	if match == nil {
		t.Fatal("no doctor in README.md")
	}
	args := strings.Fields(string(match[1]))
	for _, path := range []string{"path.procfs", "path.sysfs", "path.cgroupfs"} {
		if argument(args, path) != argument(command, path) {
			t.Errorf("--%s is %q", path, argument(args, path))
		}
	}
	var stderr strings.Builder
	if code := exporter.Run(t.Context(), append(args, "--help"), io.Discard, &stderr); code != 0 {
		t.Errorf("exit %d, %s", code, stderr.String())
	}
}

// TestPagesAboutPrivilegesNameTheirCost: whoever turns it on reads it there, and in the pages about it.
func TestPagesAboutPrivilegesNameTheirCost(t *testing.T) {
	for _, file := range []string{"privileged.yaml", "README.md", "SECURITY.md", "kubernetes/capabilities/kustomization.yaml", "kubernetes/README.md"} {
		text := readText(t, file)
		if !strings.Contains(text, "/proc/PID/root") {
			t.Errorf("%s does not say that root in it can write through /proc/PID/root", file)
		}
	}
}

// TestTheOverlayOfKubernetesGivesWhatPrivilegedGives, to the same user.
func TestTheOverlayOfKubernetesGivesWhatPrivilegedGives(t *testing.T) {
	text := readText(t, "kubernetes/capabilities/exporter.yaml")
	gives := privilegesOf(project(t, stackFile, "privileged.yaml").Services["exporter"])
	user, _, _ := strings.Cut(gives.user, ":")
	for _, line := range []string{"add: [" + strings.Join(gives.adds, ", ") + "]", "runAsUser: " + user + " ", "drop: [ALL]"} {
		if !strings.Contains(text, line) {
			t.Errorf("the overlay lacks %q", line)
		}
	}
}
