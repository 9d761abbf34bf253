package exporter_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// variant is a way to start the exporter.
type variant struct {
	name string
	// uid and capabilities are those of the process; all are under no-new-privileges.
	uid          int
	capabilities []string
	// elsewhere reports that the host's procfs is not at /proc, as in a container.
	elsewhere bool
	// inspects reports that it may inspect processes of other users.
	inspects bool
}

// nobody owns no process here.
const nobodyUID = 65534

// variants are what the documents tell people to run, and two mistakes. They can be tried as root only,
// which tests in containers are; another user tries what it is itself, an unprivileged process. That
// recorded hosts lose the same series is tested everywhere, where the needs of the collectors are.
func variants() []variant {
	if uid := os.Getuid(); uid != 0 {
		return []variant{{name: "unprivileged", uid: uid}}
	}
	both := []string{"sys_ptrace", "dac_read_search"}
	return []variant{
		{name: "native service: own user, ambient capabilities", uid: nobodyUID, capabilities: both, inspects: true},
		{name: "container: root with two capabilities, host's procfs mounted", uid: 0, capabilities: both, elsewhere: true, inspects: true},
		{name: "unprivileged", uid: nobodyUID},
		{name: "unprivileged container", uid: nobodyUID, elsewhere: true},
		{name: "ptrace alone: files of mode 0400 stay closed", uid: nobodyUID, capabilities: []string{"sys_ptrace"}},
		{name: "read search alone: the kernel asks for ptrace", uid: nobodyUID, capabilities: []string{"dac_read_search"}},
	}
}

// start is the command, brought into the state of the variant by setpriv (util-linux), which is part of
// every Debian. Ambient capabilities are the only ones that a process of another user keeps.
func (v variant) start(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	path, err := buildCommand()
	must(t, err)
	if err := os.Chmod(commandDir, 0o755); err != nil { // or another user cannot start what is in it
		t.Fatal(err)
	}
	line := []string{"--no-new-privs"}
	if os.Getuid() == 0 {
		line = append(line, "--reuid="+fmt.Sprint(v.uid), "--regid="+fmt.Sprint(v.uid), "--clear-groups",
			"--bounding-set="+capabilitySet(v.capabilities), "--inh-caps="+capabilitySet(v.capabilities))
		if v.uid != 0 {
			line = append(line, "--ambient-caps="+capabilitySet(v.capabilities))
		}
	}
	if v.elsewhere {
		args = append(args, "--path.procfs="+procElsewhere(t))
	}
	return exec.CommandContext(t.Context(), "setpriv", append(append(line, path), args...)...)
}

// capabilitySet is a list for setpriv: these and no others.
func capabilitySet(names []string) string {
	set := "-all"
	for _, name := range names {
		set += ",+" + name
	}
	return set
}

// procElsewhere is the live procfs at another place.
func procElsewhere(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	for _, place := range []string{dir, filepath.Dir(dir)} {
		must(t, os.Chmod(place, 0o755))
	}
	path := filepath.Join(dir, "proc")
	must(t, os.Symlink("/proc", path))
	return path
}

// startNeighbour starts a process of root, or of the user of the tests, that the exporter can see by its name.
func startNeighbour(t *testing.T) (comm string) {
	t.Helper()
	comm = "uma-neighbour"
	path := filepath.Join(t.TempDir(), comm)
	sleep, err := exec.LookPath("sleep")
	must(t, err)
	program, err := os.ReadFile(sleep)
	must(t, err)
	must(t, os.WriteFile(path, program, 0o700))
	c := exec.CommandContext(t.Context(), path, "600")
	must(t, c.Start())
	t.Cleanup(func() { c.Process.Kill(); c.Wait() })
	return comm
}

// TestSeriesOfEveryVariant starts the exporter as it is told to be started, beside the live /proc.
func TestSeriesOfEveryVariant(t *testing.T) {
	comm := startNeighbour(t)
	for _, v := range variants() {
		t.Run(v.name, func(t *testing.T) {
			page := output(t, v.start(t, "--once", "--process=^"+comm+"$"))
			// What everybody may read is there in every variant.
			wantSeries(t, page, true, "uma_memory_pool_bytes ", `uma_memory_ledger_bytes{line="free"} `, `uma_exporter_mode{mode="live"} 1`)
			wantSeries(t, page, true, "uma_process_resident_bytes{", "uma_process_threads{")
			// Storage I/O of a stranger is there or absent, and never 0 for want of a capability.
			own := os.Getuid() != 0 // then the neighbour is no stranger
			wantSeries(t, page, v.inspects || own, "uma_process_io_bytes_total{")
			met := map[bool]int{true: 1}[v.inspects]
			wantSeries(t, page, true, fmt.Sprintf(`uma_collector_privilege{collector="process",needs="ptrace"} %d`, met))

			report := output(t, v.start(t, "doctor", "--process=^"+comm+"$"))
			wantSeries(t, report, v.inspects, "has    ptrace")
			wantSeries(t, report, !v.inspects, "lacks  ptrace", "fix    give CAP_SYS_PTRACE and CAP_DAC_READ_SEARCH")
		})
	}
}

func wantSeries(t *testing.T, page string, want bool, series ...string) {
	t.Helper()
	for _, one := range series {
		if strings.Contains(page, one) != want {
			t.Errorf("%s: %v, want %v", one, !want, want)
		}
	}
}

// output is what a command prints that must exit with 0.
func output(t *testing.T, c *exec.Cmd) string {
	t.Helper()
	var stdout, stderr bytes.Buffer
	c.Stdout, c.Stderr = &stdout, &stderr
	if err := c.Run(); err != nil {
		var missing *exec.Error
		if errors.As(err, &missing) {
			t.Fatalf("%v: it comes with util-linux", err)
		}
		t.Fatalf("%v: %s", err, &stderr)
	}
	return stdout.String()
}

// TestFilesStartTheExporterAsTheVariantsDo holds the unit and the compose file to what is tried here.
func TestFilesStartTheExporterAsTheVariantsDo(t *testing.T) {
	for file, lines := range map[string][]string{
		"../compose/native/uma-exporter.service": {
			"AmbientCapabilities=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH\n", "CapabilityBoundingSet=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH\n",
			"NoNewPrivileges=yes\n", "User=umascope\n",
		},
		"../compose/compose.yaml":    {"cap_drop: [ALL]\n", "user: \"65534:65534\"\n", "- --path.procfs=/host/proc\n", "no-new-privileges:true"},
		"../compose/privileged.yaml": {"cap_drop: !override [ALL]\n", "cap_add: [SYS_PTRACE, DAC_READ_SEARCH]\n", "user: \"0:0\"\n", "no-new-privileges:true"},
	} {
		text, err := os.ReadFile(file)
		must(t, err)
		for _, line := range lines {
			if !strings.Contains(string(text), line) {
				t.Errorf("%s lacks %q", file, line)
			}
		}
	}
}
