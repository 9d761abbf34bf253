package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/containerd/cgroups/v3/cgroup2"
	"github.com/containerd/cgroups/v3/cgroup2/stats"
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

// TestLibrariesDoNotReadWhatTheyGetWrong is why some files are read here and not by procfs: it fails when a release of it
// no longer differs.
func TestLibrariesDoNotReadWhatTheyGetWrong(t *testing.T) {
	contents := map[string]string{"7/status": "Name:\tx\n", "7/comm": " x \n", "stat": "cpu  1 2 3\n",
		"pressure/io": "full avg10=0.00 avg60=0.00 avg300=0.00 total=12x\n"}
	for fd := range maxOpenFiles + 1 {
		contents[fmt.Sprintf("7/fd/%d", fd)] = ""
	}
	proc := procOracle(t, contents)
	process, err := proc.Proc(7)
	if err != nil {
		t.Fatal(err)
	}
	sys := sysOracle(t, onDisk(t, libraryFiles()))
	for what, read := range map[string]func() (wrong bool, err error){
		"a column of stat that is absent": func() (bool, error) { s, err := proc.Stat(); return s.CPUTotal.Steal == 0, err },
		"memory of a kernel thread":       func() (bool, error) { s, err := process.NewStatus(); return s.RssAnon == 0, err },
		"blanks around a process's name":  func() (bool, error) { name, err := process.Comm(); return name == "x", err },
		"more descriptors than the limit": func() (bool, error) { n, err := process.FileDescriptorTargets(); return len(n) > maxOpenFiles, err },
		"pressure followed by garbage":    func() (bool, error) { p, err := proc.PSIStatsForResource("io"); return p.Full.Total == 12, err },
		"a temperature that is none":      func() (bool, error) { z, err := sys.ClassThermalZoneStats(); return z[0].Temp == 0, err },
		"serial numbers of the machine":   func() (bool, error) { d, err := sys.DMIClass(); return *d.ProductSerial == "1", err },
		"the address of an interface":     func() (bool, error) { n, err := sys.NetClassByIface("eth0"); return n.Address == "1", err },
		"no drive because of one":         func() (bool, error) { drives, err := sys.NVMeClass(); return drives == nil && fails(err, "nvme1"), nil },
		"no RDMA device because of one": func() (bool, error) {
			ports, err := sys.InfiniBandClass()
			return ports == nil && fails(err, "infiniband/b"), nil
		},
		"no clock of a CPU because of one": func() (bool, error) { cpus, err := sys.SystemCpufreq(); return cpus == nil && fails(err, "cpu1"), nil },
	} {
		if wrong, err := read(); !wrong || err != nil {
			t.Errorf("%s: procfs no longer gives that: %v", what, err)
		}
	}
}

func fails(err error, at string) bool { return err != nil && strings.Contains(err.Error(), at) }

// libraryFiles are a sysfs with two drives, RDMA devices and CPUs each, of which the second lacks a file, and others with
// what is not to be read.
func libraryFiles() fstest.MapFS {
	files := tree(map[string]string{
		"class/thermal/thermal_zone0/type": "acpitz\n", "class/thermal/thermal_zone0/policy": "step_wise\n", "class/thermal/thermal_zone0/temp": "hot\n",
		"class/dmi/id/product_name": "x\n", "class/dmi/id/product_serial": "1\n", "class/net/eth0/operstate": "up\n", "class/net/eth0/address": "1\n",
		"class/infiniband/a/fw_ver": "1\n", "class/infiniband/b/board_id": "1\n", "devices/system/cpu/offline": "\n",
	})
	for name, content := range nvmeClassFiles() {
		files[name] = &fstest.MapFile{Data: []byte(content)}
	}
	files["class/nvme/nvme1/model"] = &fstest.MapFile{Data: []byte("x\n")}
	files["class/infiniband/a/ports"] = &fstest.MapFile{Mode: fs.ModeDir | 0o755}
	for _, cpu := range []string{"cpu0", "cpu1"} {
		files["devices/system/cpu/"+cpu+"/cpufreq/scaling_cur_freq"] = &fstest.MapFile{Data: []byte("1\n")}
	}
	for _, file := range []string{"available_governors", "driver", "governor", "setspeed"} {
		files["devices/system/cpu/cpu0/cpufreq/scaling_"+file] = &fstest.MapFile{Data: []byte("0\n")}
	}
	files["devices/system/cpu/cpu0/cpufreq/related_cpus"] = &fstest.MapFile{Data: []byte("0\n")}
	return files
}

// TestContainerdDoesNotReadWhatItGetsWrong is the same of the files of a cgroup.
func TestContainerdDoesNotReadWhatItGetsWrong(t *testing.T) {
	const missing, refused = "missing", "refused" // instead of a file's text
	for _, odd := range []struct {
		file, text string
		wrong      func(*stats.Metrics) bool
	}{
		{"pids.current", missing, func(m *stats.Metrics) bool { return m.GetPids().GetCurrent() == 0 }},
		{"pids.current", refused, func(m *stats.Metrics) bool { return m.GetPids().GetCurrent() == 0 }},
		{"cpu.stat", missing, func(m *stats.Metrics) bool { return m.GetCPU() != nil && m.GetCPU().GetUserUsec() == 0 }},
		{"cpu.stat", "usage_usec 5\n", func(m *stats.Metrics) bool { return m.GetCPU().GetUserUsec() == 0 }},
		{"cpu.stat", "user_usec -5\n", func(m *stats.Metrics) bool { return m.GetCPU().GetUserUsec() == 0 }},
		{"cpu.pressure", refused, func(m *stats.Metrics) bool { return m.GetCPU().GetPSI() == nil }},
		{"memory.current", missing, func(m *stats.Metrics) bool { return m.GetMemory().GetUsage() == 0 }},
		{"memory.current", refused, func(m *stats.Metrics) bool { return m.GetMemory().GetUsage() == 0 }},
		{"memory.max", "max\n", func(m *stats.Metrics) bool { return m.GetMemory().GetUsageLimit() == math.MaxUint64 }},
		{"memory.events", "low 5\n", func(m *stats.Metrics) bool { return m.GetMemoryEvents().GetOomKill() == 0 }},
		{"io.stat", refused, func(m *stats.Metrics) bool { return m.GetIo() != nil && m.GetIo().GetUsage() == nil }},
		{"io.stat", "7:7 7:6 7:5 rbytes=28672 wbytes=0 rios=22 wios=0\n", func(m *stats.Metrics) bool { return m.GetIo().GetUsage()[0].GetMinor() == 7 }},
	} {
		contents, file := engineFiles(), "system.slice/engine.scope/"+odd.file
		contents[file] = odd.text
		if odd.text == missing || odd.text == refused {
			delete(contents, file)
		}
		cgroups := tree(contents)
		if odd.text == refused {
			cgroups[file] = link(odd.file) // to itself, which no user can open
		}
		if read, err := loadEngine(t, onDisk(t, cgroups)).Stat(); err != nil || !odd.wrong(read) {
			t.Errorf("containerd no longer makes a figure of %s: %q: %v", odd.file, odd.text, err)
		}
	}
	_, err := contained(loadEngine(t, files(t, with(engineFiles(), "system.slice/engine.scope/cpu.pressure", samplePressure+"\n"))).Stat)
	if !errors.Is(err, errMalformed) {
		t.Errorf("containerd no longer panics on an empty line: %v", err)
	}
}

// loadEngine is containerd's reader of the cgroup of engineFiles.
func loadEngine(t *testing.T, cgroups Dir) *cgroup2.Manager {
	t.Helper()
	manager, err := cgroup2.Load("/system.slice/engine.scope", cgroup2.WithMountpoint(cgroups.Path))
	if err != nil {
		t.Fatal(err)
	}
	return manager
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
