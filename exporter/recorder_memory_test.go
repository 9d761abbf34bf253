package exporter

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTheRecorderStaysInMemory runs itself again, since the lock and its limit are the whole process's.
func TestTheRecorderStaysInMemory(t *testing.T) {
	const what = "UMASCOPE_TEST_LOCK"
	if call := os.Getenv(what); call != "" {
		err := map[string]func() error{"lock": lockPages, "keep": keepInMemory}[call]()
		status, readErr := os.ReadFile("/proc/self/status")
		if readErr != nil {
			t.Fatal(readErr)
		}
		_, locked, _ := strings.Cut(string(status), "VmLck:")
		locked, _, _ = strings.Cut(locked, "\n")
		fmt.Printf("%v, %s\n", err, strings.TrimSpace(locked))
		return
	}
	again := func(limit, call string) string {
		command := exec.Command("/bin/sh", "-c", limit+` && exec "$0" -test.run='^TestTheRecorderStaysInMemory$'`, os.Args[0])
		command.Env = append(os.Environ(), what+"="+call)
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", limit, err, out)
		}
		said, _, _ := strings.Cut(string(out), "\n")
		return said
	}
	var may unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &may); err != nil {
		t.Fatal(err)
	}
	unlimited := may.Max == unix.RLIM_INFINITY
	if unlimited || os.Geteuid() == 0 { // root may lock below a limit
		if said := again("true", "lock"); !strings.HasPrefix(said, "<nil>, ") || said == "<nil>, 0 kB" {
			t.Error(said)
		}
	}
	if unlimited {
		if said := again("ulimit -S -l unlimited", "keep"); !strings.HasPrefix(said, "<nil>, ") || said == "<nil>, 0 kB" {
			t.Error(said)
		}
	}
	if said := again("ulimit -S -l 0", "keep"); said != "locked memory is limited, 0 kB" {
		t.Error(said)
	}
}
