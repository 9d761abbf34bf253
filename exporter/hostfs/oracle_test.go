package hostfs

import (
	"testing"

	"github.com/containerd/cgroups/v3/cgroup2"
	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/sysfs"
)

// The tests of this file compare with other projects' parsers on the same text.

func procOracle(t *testing.T, contents map[string]string) procfs.FS {
	t.Helper()
	proc, err := procfs.NewFS(written(t, contents))
	if err != nil {
		t.Fatal(err)
	}
	return proc
}

func TestPressureAgreesWithProcfs(t *testing.T) {
	contents := map[string]string{"pressure/memory": samplePressure}
	got, err := ReadPressure(files(t, contents), "memory")
	if err != nil {
		t.Fatal(err)
	}
	oracle, err := procOracle(t, contents).PSIStatsForResource("memory")
	if err != nil {
		t.Fatal(err)
	}
	if *got.Some != float64(oracle.Some.Total)/1e6 || *got.Full != float64(oracle.Full.Total)/1e6 {
		t.Errorf("%v and %v seconds, procfs has %d and %d microseconds", *got.Some, *got.Full, oracle.Some.Total, oracle.Full.Total)
	}
}

func TestMemoryStatAgreesWithContainerdWhereThatReadsIt(t *testing.T) {
	contents := map[string]string{
		"docker/one/memory.stat": sampleMemoryStat, "docker/one/cgroup.controllers": "memory\n",
		"docker/one/memory.current": "9663676416\n", "docker/one/memory.max": "max\n", "docker/two/memory.max": "8589934592\n",
	}
	manager, err := cgroup2.Load("/docker/one", cgroup2.WithMountpoint(written(t, contents)))
	if err != nil {
		t.Fatal(err)
	}
	stats, err := manager.StatFiltered(cgroup2.StatMemory)
	if err != nil {
		t.Fatal(err)
	}
	oracle, fsys := stats.GetMemory(), files(t, contents)
	got, err := ReadMemoryStat(fsys, "/docker/one")
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]uint64{
		"anon": oracle.Anon, "file": oracle.File, "kernel_stack": oracle.KernelStack, "slab": oracle.Slab, "sock": oracle.Sock,
		"shmem": oracle.Shmem, "file_mapped": oracle.FileMapped, "slab_reclaimable": oracle.SlabReclaimable,
		"slab_unreclaimable": oracle.SlabUnreclaimable, "pgfault": oracle.Pgfault, "pgmajfault": oracle.Pgmajfault,
	} {
		if got[key] != want || want == 0 {
			t.Errorf("%s: %d, containerd has %d", key, got[key], want)
		}
	}
	if current, err := ReadMemoryCurrent(fsys, "/docker/one"); err != nil || current != oracle.Usage {
		t.Errorf("memory.current %d, %v; containerd has %d", current, err, oracle.Usage)
	}
}

// TestLibrariesDoNotReadWhatTheyGetWrong is why the parsers here are not replaced by them: it fails when a release of a
// library no longer differs.
func TestLibrariesDoNotReadWhatTheyGetWrong(t *testing.T) {
	proc := procOracle(t, map[string]string{
		"meminfo": "MemTotal: 1048576", "buddyinfo": "Node 0, zone DMA 12", "stat": "cpu  1 2 3\nbtime 17794", "7/status": "Name:\tx\n",
		"7/io": "rchar: 1\nwchar: 2\nsyscr: 3\nsyscw: 4\nread_bytes: 5\nwrite_bytes: 6\ncancelled_write_bytes: 7",
	})
	process, err := proc.Proc(7)
	if err != nil {
		t.Fatal(err)
	}
	for what, read := range map[string]func() (wrong bool, err error){
		"half an amount of meminfo":       func() (bool, error) { m, err := proc.Meminfo(); return *m.MemTotalBytes == 1048576, err },
		"half a count of buddyinfo":       func() (bool, error) { zones, err := proc.BuddyInfo(); return len(zones) == 1, err },
		"half a time of boot":             func() (bool, error) { s, err := proc.Stat(); return s.BootTime == 17794, err },
		"a column of stat that is absent": func() (bool, error) { s, err := proc.Stat(); return s.CPUTotal.Steal == 0, err },
		"half an amount of io":            func() (bool, error) { io, err := process.IO(); return io.CancelledWriteBytes == 7, err },
		"memory of a kernel thread":       func() (bool, error) { s, err := process.NewStatus(); return s.RssAnon == 0, err },
	} {
		if wrong, err := read(); !wrong || err != nil {
			t.Errorf("procfs no longer reads %s as a figure: %v", what, err)
		}
	}
	const oddLine = "7:7 7:6 7:5 rbytes=28672 wbytes=0 rios=22 wios=0 dbytes=0 dios=0\n"
	manager, err := cgroup2.Load("/a", cgroup2.WithMountpoint(written(t, map[string]string{"a/io.stat": oddLine, "a/cgroup.controllers": "io\n"})))
	if err != nil {
		t.Fatal(err)
	}
	stats, err := manager.StatFiltered(cgroup2.StatIO | cgroup2.StatPids)
	if err != nil {
		t.Fatal(err)
	}
	if usage := stats.GetIo().GetUsage(); len(usage) != 1 || usage[0].Minor != 7 || stats.GetPids().GetCurrent() != 0 {
		t.Errorf("containerd no longer counts the I/O of 7:5 for 7:7, or tasks that it cannot read as 0: %v, %v", usage, stats.GetPids())
	}
}

// nvmeClassFiles are nvmeFiles with what procfs wants: it gives a controller up if one of these is missing.
func nvmeClassFiles() map[string]string {
	contents := nvmeFiles()
	for _, name := range []string{"serial", "state", "cntlid"} {
		contents["class/nvme/nvme0/"+name] = "1\n"
	}
	for name, value := range map[string]string{"nuse": "5", "size": "8001573552", "ana_state": "optimized", "queue/logical_block_size": "512"} {
		contents["class/nvme/nvme0/nvme0n1/"+name] = value + "\n"
	}
	return contents
}

func TestNVMeControllersAgreeWithProcfs(t *testing.T) {
	contents := nvmeClassFiles()
	tree, err := sysfs.NewFS(written(t, contents))
	if err != nil {
		t.Fatal(err)
	}
	oracle, err := tree.NVMeClass()
	if err != nil {
		t.Fatal(err)
	}
	got := must(t, ReadNVMeControllers, files(t, contents))
	if len(got) != 1 || len(oracle) != 1 {
		t.Fatalf("%d controllers, procfs has %d", len(got), len(oracle))
	}
	if want := oracle["nvme0"]; got[0].Model != want.Model || got[0].Firmware != want.FirmwareRevision {
		t.Errorf("got %+v, procfs has %+v", got[0], want)
	}
}

func TestProcessFilesAgreeWithProcfs(t *testing.T) {
	contents := map[string]string{
		"6330/comm":   "VLLM::EngineCor\n",
		"6330/cgroup": "12:pids:/old\n0::/system.slice/docker-4f5b3a.scope\n",
	}
	process, err := procOracle(t, contents).Proc(6330)
	if err != nil {
		t.Fatal(err)
	}
	comm, err := process.Comm()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := Comm(files(t, contents), 6330); got != comm || err != nil {
		t.Errorf("comm %q, %v; procfs has %q", got, err, comm)
	}
	cgroups, err := process.Cgroups()
	if err != nil {
		t.Fatal(err)
	}
	for _, cgroup := range cgroups {
		if cgroup.HierarchyID != 0 {
			continue
		}
		if got, err := ProcessCgroup(files(t, contents), 6330); got != cgroup.Path || err != nil {
			t.Errorf("cgroup %q, %v; procfs has %q", got, err, cgroup.Path)
		}
	}
}
