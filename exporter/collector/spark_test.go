package collector

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
)

// sparkMeminfo and the other texts are a DGX Spark that serves a model: 96073 MiB held by the engine
// and 218 MiB by the desktop are in no line of meminfo.
const (
	sparkMeminfo = `MemTotal:       127600748 kB
MemFree:         4812340 kB
MemAvailable:   18566368 kB
Buffers:          312044 kB
Cached:         13204112 kB
SwapCached:          128 kB
SwapTotal:      16777212 kB
SwapFree:       16770044 kB
Dirty:              2376 kB
AnonPages:       6520044 kB
Shmem:            204812 kB
KReclaimable:    1390600 kB
Slab:            1827020 kB
SReclaimable:    1390600 kB
SUnreclaim:       436420 kB
KernelStack:       31552 kB
PageTables:       122296 kB
SecPageTables:      2048 kB
Percpu:            66048 kB
HugePages_Total:       0
Hugepagesize:       2048 kB
Hugetlb:            4096 kB
`
	sparkVmstat = `nr_free_pages 1203085
nr_anon_pages 1630011
nr_shmem 51203
pswpin 32
pswpout 1792
pgmajfault 44121
oom_kill 0
compact_stall 2712345
compact_fail 1350021
`
	sparkBuddyinfo = "Node 0, zone   Normal   100  0  0  0  10  0  0  0  0  3  1 \n"
	sparkPressure  = "some avg10=0.00 avg60=0.12 avg300=0.05 total=10481234\nfull avg10=0.00 avg60=0.10 avg300=0.04 total=9481234\n"
	sparkDiskstats = ` 259       0 nvme0n1 1841223 1021 214478132 402911 2213377 1288421 391882744 1902877 4 1187412 2391004 17 0 8192 3 98211 85216
 259       2 nvme0n1p2 1840402 990 214443128 402812 2213373 1288421 391882740 1902876 2 1187300 2305688 0 0 0 0 0 0
 259       5 nvme0c0n1 1 0 1 1 1 0 1 1 0 1 1 0 0 0 0 0 0
   7       0 loop0 12 0 34 5 0 0 0 0 0 8 5 0 0 0 0 0 0
`
	engineCgroup = "/system.slice/docker-4f5b3a.scope"
)

// sparkProc is the procfs of the host, as a process in the host's PID namespace sees it.
func sparkProc() fstest.MapFS {
	proc := tree(map[string]string{
		"meminfo": sparkMeminfo, "vmstat": sparkVmstat, "buddyinfo": sparkBuddyinfo, "diskstats": sparkDiskstats,
		"pressure/memory": sparkPressure, "pressure/cpu": sparkPressure,
		"pressure/irq":         "full avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n",
		"sys/kernel/osrelease": "6.17.0-1014-nvidia\n", "sys/kernel/arch": "aarch64\n",
		"6330/comm": "VLLM::EngineCor\n", "6330/cgroup": "0::" + engineCgroup + "\n",
		"3150/comm": "Xorg\n", "3150/cgroup": "0::/user.slice\n",
	})
	proc["self/ns/pid"] = link("pid:[4026531836]")
	return proc
}

// sparkCgroups has 768 MiB of kernel memory that memory.stat does not name: 512 in one, 256 in another.
func sparkCgroups() fstest.MapFS {
	return tree(map[string]string{
		"cgroup.controllers":                               "cpuset cpu io memory pids\n",
		"system.slice/memory.stat":                         "anon 5\nkernel 637534208\nslab 100663296\n",
		"user.slice/memory.stat":                           "anon 5\nkernel 268435456\n",
		"init.scope/memory.stat":                           "anon 5\nkernel 4096\nkernel_stack 4096\n",
		"user.slice/memory.current":                        "1073741824\n",
		"system.slice/docker-4f5b3a.scope/memory.current":  "6442450944\n",
		"system.slice/docker-4f5b3a.scope/memory.stat":     "anon 5\nkernel 999\n",
		"system.slice/docker-4f5b3a.scope/nested/whatever": "\n",
	})
}

func sparkSys() fstest.MapFS {
	return tree(map[string]string{
		"class/dmi/id/product_name": "NVIDIA_DGX_Spark\n", "class/dmi/id/sys_vendor": "NVIDIA\n",
		"class/block/nvme0n1/size": "8001573552\n",
		"class/nvme/nvme0/model":   "SAMSUNG MZALC4T0HBL1-00B07\n", "class/nvme/nvme0/firmware_rev": "NXHB202Q\n",
		"class/nvme/nvme0/nvme0n1/size":       "8001573552\n",
		"class/nvme/nvme0/hwmon3/temp1_label": "Composite\n", "class/nvme/nvme0/hwmon3/temp1_input": "41850\n",
		"class/nvme/nvme0/hwmon3/temp1_max": "81850\n", "class/nvme/nvme0/hwmon3/temp1_crit": "84850\n",
	})
}

func tree(contents map[string]string) fstest.MapFS {
	fsys := fstest.MapFS{}
	for name, content := range contents {
		fsys[name] = &fstest.MapFile{Data: []byte(content)}
	}
	return fsys
}

// driver answers as a function says; what that does not know is NOT_SUPPORTED.
type driver struct {
	opens  nvml.Return
	count  int
	answer func(device int, call nvml.Call) (nvml.Value, nvml.Return)
}

func (d driver) Init() nvml.Return               { return d.opens }
func (d driver) Shutdown() nvml.Return           { return nvml.Success }
func (d driver) DeviceCount() (int, nvml.Return) { return d.count, nvml.Success }
func (d driver) Do(device int, call nvml.Call) (nvml.Value, nvml.Return) {
	if d.answer == nil {
		return nvml.Value{}, nvml.NotSupported
	}
	return d.answer(device, call)
}

// gb10 answers as the driver does on a DGX Spark.
func gb10() driver {
	return driver{count: 1, answer: func(_ int, call nvml.Call) (nvml.Value, nvml.Return) {
		switch call {
		case nvml.CallName:
			return nvml.Value{Text: "NVIDIA GB10"}, nvml.Success
		case nvml.CallUUID:
			return nvml.Value{Text: "GPU-spark"}, nvml.Success
		case nvml.CallGraphicsProcesses:
			return nvml.Value{Processes: []nvml.Process{{PID: 3150, UsedBytes: new(uint64(218 << 20))}}}, nvml.Success
		case nvml.CallComputeProcesses:
			return nvml.Value{Processes: []nvml.Process{{PID: 6330, UsedBytes: new(uint64(96073 << 20))}}}, nvml.Success
		}
		return nvml.Value{}, nvml.NotSupported
	}}
}

// with is a driver that answers one call differently.
func (d driver) with(call nvml.Call, value nvml.Value, code nvml.Return) driver {
	before := d.answer
	d.answer = func(device int, asked nvml.Call) (nvml.Value, nvml.Return) {
		if asked == call {
			return value, code
		}
		return before(device, asked)
	}
	return d
}

// h200 answers as the driver does for a GPU with memory of its own.
func h200() driver {
	return gb10().with(nvml.CallName, nvml.Value{Text: "NVIDIA H200"}, nvml.Success).
		with(nvml.CallMemory, nvml.Value{Numbers: map[string]uint64{"total": 141 << 30, "used": 96 << 30, "free": 45 << 30}}, nvml.Success)
}

// spark is the whole host.
func spark(t testing.TB) Host { return sparkWith(t, gb10()) }

func sparkWith(t testing.TB, d nvml.Driver) Host {
	return Host{
		Proc: onDisk(t, sparkProc()), Sys: onDisk(t, sparkSys()), Cgroup: onDisk(t, sparkCgroups()),
		GPU: nvml.NewReader(d, nvml.ReaderOptions{}), Mode: Constructed, Now: time.Now,
	}
}

// withModule is the host with the driver in its kernel, whatever the library says.
func withModule(t testing.TB, h Host) Host {
	h.Sys = onDisk(t, replaced(sparkSys(), "module/nvidia/version", "580.142\n"))
	return h
}

// onDisk is a directory with these files and links.
func onDisk(t testing.TB, files fstest.MapFS) hostfs.Dir {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, files); err != nil {
		t.Fatal(err)
	}
	return hostfs.Dir{Path: root}
}

// link is a link of a tree.
func link(target string) *fstest.MapFile {
	return &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink | 0o777}
}

// overwrite changes a file of a host.
func overwrite(t testing.TB, dir hostfs.Dir, name, content string) {
	t.Helper()
	path := filepath.Join(dir.Path, name)
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// refusing is a directory whose files with a suffix are refused, as by the kernel to a reader without the right.
func refusing(dir hostfs.Dir, suffix string, err error) hostfs.Dir {
	dir.Refuse = func(name string) error {
		if strings.HasSuffix(name, suffix) {
			return err
		}
		return nil
	}
	return dir
}

// counting counts how often each name is opened.
type counting struct {
	mu    sync.Mutex
	reads map[string]int
}

// in counts in a directory.
func (c *counting) in(dir hostfs.Dir) hostfs.Dir {
	c.reads = map[string]int{}
	dir.Refuse = func(name string) error {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.reads[name]++
		return nil
	}
	return dir
}
