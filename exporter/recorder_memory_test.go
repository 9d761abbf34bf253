package exporter

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// TestTheRecorderStaysInMemory runs itself again, since the lock is the whole process's: with all the memory that may be locked, and
// as somebody who may lock none.
func TestTheRecorderStaysInMemory(t *testing.T) {
	if os.Getenv("UMASCOPE_TEST_LOCK") != "" {
		fmt.Println("locked:", keepInMemory())
		status, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(status)) {
			if strings.HasPrefix(line, "VmLck:") {
				fmt.Print(strings.Join(strings.Fields(line), " "), "\n")
			}
		}
		return
	}
	again := func(limit string) string {
		command := exec.Command("/bin/sh", "-c", limit+` && exec "$0" -test.run='^TestTheRecorderStaysInMemory$'`, os.Args[0])
		command.Env = append(os.Environ(), "UMASCOPE_TEST_LOCK=yes")
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%s: %v: %s", limit, err, out)
		}
		return string(bytes.TrimSpace(out))
	}
	var may unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_MEMLOCK, &may); err != nil {
		t.Fatal(err)
	}
	if said := again("true"); may.Max == unix.RLIM_INFINITY || os.Geteuid() == 0 {
		if !strings.Contains(said, "locked: <nil>") || strings.Contains(said, "VmLck: 0 kB") {
			t.Error(said)
		}
	}
	if os.Geteuid() != 0 { // root may lock all the same
		if said := again("ulimit -l 0"); !strings.Contains(said, "locked: mlockall: ") {
			t.Error(said)
		}
	}
}
