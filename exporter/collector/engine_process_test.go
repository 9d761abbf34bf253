package collector

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestAnEnginesProcessesAreGPUHoldersAndTheirCompanions(t *testing.T) {
	host := spark(t)
	cgroups := replaced(sparkCgroups(), engineCgroup[1:]+"/cgroup.procs", "6001\n6330\n0\n6002\n6001\n")
	host.Cgroup = onDisk(t, replaced(cgroups, "user.slice/cgroup.procs", "3150\n3151\n"))
	sample := NewSample(host, Options{})
	if got, want := sample.engineProcesses(t.Context()), []uint32{6330, 3150, 6001, 6002, 3151}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	host.ForeignGPU = true
	if got := NewSample(host, Options{}).engineProcesses(t.Context()); got != nil {
		t.Errorf("of another machine's GPU: %v", got)
	}
}

func TestProcessesOfTheRootCgroupAreNobodysCompanions(t *testing.T) {
	host := spark(t)
	host.Proc = onDisk(t, replaced(sparkProc(), "6330/cgroup", "0::/\n"))
	host.Cgroup = onDisk(t, replaced(sparkCgroups(), "cgroup.procs", "1\n2\n3\n"))
	if got, want := NewSample(host, Options{}).engineProcesses(t.Context()), []uint32{6330, 3150}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestACrowdedCgroupDoesNotCountWhole(t *testing.T) {
	var crowd strings.Builder
	for pid := range 1000 {
		fmt.Fprintln(&crowd, 10000+pid)
	}
	host := spark(t)
	host.Cgroup = onDisk(t, replaced(sparkCgroups(), engineCgroup[1:]+"/cgroup.procs", crowd.String()))
	got := NewSample(host, Options{}).engineProcesses(t.Context())
	if len(got) != maxEngineProcesses || got[0] != 6330 || got[1] != 3150 {
		t.Errorf("%d processes, first %v", len(got), got[:2])
	}
}
