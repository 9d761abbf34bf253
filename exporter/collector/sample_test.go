package collector

import (
	"context"
	"errors"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
)

func TestASampleReadsEachSourceOnce(t *testing.T) {
	host := spark(t)
	var proc counting
	host.Proc = proc.in(host.Proc)
	sample := NewSample(host, Options{})
	var wait sync.WaitGroup
	for range 20 {
		wait.Go(func() {
			if _, err := sample.Memory(t.Context()); err != nil {
				t.Error(err)
			}
			if first, again := sample.GPU(t.Context()), sample.GPU(t.Context()); first != again {
				t.Error("two passes")
			}
		})
	}
	wait.Wait()
	for name, reads := range proc.reads {
		if reads != 1 {
			t.Errorf("%s was read %d times", name, reads)
		}
	}
	if proc.reads["meminfo"] == 0 {
		t.Error("meminfo was not read")
	}
}

// order is the order in which sources are asked.
type order struct {
	mu    sync.Mutex
	names []string
}

func (o *order) add(name string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.names = append(o.names, name)
}

// in notes the files that are asked for in a directory.
func (o *order) in(source string, dir hostfs.Dir) hostfs.Dir {
	dir.Refuse = func(name string) error {
		if info, err := os.Stat(filepath.Join(dir.Path, name)); err == nil && info.Mode().IsRegular() {
			o.add(source + " " + name)
		}
		return nil
	}
	return dir
}

func TestListsMeminfoAndCgroupsAreReadBackToBack(t *testing.T) {
	asked := &order{}
	d := gb10()
	answer := d.answer
	d.answer = func(device int, call nvml.Call) (nvml.Value, nvml.Return) {
		if call == nvml.CallComputeProcesses {
			asked.add("lists")
		}
		return answer(device, call)
	}
	host := sparkWith(t, d)
	host.Proc = asked.in("proc", host.Proc)
	host.Cgroup = asked.in("cgroup", host.Cgroup)
	if _, err := NewSample(host, Options{}).Memory(t.Context()); err != nil {
		t.Fatal(err)
	}
	want := []string{"lists", "proc meminfo", "cgroup cgroup.controllers", "cgroup init.scope/memory.stat", "cgroup system.slice/memory.stat", "cgroup user.slice/memory.stat"}
	if got := asked.names; len(got) < len(want) || !slices.Equal(got[:len(want)], want) {
		t.Errorf("got %v, want first %v", got, want)
	}
}

func TestWhoHoldsGPUMemoryLargestFirst(t *testing.T) {
	// Two devices; process 10 uses both, 11 tells nothing, 12 has ended.
	d := driver{count: 2, answer: func(device int, call nvml.Call) (nvml.Value, nvml.Return) {
		switch {
		case call == nvml.CallUUID:
			return nvml.Value{Text: []string{"GPU-a", "GPU-b"}[device]}, nvml.Success
		case call == nvml.CallComputeProcesses && device == 0:
			return nvml.Value{Processes: []nvml.Process{{PID: 11}, {PID: 10, UsedBytes: new(uint64(5))}}}, nvml.Success
		case call == nvml.CallComputeProcesses:
			return nvml.Value{Processes: []nvml.Process{{PID: 12, UsedBytes: new(uint64(7))}, {PID: 10, UsedBytes: new(uint64(6))}}}, nvml.Success
		}
		return nvml.Value{}, nvml.NotSupported
	}}
	host := sparkWith(t, d)
	overwrite(t, host.Proc, "10/comm", "python3\n")
	overwrite(t, host.Proc, "10/cgroup", "0::"+engineCgroup+"\n")
	overwrite(t, host.Proc, "11/comm", "odd\n")
	want := []GPUProcess{
		{UUID: "GPU-b", PID: 12, UsedBytes: new(uint64(7))},
		{UUID: "GPU-b", PID: 10, UsedBytes: new(uint64(6)), Comm: "python3", Cgroup: engineCgroup},
		{UUID: "GPU-a", PID: 10, UsedBytes: new(uint64(5)), Comm: "python3", Cgroup: engineCgroup},
		{UUID: "GPU-a", PID: 11, Comm: "odd"},
	}
	reading, err := NewSample(host, Options{}).Memory(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.EqualFunc(reading.Processes, want, sameProcess) {
		t.Errorf("got  %+v\nwant %+v", reading.Processes, want)
	}
	if charged := map[string]uint64{engineCgroup: 6442450944}; !maps.Equal(reading.CgroupBytes, charged) {
		t.Errorf("charged %v, want %v", reading.CgroupBytes, charged)
	}
	if !reading.ProcessesTrusted {
		t.Error("not trusted, in the host's PID namespace")
	}
}

func sameProcess(a, b GPUProcess) bool {
	return a.UUID == b.UUID && a.PID == b.PID && a.Comm == b.Comm && a.Cgroup == b.Cgroup && compareUsed(a.UsedBytes, b.UsedBytes) == 0
}

func TestPIDsOfAnotherMachineAreNotLookedUpHere(t *testing.T) {
	host := spark(t)
	host.ForeignGPU = true
	sample := NewSample(host, Options{})
	devices, err := sample.GPU(t.Context()).Processes(t.Context())
	if err != nil || len(devices) != 1 {
		t.Fatal(devices, err)
	}
	processes := sample.gpuProcesses(devices)
	if len(processes) != 2 {
		t.Errorf("%d processes", len(processes))
	}
	for _, p := range processes {
		if p.Comm != "" || p.Cgroup != "" {
			t.Errorf("%d is taken for %q in %q", p.PID, p.Comm, p.Cgroup)
		}
	}
	if trusted, err := sample.ProcessesTrusted(); trusted || err == nil {
		t.Errorf("trusted %v, %v", trusted, err)
	}
}

func TestWhatIsNotKnownOrdersLast(t *testing.T) {
	one, two := new(uint64(1)), new(uint64(2))
	got := []*uint64{nil, two, nil, one, two}
	slices.SortStableFunc(got, compareUsed)
	if want := []*uint64{nil, nil, one, two, two}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestAPanicWhileReadingMemoryIsAnErrorForAllOthers(t *testing.T) {
	host := spark(t)
	host.Proc.Refuse = func(string) error { panic("broken") }
	sample := NewSample(host, Options{})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic was swallowed")
			}
		}()
		_, _ = sample.Memory(t.Context())
	}()
	if _, err := sample.Memory(t.Context()); err == nil {
		t.Error("a reading that ended in a panic passes for one")
	}
}

func TestArchitectureOfTheHost(t *testing.T) {
	devices := func(architectures ...nvml.Architecture) []nvml.Device {
		var list []nvml.Device
		for _, a := range architectures {
			list = append(list, nvml.Device{Architecture: a})
		}
		return list
	}
	tests := []struct {
		name     string
		override nvml.Architecture
		devices  []nvml.Device
		err      error
		want     nvml.Architecture
	}{
		{"no device", "", nil, nil, ""},
		{"discrete beside one that could not be told", "", devices(nvml.Discrete, nvml.ArchitectureUnset), nil, nvml.ArchitectureUnset},
		{"integrated beside one that could not be told", "", devices(nvml.ArchitectureUnset, nvml.Integrated), nil, nvml.Integrated},
		{"devices that could not be listed", "", nil, context.DeadlineExceeded, nvml.ArchitectureUnset},
		{"one", "", devices(nvml.Discrete), nil, nvml.Discrete},
		{"one of them in the pool", "", devices(nvml.Discrete, nvml.Integrated), nil, nvml.Integrated},
		{"listed in part", "", devices(nvml.Integrated), errors.New("hung"), nvml.Integrated},
		{"said otherwise", nvml.CoherentNUMA, devices(nvml.Discrete), nil, nvml.CoherentNUMA},
	}
	for _, test := range tests {
		sample := NewSample(Host{}, Options{Architecture: test.override})
		if got := sample.architectureOf(test.devices, test.err); got != test.want {
			t.Errorf("%s: %q, want %q", test.name, got, test.want)
		}
	}
}
