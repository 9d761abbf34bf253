// Package compose is the stack of containers: exporter, finished runs, Prometheus, Alertmanager and Grafana, on one
// machine or on several, over real machines or a simulated one.
//
// It holds YAML, the scripts that prepare it, and no code. The tests load everything as Docker, Prometheus and Grafana
// would, compare ports, jobs and paths with the constants that the programs use, and run the scripts against a Docker
// that answers as a real one would.
package compose

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/loadgen"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// readText returns the text of a file.
func readText(t testing.TB, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	must(t, err)
	return string(text)
}

// stackFile is the stack, overrides are what is laid over it where a machine is different.
const stackFile = "compose.yaml"

func overrides() []string {
	return []string{"no-gpu.yaml", "cdi.yaml", "privileged.yaml", "unprivileged.yaml", "container-names.yaml", "docker-socket.yaml"}
}

// wholeStack is the stack with every profile, loaded once: tests only read it.
var wholeStack = sync.OnceValues(func() (*types.Project, error) {
	return loadProject(context.Background(), []string{"*"}, nil, stackFile)
})

// project loads compose files as docker compose does, relative paths and all, with every profile.
func project(t *testing.T, files ...string) *types.Project {
	t.Helper()
	if !slices.Equal(files, []string{stackFile}) {
		return load(t, []string{"*"}, nil, files...)
	}
	loaded, err := wholeStack()
	must(t, err)
	return loaded
}

func load(t *testing.T, profiles, environment []string, files ...string) *types.Project {
	t.Helper()
	loaded, err := loadProject(t.Context(), profiles, environment, files...)
	must(t, err)
	return loaded
}

// loadProject takes nothing from this machine: neither its environment nor an .env that lies about.
func loadProject(ctx context.Context, profiles, environment []string, files ...string) (*types.Project, error) {
	options, err := cli.NewProjectOptions(files, cli.WithWorkingDirectory("."), cli.WithProfiles(profiles), cli.WithEnv(environment), cli.WithoutUnnecessaryResources)
	if err != nil {
		return nil, err
	}
	return options.LoadProject(ctx)
}

// simulated are the services of the simulation, each with the live one that it is a copy of.
func simulated() map[string]string {
	return map[string]string{"sim-results": "results", "sim-prometheus": "prometheus", "sim-alertmanager": "alertmanager", "sim-grafana": "grafana"}
}

func TestEveryProfileHasItsServicesAndNoServiceIsWithoutOne(t *testing.T) {
	for profile, want := range map[string][]string{
		"default":  {"alertmanager", "exporter", "grafana", "prometheus", "results"},
		"exporter": {"exporter"},
		"hub":      {"alertmanager", "grafana", "prometheus", "results"},
		"load":     {"load"},
		"sim":      {"sim", "sim-alertmanager", "sim-grafana", "sim-prometheus", "sim-results"},
		"":         nil,
	} {
		got := load(t, []string{profile}, nil, stackFile).ServiceNames()
		if !slices.Equal(got, want) {
			t.Errorf("profile %q starts %v, want %v", profile, got, want)
		}
	}
}

func TestEveryOverrideLoadsAndTouchesTheExporterOnly(t *testing.T) {
	whole := project(t, stackFile)
	for _, file := range overrides() {
		changed := project(t, stackFile, file)
		for name, s := range changed.Services {
			changes := name == "exporter" && file != "unprivileged.yaml" // which is empty: the default has no privilege
			if alike := marshalled(t, s) == marshalled(t, whole.Services[name]); alike == changes {
				t.Errorf("%s: service %s is as before: %v", file, name, alike)
			}
		}
	}
	found, err := filepath.Glob("*.yaml")
	must(t, err)
	for _, file := range found {
		if file != stackFile && !slices.Contains(overrides(), file) && file != digestsFile {
			t.Errorf("%s is tried by no test", file)
		}
	}
}

func TestEveryServiceHasLimits(t *testing.T) {
	for name, s := range project(t, stackFile).Services {
		if s.MemLimit <= 0 || s.PidsLimit <= 0 || s.Logging == nil || s.Logging.Options["max-size"] == "" {
			t.Errorf("%s: memory %d, processes %d, logging %v", name, s.MemLimit, s.PidsLimit, s.Logging)
		}
		// A client that is throttled measures itself.
		if (s.CPUS > 0) != (name != "load") {
			t.Errorf("%s: %v CPUs", name, s.CPUS)
		}
		if s.HealthCheck == nil || len(s.HealthCheck.Test) < 2 || s.HealthCheck.Test[0] != "CMD" {
			t.Errorf("%s has no health check of its own program", name)
		}
		if s.ContainerName != "" {
			t.Errorf("%s has a fixed name: a second stack could not start", name)
		}
		if want := map[bool]string{true: "no", false: "unless-stopped"}[name == "load"]; s.Restart != want {
			t.Errorf("%s is started again: %q", name, s.Restart)
		}
	}
}

func TestPortsArePublishedOnLoopbackOnly(t *testing.T) {
	for _, profile := range []string{"default", "sim"} {
		published := map[string]bool{}
		for name, s := range load(t, []string{profile}, nil, stackFile).Services {
			for _, port := range s.Ports {
				if port.HostIP != "127.0.0.1" || published[port.Published] {
					t.Errorf("%s publishes %s on %q", name, port.Published, port.HostIP)
				}
				if port.Published != fmt.Sprint(port.Target) { // unless .env says so
					t.Errorf("%s: port %d is found at %s", name, port.Target, port.Published)
				}
				published[port.Published] = true
			}
		}
		for _, port := range []string{"3000", "9090", "9093", portOf(t, loadgen.DefaultResultsAddress)} {
			if !published[port] {
				t.Errorf("profile %s: port %s is not published", profile, port)
			}
		}
	}
}

// TestEverythingMountedExistsAndIsReadOnly: generated files are mounted where they are, never copied. A folder is,
// and no file: editors replace files, and what is mounted would stay the old one.
func TestEverythingMountedExistsAndIsReadOnly(t *testing.T) {
	bound := map[string]bool{}
	for name, s := range project(t, stackFile).Services {
		for _, mount := range s.Volumes {
			if mount.Type != types.VolumeTypeBind {
				continue
			}
			bound[mount.Source] = true
			if info, err := os.Stat(mount.Source); err != nil || !info.IsDir() {
				t.Errorf("%s mounts %s, which is no folder: %v", name, mount.Source, err)
			}
			if writes := name == "load" && mount.Target == "/runs"; mount.ReadOnly == writes {
				t.Errorf("%s mounts %s read-only: %v", name, mount.Source, mount.ReadOnly)
			}
		}
		if s.Build != nil {
			if _, err := os.Stat(filepath.Join(s.Build.Context, s.Build.Dockerfile)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for _, folder := range []string{"../alerts", "../dashboards", "runs", "engines"} {
		path, err := filepath.Abs(folder)
		must(t, err)
		if !bound[path] {
			t.Errorf("%s is not mounted", folder)
		}
	}
}

// TestTheExporterListensWhereItIsLookedFor follows its addresses through all files. uma-load looks on loopback,
// Prometheus at the address of the host on the stack's network.
func TestTheExporterListensWhereItIsLookedFor(t *testing.T) {
	for _, environment := range [][]string{nil, {"UMASCOPE_NETWORK=10.9.8"}} {
		p := load(t, []string{"*"}, environment, stackFile)
		gateway := p.Networks["monitoring"].Ipam.Config[0].Gateway
		s := p.Services["exporter"]
		want := []string{exporter.DefaultAddress, net.JoinHostPort(gateway, portOf(t, exporter.DefaultAddress))}
		if got := arguments(s.Command, "web.listen-address"); !slices.Equal(got, want) {
			t.Errorf("listens on %v, want %v", got, want)
		}
		if got := argument(s.HealthCheck.Test, "url"); got != "http://"+exporter.DefaultAddress+"/-/healthy" {
			t.Errorf("health is asked at %s", got)
		}
		live := net.JoinHostPort(gateway, portOf(t, loadgen.DefaultAddress))
		if got := p.Services["load"].Environment[loadgen.AddressVariable]; got == nil || *got != live {
			t.Errorf("live metrics of a run are at %v, want %s", got, live)
		}
		if loadgen.LocalExporter != "http://"+exporter.DefaultAddress+"/metrics" {
			t.Errorf("uma-load looks for an exporter at %s", loadgen.LocalExporter)
		}
	}
	there := load(t, []string{"exporter"}, []string{"UMASCOPE_EXPORTER_ADDRESS=192.168.100.10"}, stackFile)
	if got := arguments(there.Services["exporter"].Command, "web.listen-address"); !slices.Contains(got, "192.168.100.10:10420") {
		t.Errorf("a hub does not reach it at %v", got)
	}
	if len(there.Networks) > 0 {
		t.Errorf("a network is made for nobody: %v", there.NetworkNames())
	}
}

// TestExampleSettingsAreTheDefaults: .env.example is what a person reads, compose.yaml what holds.
func TestExampleSettingsAreTheDefaults(t *testing.T) {
	text := readText(t, ".env.example")
	var environment []string
	for _, match := range regexp.MustCompile(`(?m)^(\w+=.*)$`).FindAllStringSubmatch(text, -1) {
		if !strings.HasPrefix(match[1], "UMASCOPE_HOST=") { // of which there is no default
			environment = append(environment, match[1])
		}
	}
	without, with := project(t, stackFile), load(t, []string{"*"}, environment, stackFile)
	if marshalled(t, without.Services) != marshalled(t, with.Services) || marshalled(t, without.Networks) != marshalled(t, with.Networks) {
		t.Errorf("%q change what compose.yaml has without them", environment)
	}
	stack := readText(t, stackFile)
	for _, match := range regexp.MustCompile(`\$\{(\w+)`).FindAllStringSubmatch(stack, -1) {
		build := match[1] == "UMASCOPE_VERSION" || match[1] == "UMASCOPE_REVISION" // a release sets them, no person
		if strings.Contains(text, match[1]+"=") == build {
			t.Errorf(".env.example has %s: %v", match[1], build)
		}
	}
}

// argument is the value of --flag=value, arguments all of them.
func argument(command []string, flag string) string {
	if all := arguments(command, flag); len(all) > 0 {
		return all[0]
	}
	return ""
}

func arguments(command []string, flag string) (all []string) {
	for _, word := range command {
		if value, found := strings.CutPrefix(word, "--"+flag+"="); found {
			all = append(all, value)
		}
	}
	return all
}

func portOf(t *testing.T, address string) string {
	t.Helper()
	_, port, err := net.SplitHostPort(address)
	must(t, err)
	return port
}

// quiet is a logger for functions that want one.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
