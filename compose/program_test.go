package compose

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/types"

	"github.com/umascope/umascope/exporter"
	"github.com/umascope/umascope/loadgen"
)

// program runs one of ours with arguments and returns how it ends and what it complains of.
type program func(t *testing.T, args []string) (code int, complaint string)

func programs(t *testing.T) map[string]program {
	// The demo is internal to cmd; it is started as a person would.
	demo := filepath.Join(t.TempDir(), "uma-demo")
	if output, err := exec.CommandContext(t.Context(), "go", "build", "-o", demo, "../cmd/uma-demo").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, output)
	}
	return map[string]program{
		"umascope/uma-exporter:dev": func(t *testing.T, args []string) (int, string) {
			var stderr strings.Builder
			return exporter.Run(t.Context(), args, io.Discard, &stderr), stderr.String()
		},
		"umascope/uma-load:dev": func(t *testing.T, args []string) (int, string) {
			var stderr strings.Builder
			return loadgen.Run(t.Context(), args, io.Discard, &stderr), stderr.String()
		},
		"umascope/uma-demo:dev": func(t *testing.T, args []string) (int, string) {
			command := exec.CommandContext(t.Context(), demo, args...)
			output, err := command.CombinedOutput()
			if err != nil {
				return command.ProcessState.ExitCode(), string(output)
			}
			return 0, ""
		},
	}
}

// TestCommandsAndHealthChecksAreTheProgramsOwn parses them as the containers would, in all variants.
func TestCommandsAndHealthChecksAreTheProgramsOwn(t *testing.T) {
	ours := programs(t)
	checked := 0
	for _, files := range [][]string{{stackFile}, {stackFile, "container-names.yaml"}, {stackFile, "docker-socket.yaml"}} {
		for name, s := range project(t, files...).Services {
			run, known := ours[s.Image]
			if !known || len(files) > 1 && name != "exporter" || strings.HasPrefix(name, "sim-") {
				continue
			}
			binary := "/usr/local/bin/" + strings.TrimSuffix(strings.TrimPrefix(s.Image, "umascope/"), ":dev")
			if test := s.HealthCheck.Test; len(test) < 3 || test[1] != binary || test[2] != "healthcheck" {
				t.Errorf("%s: health is asked by %v", name, test)
			}
			for _, args := range [][]string{s.Command, s.HealthCheck.Test[2:]} {
				checked++
				if code, complaint := run(t, append(slices.Clone(args), "--help")); code != 0 {
					t.Errorf("%s: %v: exit %d, %s", name, args, code, complaint)
				}
				if code, _ := run(t, append(slices.Clone(args), "--no-such-flag")); code == 0 {
					t.Errorf("%s: %v: whatever follows is taken, so that nothing was checked", name, args)
				}
			}
		}
	}
	if checked != 12 {
		t.Errorf("%d command lines were parsed", checked)
	}
}

// TestHealthIsAskedWhereTheProgramListens, in the container that it runs in.
func TestHealthIsAskedWhereTheProgramListens(t *testing.T) {
	services := project(t, stackFile).Services
	for name, flag := range map[string]string{"results": "web.listen-address", "sim": "url"} {
		s := services[name]
		port := portOf(t, argument(s.Command, map[string]string{"results": "web.listen-address", "sim": "exporter.listen-address"}[name]))
		if asked := argument(s.HealthCheck.Test, flag); !strings.Contains(asked+"/", "127.0.0.1:"+port+"/") {
			t.Errorf("%s listens on port %s, and is asked at %s", name, port, asked)
		}
	}
	if port := portOf(t, argument(services["results"].Command, "web.listen-address")); port != portOf(t, loadgen.DefaultResultsAddress) {
		t.Errorf("results are served on port %s", port)
	}
}

// TestProgramsOfOthersAreAskedForTheirHealthToo, with what their images have.
func TestProgramsOfOthersAreAskedForTheirHealthToo(t *testing.T) {
	services := project(t, stackFile).Services
	for name, want := range map[string]string{
		"prometheus":   "CMD promtool check healthy",
		"alertmanager": "CMD wget -q -O /dev/null http://127.0.0.1:9093/-/healthy",
		"grafana":      "CMD wget -q -O /dev/null http://127.0.0.1:3000/api/health",
	} {
		if got := strings.Join(services[name].HealthCheck.Test, " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
}

// TestWhatIsKeptLiesInAVolume: a container that is made anew would else begin with nothing.
func TestWhatIsKeptLiesInAVolume(t *testing.T) {
	services := project(t, stackFile).Services
	for name, path := range map[string]string{
		"prometheus": argument(services["prometheus"].Command, "storage.tsdb.path"), "alertmanager": argument(services["alertmanager"].Command, "storage.path"),
		"grafana": "/var/lib/grafana", "sim": argument(services["sim"].Command, "runs"),
	} {
		if !slices.ContainsFunc(services[name].Volumes, func(v types.ServiceVolumeConfig) bool {
			return v.Type == types.VolumeTypeVolume && v.Source != "" && v.Target == path && !v.ReadOnly
		}) {
			t.Errorf("%s keeps its data in %q, which is no volume", name, path)
		}
	}
}

// TestRunsAreReadWhereTheyAreWritten: both have the same folder, and the one who writes needs no flag for it.
func TestRunsAreReadWhereTheyAreWritten(t *testing.T) {
	p := project(t, stackFile)
	source := func(name, target string) string {
		for _, mount := range p.Services[name].Volumes {
			if mount.Target == target {
				return mount.Source
			}
		}
		return ""
	}
	if runs := argument(p.Services["results"].Command, "runs"); source("results", runs) == "" || source("results", runs) != source("load", "/runs") {
		t.Errorf("results reads %s, a mount of %q; load writes to %q", runs, source("results", runs), source("load", "/runs"))
	}
	if at := p.Services["load"].WorkingDir; at != "/" {
		t.Errorf("load starts in %q, where runs is not the folder that is mounted", at)
	}
	if runs := argument(p.Services["sim"].Command, "runs"); source("sim", runs) == "" || source("sim", runs) != source("sim-results", argument(p.Services["sim-results"].Command, "runs")) {
		t.Errorf("the simulation writes to %s, which sim-results does not read", runs)
	}
}

// TestTheExampleOfEnginesIsOne: it is read as the exporter reads it.
func TestTheExampleOfEnginesIsOne(t *testing.T) {
	flag := argument(project(t, stackFile).Services["exporter"].Command, "targets.file")
	if folder, err := filepath.Abs(filepath.Dir(inContainer(t, "exporter", flag))); err != nil || filepath.Base(folder) != "engines" || filepath.Base(flag) != "engines.yml" {
		t.Errorf("--targets.file=%s lies in %s", flag, folder)
	}
	empty := filepath.Join(t.TempDir(), "engines.yml")
	must(t, os.WriteFile(empty, []byte("[]\n"), 0o644))
	broken := filepath.Join(t.TempDir(), "engines.yml")
	must(t, os.WriteFile(broken, []byte("- targets: [http://127.0.0.1:8000/metrics]\n"), 0o644))
	for file, want := range map[string]string{
		"engines/example.yml": `uma_engine_up{source="127.0.0.1:8000/metrics"} `,
		empty:                 `uma_collector_state{collector="engine",state="absent"} 1`,
		broken:                `uma_collector_state{collector="engine",state="failed"} 1`,
	} {
		var page strings.Builder
		code := exporter.Run(t.Context(), []string{"--once", "--collector.disable-defaults", "--collector.engine", "--targets.file=" + file}, &page, io.Discard)
		if code != 0 || !strings.Contains(page.String(), want) {
			t.Errorf("%s: exit %d, and no %s", file, code, want)
		}
	}
}

// TestNoPasswordIsCommitted, nor can be read in a container's environment.
func TestNoPasswordIsCommitted(t *testing.T) {
	for _, folder := range []string{"secrets", "runs"} {
		if ignored, err := os.ReadFile(folder + "/.gitignore"); err != nil || !strings.HasPrefix(string(ignored), "*\n") {
			t.Errorf("%s is not ignored by git: %q, %v", folder, ignored, err)
		}
	}
	ignored, err := os.ReadFile(".gitignore")
	must(t, err)
	for _, name := range []string{".env", "tls/"} { // passwords and keys
		if !slices.Contains(strings.Fields(string(ignored)), name) {
			t.Errorf("%s is not ignored by git: %q", name, ignored)
		}
	}
	p := project(t, stackFile)
	for name, s := range p.Services {
		for key := range s.Environment {
			if strings.Contains(key, "PASSWORD") && !strings.HasSuffix(key, "__FILE") {
				t.Errorf("%s has %s in its environment", name, key)
			}
		}
	}
	for secret, service := range map[string]string{"grafana-password": "grafana", "alert-receiver": "alertmanager", "alert-heartbeat": "alertmanager"} {
		if !slices.ContainsFunc(p.Services[service].Secrets, func(s types.ServiceSecretConfig) bool { return s.Source == secret }) {
			t.Errorf("%s does not get %s", service, secret)
		}
		if file := p.Secrets[secret].File; filepath.Base(file) != secret || filepath.Base(filepath.Dir(file)) != "secrets" {
			t.Errorf("%s is read from %s", secret, file)
		}
	}
	if path := *p.Services["grafana"].Environment["GF_SECURITY_ADMIN_PASSWORD__FILE"]; path != "/run/secrets/grafana-password" {
		t.Errorf("Grafana reads its password from %s", path)
	}
}
