package sim

import (
	"math"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
)

// TestCgroupsComputeWhatTheirProcessesDo, keep it above when those have ended, and count threads while they are there.
func TestCgroupsComputeWhatTheirProcessesDo(t *testing.T) {
	host := newHost(t, Config{Seed: 1})
	group := func(path string) (seconds float64, tasks *uint64) {
		t.Helper()
		snapshot := host.Collect()
		defer snapshot.Close()
		read, err := hostfs.ReadCgroup(snapshot.Cgroup, path)
		must(t, err)
		return *read.CPU.User + *read.CPU.System, read.Tasks
	}
	busy, idle := start(t, host, "engine", container), start(t, host, "python", native)
	busy.Demand(Demand{CPUs: 3})
	idle.Demand(Demand{CPUs: 0.5})
	before, _ := group("/")
	_, others := group("/system.slice") // services, and the container
	host.Advance(20 * time.Second)

	for path, want := range map[string]struct {
		seconds float64
		tasks   uint64
	}{container: {60, 12}, native: {10, 12}, "/system.slice": {60, *others}} {
		if got, tasks := group(path); math.Abs(got-want.seconds) > 0.01*want.seconds || *tasks != want.tasks {
			t.Errorf("%s: %v s of CPU, want %v; %d tasks, want %d", path, got, want.seconds, *tasks, want.tasks)
		}
	}
	snapshot := host.Collect()
	defer snapshot.Close()
	machine, err := hostfs.ReadCPUSeconds(snapshot.Proc)
	must(t, err)
	var working float64
	for mode, seconds := range machine {
		if mode != "idle" && mode != "iowait" {
			working += seconds
		}
	}
	after, tasks := group("/")
	if after-before < 70 || after-before > 80 || math.Abs(after-working) > 0.01*working || tasks != nil {
		t.Errorf("the root has computed %v s more, %v in all, the machine %v; tasks %v", after-before, after, working, tasks)
	}

	busy.Stop()
	host.Advance(time.Second)
	if left, tasks := group("/system.slice"); left < 60 || *tasks != *others-12 {
		t.Errorf("after its end: %v s, %d tasks", left, *tasks)
	}
}
