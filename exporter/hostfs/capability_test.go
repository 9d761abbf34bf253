package hostfs

import (
	"os"
	"regexp"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"
)

func TestCapabilitiesAreThoseThatTheKernelStates(t *testing.T) {
	stated := effectiveCapabilities(t)
	for capability := range unix.CAP_LAST_CAP + 1 {
		if got := HasCapability(capability); got != (stated>>capability&1 != 0) {
			t.Errorf("capability %d: %v, effective are %#x", capability, got, stated)
		}
	}
}

func TestWhoGivesRootUpHasNoCapability(t *testing.T) {
	wasRoot := os.Geteuid() == 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		becomeNobody(t)
		if HasCapability(unix.CAP_SYS_ADMIN) && wasRoot {
			t.Error("nobody may administer the system")
		}
	}()
	<-done
}

func effectiveCapabilities(t *testing.T) uint64 {
	t.Helper()
	status, err := os.ReadFile("/proc/thread-self/status")
	if err != nil {
		t.Fatal(err)
	}
	match := regexp.MustCompile(`(?m)^CapEff:\s*([0-9a-f]+)$`).FindSubmatch(status)
	if match == nil {
		t.Fatal("no CapEff")
	}
	set, err := strconv.ParseUint(string(match[1]), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return set
}
