package compose

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/metric"
)

// docker stands for the real one: it answers as one with compose would, from variables of the environment, and writes
// down what it was asked.
const docker = `#!/usr/bin/env bash
echo "$*" >>"$ASKED"
case "$*" in
  "compose version --short") echo "${COMPOSE_VERSION-2.40.3}" ;;
  "info --format {{.ServerVersion}}") [ -z "${NO_ENGINE-}" ] || { echo "Cannot connect to the Docker daemon" >&2; exit 1; } ;;
  info*) echo "{\"runc\":{}${RUNTIME-}}" ;;
  "compose ps --services") printf '%s' "${RUNNING-}" ;;
  compose*config*) echo "${OWN-prometheus}" ;;
  "network ls"*) echo one ;;
  "network inspect"*) printf '%s\n' "${NETWORKS-bridge 172.17.0.0/16}" ;;
  compose*up*) exit "${UP-0}" ;;
  compose*ps*) printf 'prometheus running healthy\nexporter exited \n' ;;
  "buildx version") [ -z "${NO_BUILDX-}" ] ;;
  compose*kill*) ;;
  compose*logs*exporter) echo "uma-exporter: --web.listen-address 127.0.0.1:10420: address already in use" ;;
  *) echo "unexpected: $*" >&2; exit 99 ;;
esac
`

// upTools are the programs that up may use; docker is not one of them, so that it can be missing.
func upTools() []string {
	return []string{"bash", "env", "sed", "tail", "head", "base64", "uname", "id", "mv", "cat", "chmod", "mkdir", "stat", "chown", "find", "grep", "xargs", "dirname", "rm"}
}

// checkout is a copy of what up works on.
type checkout struct{ compose, bin, asked string }

func newCheckout(t *testing.T) checkout {
	t.Helper()
	root := t.TempDir()
	c := checkout{compose: filepath.Join(root, "compose"), bin: filepath.Join(root, "bin"), asked: filepath.Join(root, "asked")}
	for _, folder := range []string{"compose/prometheus/targets", "compose/secrets", "compose/runs", "compose/engines", "compose/grafana", "alerts", "dashboards", "bin"} {
		must(t, os.MkdirAll(filepath.Join(root, folder), 0o755))
	}
	for _, name := range []string{"up", "prepare.bash", ".env.example"} {
		text := readText(t, name)
		c.write(t, name, text, 0o755)
	}
	for _, tool := range upTools() {
		path, err := exec.LookPath(tool)
		must(t, err)
		must(t, os.Symlink(path, filepath.Join(c.bin, tool)))
	}
	c.write(t, "../bin/docker", docker, 0o755)
	return c
}

func (c checkout) write(t *testing.T, name, text string, mode os.FileMode) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(c.compose, name), []byte(text), mode))
}

func (c checkout) read(t *testing.T, name string) string {
	t.Helper()
	text := readText(t, filepath.Join(c.compose, name))
	return text
}

// set changes a line of .env, as a person would.
func (c checkout) set(t *testing.T, variable, value string) {
	t.Helper()
	line := regexp.MustCompile(`(?m)^#?` + variable + `=.*$`)
	text := c.read(t, ".env")
	if !line.MatchString(text) {
		t.Fatalf("no %s in .env", variable)
	}
	c.write(t, ".env", line.ReplaceAllString(text, variable+"="+value), 0o600)
}

// up runs the command with more in its environment, and returns what it printed and how it ended.
func (c checkout) up(t *testing.T, more []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join(c.compose, "up"), args...)
	command.Env = []string{"PATH=" + c.bin, "ASKED=" + c.asked}
	for _, variable := range []string{"GRAFANA", "PROMETHEUS", "ALERTMANAGER", "RESULTS"} { // whoever tests this may run the stack
		command.Env = append(command.Env, "UMASCOPE_"+variable+"_PORT=1")
	}
	command.Env = append(command.Env, more...)
	var out, complaints strings.Builder
	command.Stdout, command.Stderr = &out, &complaints
	err := command.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return out.String(), complaints.String(), command.ProcessState.ExitCode()
}

// started says whether docker was told to start anything, and with what.
func (c checkout) started(t *testing.T) string {
	t.Helper()
	asked, err := os.ReadFile(c.asked)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(asked)) {
		if strings.Contains(line, " up ") {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// prepared is a checkout in which all is made and nothing started.
func prepared(t *testing.T) checkout {
	t.Helper()
	c := newCheckout(t)
	if _, stderr, code := c.up(t, nil, "--prepare", "default"); code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	return c
}

func TestUpMakesWhatIsMissingAndStarts(t *testing.T) {
	c := newCheckout(t)
	stdout, stderr, code := c.up(t, []string{"RUNTIME=,\"nvidia\":{}"})
	if code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	if got, want := c.started(t), "compose --profile default up --detach --wait --wait-timeout 300"; got != want {
		t.Errorf("starts by %q, want %q", got, want)
	}
	host, err := os.Hostname()
	must(t, err)
	for _, line := range []string{"COMPOSE_PROFILES=default\n", "COMPOSE_FILE=compose.yaml\n", "UMASCOPE_HOST=" + host + "\n"} {
		if !strings.Contains(c.read(t, ".env"), line) {
			t.Errorf(".env lacks %q", line)
		}
	}
	for name, want := range map[string]string{"exporter.yml": "172.30.104.1:10420", "load.yml": "172.30.104.1:10421"} {
		groups := parseTargets(t, []byte(c.read(t, "prometheus/targets/"+name)))
		if len(groups) != 1 || !slices.Equal(groups[0].Targets, []string{want}) || len(groups[0].Labels) != 1 || groups[0].Labels[string(metric.LabelHost)] != host {
			t.Errorf("%s: %v", name, groups)
		}
	}
	password := strings.TrimSpace(c.read(t, "secrets/grafana-password"))
	asked := readText(t, c.asked)
	if len(password) < 24 || strings.Contains(stdout+stderr+asked, password) || !strings.Contains(stdout, "secrets/grafana-password") {
		t.Errorf("password %q; printed: %s", password, stdout)
	}
	for name, want := range map[string]os.FileMode{ // a folder that only its owner enters, files that containers read
		".env": 0o600, "secrets": 0o700, "secrets/grafana-password": 0o644, "secrets/alert-receiver": 0o644, "secrets/alert-heartbeat": 0o644,
		"prometheus/targets/exporter.yml": 0o644, "prometheus/targets/load.yml": 0o644, "engines/engines.yml": 0o644,
	} {
		info, err := os.Stat(filepath.Join(c.compose, name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode().Perm(), err)
		}
	}
}

func TestUpNeverOverwrites(t *testing.T) {
	c := prepared(t)
	files := []string{".env", "secrets/grafana-password", "secrets/alert-receiver", "engines/engines.yml", "prometheus/targets/exporter.yml", "prometheus/targets/load.yml"}
	before := map[string]string{}
	for _, name := range files {
		before[name] = c.read(t, name)
	}
	if _, stderr, code := c.up(t, nil); code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	for _, name := range files {
		if c.read(t, name) != before[name] {
			t.Errorf("%s has changed", name)
		}
	}
	// What it wrote follows .env; what somebody took over does not.
	c.write(t, "prometheus/targets/load.yml", "# mine\n[]\n", 0o644)
	c.set(t, "UMASCOPE_HOST", "spark-1")
	c.set(t, "UMASCOPE_NETWORK", "10.9.8")
	if _, stderr, code := c.up(t, nil); code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	if groups := parseTargets(t, []byte(c.read(t, "prometheus/targets/exporter.yml"))); groups[0].Labels["host"] != "spark-1" || groups[0].Targets[0] != "10.9.8.1:10420" {
		t.Errorf("targets %v", groups)
	}
	if c.read(t, "prometheus/targets/load.yml") != "# mine\n[]\n" {
		t.Error("a file that somebody took over has changed")
	}
}

// TestAPortThatIsTakenByWhatRunsIsNoTrouble, and one of a service that could not be started is.
func TestAPortThatIsTakenByWhatRunsIsNoTrouble(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	environment := []string{"UMASCOPE_GRAFANA_PORT=" + portOf(t, taken.Addr().String()), "OWN=grafana\nprometheus"}
	c := prepared(t)
	if _, stderr, code := c.up(t, append(environment, "RUNNING=grafana\n")); code != 0 {
		t.Errorf("exit %d, %s", code, stderr)
	}
	if _, stderr, code := c.up(t, append(environment, "RUNNING=prometheus\n")); code != 2 || !strings.Contains(stderr, "is taken: set UMASCOPE_GRAFANA_PORT") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

func TestUpChoosesHowToGetAtGPUs(t *testing.T) {
	files, output := "compose.yaml:no-gpu.yaml", "no-gpu.yaml is added"
	for _, specifications := range []string{"/etc/cdi/nvidia*", "/var/run/cdi/nvidia*"} {
		if found, err := filepath.Glob(specifications); err != nil {
			t.Fatal(err)
		} else if len(found) > 0 {
			files, output = "compose.yaml:cdi.yaml", "cdi.yaml"
		}
	}
	c := newCheckout(t)
	stdout, stderr, code := c.up(t, nil, "--prepare")
	if code != 0 || !strings.Contains(stdout+stderr, output) || !strings.Contains(c.read(t, ".env"), "COMPOSE_FILE="+files+"\n") {
		t.Errorf("want %s: exit %d, %s%s", files, code, stdout, stderr)
	}
}

// TestAHubLooksForNoExporterOfItsOwn: the one that default has would be missed, and somebody woken.
func TestAHubLooksForNoExporterOfItsOwn(t *testing.T) {
	c := prepared(t)
	targets := filepath.Join(c.compose, "prometheus/targets")
	c.write(t, "prometheus/targets/exporter-found.yml", "[]\n", 0o644)
	if _, stderr, code := c.up(t, nil, "hub"); code != 0 {
		t.Fatalf("exit %d, %s", code, stderr)
	}
	left, err := filepath.Glob(targets + "/*.yml")
	if err != nil || !slices.Equal(left, []string{targets + "/exporter-found.yml", targets + "/load.yml"}) {
		t.Errorf("targets %v, %v", left, err)
	}
	c.write(t, "prometheus/targets/exporter.yml", "# mine\n[]\n", 0o644)
	if _, stderr, code := c.up(t, nil, "hub"); code != 0 || c.read(t, "prometheus/targets/exporter.yml") == "" {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

func TestUpStartsTheSimulationWithNothingPrepared(t *testing.T) {
	c := newCheckout(t)
	stdout, stderr, code := c.up(t, nil, "sim")
	if code != 0 || !strings.HasPrefix(c.started(t), "compose --profile sim up ") || !strings.Contains(stdout, "simulated") {
		t.Errorf("exit %d, %s%s", code, stdout, stderr)
	}
	if _, err := os.Stat(filepath.Join(c.compose, "secrets/grafana-password")); err == nil {
		t.Error("it made a password that nobody asks for")
	}
}

// TestUpReportsFaultsInOneLine, before anything is started.
func TestUpReportsFaultsInOneLine(t *testing.T) {
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	must(t, err)
	defer taken.Close()
	port := portOf(t, taken.Addr().String())
	for name, test := range map[string]struct {
		change      func(*testing.T, checkout)
		environment []string
		args        []string
		says        string
		code        int
	}{
		"no docker":       {change: func(t *testing.T, c checkout) { remove(t, filepath.Join(c.bin, "docker")) }, says: "docker is not installed", code: 2},
		"old compose":     {environment: []string{"COMPOSE_VERSION=v2.23.3"}, says: "docker compose is 2.23.3, and 2.24 or later is needed", code: 2},
		"no buildx":       {environment: []string{"COMPOSE_VERSION=5.0.2", "NO_BUILDX=1"}, says: "docker has no buildx", code: 2},
		"no engine":       {environment: []string{"NO_ENGINE=1"}, says: "the Docker engine does not answer: Cannot connect", code: 2},
		"port taken":      {environment: []string{"UMASCOPE_GRAFANA_PORT=" + port}, says: "port " + port + " is taken: set UMASCOPE_GRAFANA_PORT", code: 2},
		"network taken":   {environment: []string{"NETWORKS=other 172.30.0.0/16"}, says: "network 172.30.104.0/24 is taken by Docker's network other (172.30.0.0/16)", code: 2},
		"another profile": {environment: []string{"RUNNING=sim\n"}, says: "sim runs, which is not of profile default", code: 1},
		"bad name":        {environment: []string{"UMASCOPE_HOST=a: b"}, says: "UMASCOPE_HOST=a: b", code: 2},
		"bad network":     {environment: []string{"UMASCOPE_NETWORK=172.30"}, says: "UMASCOPE_NETWORK=172.30", code: 2},
		"no number":       {environment: []string{"UMASCOPE_NETWORK=172.30.256"}, says: "UMASCOPE_NETWORK=172.30.256", code: 2},
		"no name":         {change: func(t *testing.T, c checkout) { c.set(t, "UMASCOPE_HOST", "") }, says: "UMASCOPE_HOST in .env is not set", code: 2},
		"no files":        {change: func(t *testing.T, c checkout) { c.set(t, "COMPOSE_FILE", "") }, says: "COMPOSE_FILE in .env is empty", code: 2},
		"bad port":        {environment: []string{"UMASCOPE_GRAFANA_PORT=web"}, says: "UMASCOPE_GRAFANA_PORT=web in .env", code: 2},
		"high port":       {environment: []string{"UMASCOPE_RESULTS_PORT=65536"}, says: "UMASCOPE_RESULTS_PORT=65536 in .env", code: 2},
		"closed secret": {change: func(t *testing.T, c checkout) {
			c.write(t, "secrets/alert-receiver", "https://one.example/hook", 0o600)
			must(t, os.Chmod(filepath.Join(c.compose, "secrets/alert-receiver"), 0o600))
		}, says: "containers cannot read secrets/alert-receiver: chmod o+r", code: 2},
		"no address": {args: []string{"exporter"}, says: "say in .env at which address", code: 2},
		"closed files": {change: func(t *testing.T, c checkout) {
			c.write(t, "prometheus/prometheus.yml", "", 0o600)
		}, says: "containers cannot read prometheus/prometheus.yml: chmod", code: 2},
		"runs in the way": {change: func(t *testing.T, c checkout) {
			c.write(t, "file", "", 0o644)
		}, environment: []string{"UMASCOPE_RUNS=./file/runs"}, says: "the folder of runs, ./file/runs, cannot be made", code: 2},
	} {
		t.Run(name, func(t *testing.T) {
			c := prepared(t)
			if test.change != nil {
				test.change(t, c)
			}
			_, stderr, code := c.up(t, test.environment, test.args...)
			lines := strings.Split(strings.TrimSpace(stderr), "\n")
			if code != test.code || !strings.Contains(lines[len(lines)-1], "up: "+test.says) {
				t.Errorf("exit %d: %s", code, stderr)
			}
			if by := c.started(t); by != "" {
				t.Errorf("started by %q", by)
			}
		})
	}
	c := newCheckout(t)
	if _, stderr, code := c.up(t, nil, "everything"); code != 2 || !strings.Contains(stderr, "up: everything is none of these") {
		t.Errorf("exit %d: %s", code, stderr)
	}
	if _, err := os.Stat(filepath.Join(c.compose, ".env")); err == nil {
		t.Error(".env was made for a profile that there is none of")
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	must(t, os.Remove(path))
}

// TestUpNamesTheServiceThatFails, and the last line that it said.
func TestUpNamesTheServiceThatFails(t *testing.T) {
	c := prepared(t)
	_, stderr, code := c.up(t, []string{"UP=1"})
	if code != 1 || !strings.Contains(stderr, "up: exporter is exited") || !strings.Contains(stderr, "127.0.0.1:10420: address already in use") || strings.Contains(stderr, "up: prometheus") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}

func TestNetworksOverlapWhereTheyShareAnAddress(t *testing.T) {
	for _, test := range []struct {
		other string
		want  bool
	}{
		{"172.30.104.0/24", true}, {"172.30.0.0/16", true}, {"172.30.104.128/25", true}, {"172.16.0.0/12", true}, {"0.0.0.0/0", true}, {"172.30.104.1/32", true},
		{"172.30.105.0/24", false}, {"172.30.103.0/24", false}, {"172.31.0.0/16", false}, {"10.0.0.0/8", false}, {"fd00::/64", false}, {"", false},
	} {
		script := fmt.Sprintf(". ./prepare.bash; if overlaps '%s' 172.30.104.0/24; then echo true; else echo false; fi", test.other)
		out, err := exec.CommandContext(t.Context(), "bash", "-euc", script).CombinedOutput()
		if err != nil || strings.TrimSpace(string(out)) != fmt.Sprint(test.want) {
			t.Errorf("%q overlaps: %s, %v", test.other, out, err)
		}
	}
}
