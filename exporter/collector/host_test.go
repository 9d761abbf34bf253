package collector

import (
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/umascope/umascope/exporter/nvml"
)

// hostInfo is the one series of the host collector, as text.
func hostInfo(t *testing.T, host Host) string {
	t.Helper()
	series, outcome := page(t, hostSpec(), host, Options{})
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	for name, value := range series {
		if strings.HasPrefix(name, "uma_host_info{") {
			if value != 1 {
				t.Errorf("%s is %v", name, value)
			}
			return strings.TrimPrefix(name, "uma_host_info")
		}
	}
	t.Error("no series")
	return ""
}

func TestHostInfoOfASpark(t *testing.T) {
	want := `{arch="aarch64",kernel="6.17.0-1014-nvidia",memory_architecture="integrated",product="NVIDIA_DGX_Spark",vendor="NVIDIA"}`
	if got := hostInfo(t, spark(t)); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestHostInfoSaysWhereGPUMemoryIs(t *testing.T) {
	foreign := spark(t)
	foreign.ForeignGPU = true
	for want, host := range map[string]Host{
		"discrete": sparkWith(t, h200()),
		"none":     sparkWith(t, driver{opens: nvml.LibraryNotFound}),
		"unknown":  foreign,
	} {
		if got := hostInfo(t, host); !strings.Contains(got, `memory_architecture="`+want+`"`) {
			t.Errorf("got %s, want %s", got, want)
		}
	}
	if got := hostInfo(t, withModule(t, sparkWith(t, driver{opens: nvml.NotBuilt}))); !strings.Contains(got, `memory_architecture="unknown"`) {
		t.Errorf("a driver that this program cannot call: %s", got)
	}
	broken := sparkWith(t, driver{opens: nvml.LibRMVersionMismatch})
	if got := hostInfo(t, broken); !strings.Contains(got, `memory_architecture="unknown"`) {
		t.Errorf("a driver that does not work: %s", got)
	}
}

// TestKernelWithoutArchFileIsAskedDirectly: only when it is the running one.
func TestKernelWithoutArchFileIsAskedDirectly(t *testing.T) {
	var name unix.Utsname
	if err := unix.Uname(&name); err != nil {
		t.Fatal(err)
	}
	for mode, want := range map[Mode]string{Live: unix.ByteSliceToString(name.Machine[:]), Replay: ""} {
		host := spark(t)
		host.Proc, host.Mode = onDisk(t, without(sparkProc(), "sys/kernel/arch")), mode
		if got := hostInfo(t, host); !strings.HasPrefix(got, `{arch="`+want+`"`) {
			t.Errorf("%s: %s", mode, got)
		}
	}
}
