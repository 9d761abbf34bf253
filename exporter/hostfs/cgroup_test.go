package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/containerd/cgroups/v3/cgroup2"
	"golang.org/x/sys/unix"
)

const (
	sampleIOStat = `259:0 rbytes=13220446208 wbytes=41908961280 rios=12608 wios=40124 dbytes=8192 dios=2
8:16 rbytes=1 wbytes=2 rios=3 wios=4 dbytes=0 dios=0 cost.vrate=100.00 cost.usage=17
`
	sampleMemoryEvents = "low 0\nhigh 12\nmax 3\noom 1\noom_kill 1\noom_group_kill 0\n"
)

// engineFiles are the files of a container, as the kernel writes them.
func engineFiles() map[string]string {
	contents := map[string]string{}
	for file, text := range map[string]string{
		"memory.current": "9663676416\n", "memory.peak": "10737418240\n", "memory.max": "34359738368\n", "memory.high": "max\n",
		"memory.swap.current": "0\n", "memory.events": sampleMemoryEvents, "memory.stat": sampleMemoryStat, "io.stat": sampleIOStat,
		"memory.pressure": samplePressure, "io.pressure": samplePressure, "cpu.pressure": samplePressure, "cgroup.controllers": "memory io\n",
		"cpu.stat": "usage_usec 1042600\nuser_usec 800100\nsystem_usec 242500\nnr_periods 0\n", "pids.current": "152\n", "pids.max": "max\n",
	} {
		contents["system.slice/engine.scope/"+file] = text
	}
	return contents
}

func TestCgroupTellsWhatItsFilesSay(t *testing.T) {
	got, err := ReadCgroup(files(t, engineFiles()), "/system.slice/engine.scope")
	if err != nil {
		t.Fatal(err)
	}
	pressure := Pressure{Some: new(10.481234), Full: new(9.481234)}
	want := Cgroup{
		Current: new(uint64(9663676416)), Peak: new(uint64(10737418240)), Swap: new(uint64(0)), Max: new(uint64(34359738368)),
		Events:   map[string]uint64{"low": 0, "high": 12, "max": 3, "oom": 1, "oom_kill": 1, "oom_group_kill": 0},
		Pressure: map[string]Pressure{"cpu": pressure, "io": pressure, "memory": pressure},
		CPU:      CPUTime{User: new(0.8001), System: new(0.2425)},
		Tasks:    new(uint64(152)),
		IO: []DeviceIO{
			{"259:0", IOCount{13220446208, 12608}, IOCount{41908961280, 40124}, IOCount{8192, 2}},
			{"8:16", IOCount{1, 3}, IOCount{2, 4}, IOCount{}},
		},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

func TestWhatACgroupDoesNotTellIsNil(t *testing.T) {
	got, err := ReadCgroup(files(t, map[string]string{"a/memory.max": "max\n"}), "/a")
	if err != nil || !reflect.DeepEqual(got, Cgroup{}) {
		t.Errorf("%+v, %v", got, err)
	}
	// It is there, but has no controller of ours.
	if got, err = ReadCgroup(files(t, map[string]string{"a/cgroup.procs": ""}), "/a"); err != nil || !reflect.DeepEqual(got, Cgroup{}) {
		t.Errorf("%+v, %v", got, err)
	}
	if _, err = ReadCgroup(files(t, map[string]string{"b/cgroup.procs": ""}), "/a"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("one that is gone: %v", err)
	}
}

func TestAFileThatCannotBeReadCostsItsValuesOnly(t *testing.T) {
	contents := engineFiles()
	contents["system.slice/engine.scope/memory.peak"] = "many\n"
	contents["system.slice/engine.scope/io.stat"] = "259:0 rbytes=x\n"
	contents["system.slice/engine.scope/cpu.stat"] = "usage_usec 3\nuser_usec -1\n"
	got, err := ReadCgroup(files(t, contents), "/system.slice/engine.scope")
	if got.Current == nil || got.Events["high"] != 12 || got.Peak != nil || got.IO != nil || got.CPU != (CPUTime{}) || *got.Tasks != 152 {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"engine.scope/memory.peak", "engine.scope/io.stat: line 1", "engine.scope/cpu.stat: line 2"} {
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%v does not name %s", err, name)
		}
	}
}

// TestACgroupThatIsRemovedWhileItIsReadIsMissing: an open file of such a one answers ENODEV.
func TestACgroupThatIsRemovedWhileItIsReadIsMissing(t *testing.T) {
	for _, err := range []error{unix.ENODEV, unix.ENOENT, unix.EOPNOTSUPP} {
		if got, readErr := ReadCgroup(failing(err), "/a"); err == unix.ENOENT != errors.Is(readErr, fs.ErrNotExist) || !reflect.DeepEqual(got, Cgroup{}) {
			t.Errorf("%v: %+v, %v", err, got, readErr)
		}
		if _, statErr := ReadMemoryStat(failing(err), "/a"); !IsMissing(statErr) {
			t.Errorf("%v: %v", err, statErr)
		}
	}
	if _, err := ReadCgroup(failing(unix.EACCES), "/a"); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("no permission: %v", err)
	}
}

func TestLimitsAreAmountsOrNone(t *testing.T) {
	for text, want := range map[string]*uint64{"max\n": nil, "0\n": new(uint64(0)), "34359738368\n": new(uint64(34359738368))} {
		if got, err := parseLimit(text); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "\n", "max", "343597", "-1\n", "1 2\n", "maximum\n", "18446744073709551616\n"} {
		if got, err := parseLimit(text); !errors.Is(err, errMalformed) || got != nil {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
}

func TestOddLinesThatKernelsPrintInIOStat(t *testing.T) {
	whole := DeviceIO{"7:4", IOCount{28672, 22}, IOCount{}, IOCount{}}
	tests := []struct {
		name, text string
		want       []DeviceIO
	}{
		{"devices that have done nothing", "7:7 7:6 7:5 7:4 rbytes=28672 wbytes=0 rios=22 wios=0 dbytes=0 dios=0\n", []DeviceIO{whole}},
		{"nothing but such devices", "7:7 7:6 \n", nil},
		{"a cgroup that is being made", "252:0 ", nil},
		{"the same after a device", "7:4 rbytes=28672 wbytes=0 rios=22 wios=0 dbytes=0 dios=0\n252:0 ", []DeviceIO{whole}},
		{"hidden paths of a drive", "(unknown) rbytes=5 rios=1\n7:4 rbytes=28672 rios=22\n(unknown) rbytes=6\n", []DeviceIO{whole}},
		{"keys of other controllers only", "7:4 cost.usage=5\n", nil},
		{"nothing", "", nil},
	}
	for _, test := range tests {
		if got, err := parseIOStat(test.text); err != nil || !reflect.DeepEqual(got, test.want) {
			t.Errorf("%s: %+v, %v", test.name, got, err)
		}
	}
	for _, text := range []string{"rbytes=5\n", "259 rbytes=5\n", "a:b rbytes=5\n", "259:0 rbytes=-5\n", "259:0 rbytes=\n", "259:0 rbytes=5 8:0 rbytes=6\n", "7:4 rbytes=28672"} {
		if got, err := parseIOStat(text); err == nil || got != nil {
			t.Errorf("%q: %+v, %v", text, got, err)
		}
	}
}

func TestBlockDevicesAreNamedByTheirLinks(t *testing.T) {
	sys := onDisk(t, fstest.MapFS{"dev/block/259:0": link("../../devices/pci0004:00/nvme/nvme0/nvme0n1")})
	if name, err := BlockDeviceName(sys, "259:0"); name != "nvme0n1" || err != nil {
		t.Errorf("%q, %v", name, err)
	}
	if name, err := BlockDeviceName(sys, "8:0"); name != "" || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a device that is not shown: %q, %v", name, err)
	}
	if name, err := BlockDeviceName(sys, "../259:0"); name != "" || !errors.Is(err, errMalformed) {
		t.Errorf("no number: %q, %v", name, err)
	}
}

// TestCgroupAgreesWithContainerdWhereThatReadsIt: it has no memory.high, no discards, and writes what is
// absent as 0 and no limit as the largest number.
func TestCgroupAgreesWithContainerdWhereThatReadsIt(t *testing.T) {
	contents := engineFiles()
	manager, err := cgroup2.Load("/system.slice/engine.scope", cgroup2.WithMountpoint(written(t, contents)))
	if err != nil {
		t.Fatal(err)
	}
	stats, err := manager.StatFiltered(cgroup2.StatAll)
	if err != nil {
		t.Fatal(err)
	}
	got, err := ReadCgroup(files(t, contents), "/system.slice/engine.scope")
	if err != nil {
		t.Fatal(err)
	}
	memory, events := stats.GetMemory(), stats.GetMemoryEvents()
	for name, pair := range map[string][2]uint64{
		"memory.current": {*got.Current, memory.Usage}, "memory.peak": {*got.Peak, memory.MaxUsage}, "memory.max": {*got.Max, memory.UsageLimit},
		"memory.swap.current": {*got.Swap, memory.SwapUsage}, "high": {got.Events["high"], events.High}, "max": {got.Events["max"], events.Max},
		"oom": {got.Events["oom"], events.Oom}, "oom_kill": {got.Events["oom_kill"], events.OomKill}, "low": {got.Events["low"], events.Low},
		"oom_group_kill": {got.Events["oom_group_kill"], events.OomGroupKill},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %d, containerd has %d", name, pair[0], pair[1])
		}
	}
	for resource, oracle := range map[string]interface{ GetTotal() uint64 }{
		"memory": memory.GetPSI().GetFull(), "io": stats.GetIo().GetPSI().GetFull(), "cpu": stats.GetCPU().GetPSI().GetFull(),
	} {
		if microseconds := *got.Pressure[resource].Full * 1e6; math.Abs(microseconds-float64(oracle.GetTotal())) > 0.5 {
			t.Errorf("pressure of %s: %v, containerd has %d", resource, microseconds, oracle.GetTotal())
		}
	}
	cpu := stats.GetCPU()
	for mode, pair := range map[string]struct {
		seconds      float64
		microseconds uint64
	}{"user": {*got.CPU.User, cpu.GetUserUsec()}, "system": {*got.CPU.System, cpu.GetSystemUsec()}} {
		if pair.microseconds == 0 || math.Abs(pair.seconds*1e6-float64(pair.microseconds)) > 0.5 {
			t.Errorf("CPU time in mode %s: %v s, containerd has %d microseconds", mode, pair.seconds, pair.microseconds)
		}
	}
	if *got.Tasks != stats.GetPids().GetCurrent() {
		t.Errorf("%d tasks, containerd has %d", *got.Tasks, stats.GetPids().GetCurrent())
	}
	if entries := stats.GetIo().GetUsage(); len(entries) != len(got.IO) {
		t.Errorf("%d devices, containerd has %d", len(got.IO), len(entries))
	}
	for i, want := range stats.GetIo().GetUsage() {
		io := got.IO[i]
		if io.Device != fmt.Sprintf("%d:%d", want.Major, want.Minor) || io.Reads != (IOCount{want.Rbytes, want.Rios}) || io.Writes != (IOCount{want.Wbytes, want.Wios}) {
			t.Errorf("%+v, containerd has %+v", io, want)
		}
	}
}

func TestWalkFindsEveryCgroupAfterTheOneItIsIn(t *testing.T) {
	contents := map[string]string{"cgroup.controllers": "memory\n", "memory.stat": "anon 1\n"}
	for _, cgroup := range []string{"init.scope", "system.slice/a.service", "system.slice/docker-1.scope/init", "user.slice/user-1000.slice/x"} {
		contents[cgroup+"/memory.stat"] = "anon 1\n"
	}
	want := []string{"/init.scope", "/system.slice", "/system.slice/a.service", "/system.slice/docker-1.scope", "/system.slice/docker-1.scope/init",
		"/user.slice", "/user.slice/user-1000.slice", "/user.slice/user-1000.slice/x"}
	if got, err := WalkCgroups(files(t, contents)); err != nil || !slices.Equal(got, want) {
		t.Errorf("%v, %v", got, err)
	}
	if _, err := WalkCgroups(files(t, map[string]string{"memory/memory.usage_in_bytes": "1\n"})); !errors.Is(err, ErrNotHostCgroups) || !strings.Contains(err.Error(), "cgroup v1 at") {
		t.Errorf("cgroup v1: %v", err)
	}
}

// TestWalkUsesLinkCountsOnlyWhereTheyCountSubdirectories also holds that a walk without link counts, as on overlayfs and
// btrfs, finds the same cgroups.
func TestWalkUsesLinkCountsOnlyWhereTheyCountSubdirectories(t *testing.T) {
	cgroups := files(t, map[string]string{"a/b/c/x": "", "d/x": ""})
	stat, known := directoryStat(cgroups, ".")
	links := uint64(stat.Nlink)
	for subdirectories := range uint64(5) {
		if got, want := countsSubdirectories(cgroups, int(subdirectories)), known && links == subdirectories+linksOfEmpty; got != want {
			t.Errorf("%d subdirectories, %d links: %v", subdirectories, links, got)
		}
	}
	for _, linksCount := range []bool{false, links == 2+linksOfEmpty} {
		walk := cgroupWalk{cgroups: cgroups, linksCount: linksCount}
		walk.enter("", []string{"a", "d"}, 1)
		if want := []string{"/a", "/a/b", "/a/b/c", "/d"}; len(walk.trouble) > 0 || !slices.Equal(walk.found, want) {
			t.Errorf("links count %v: %v, %v", linksCount, walk.found, walk.trouble)
		}
	}
}

func TestWalkIsBounded(t *testing.T) {
	deep := files(t, map[string]string{"cgroup.controllers": "", strings.Repeat("d/", 3*maxCgroupDepth) + "memory.stat": ""})
	if got, err := WalkCgroups(deep); !errors.Is(err, ErrTooManyCgroups) || len(got) != maxCgroupDepth {
		t.Errorf("%d cgroups of a deep tree, %v", len(got), err)
	}
	wide := files(t, map[string]string{"cgroup.controllers": ""})
	for i := range maxCgroups + 1 {
		if err := os.MkdirAll(filepath.Join(wide.Path, fmt.Sprintf("%d/%d", i/100, i%100)), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := WalkCgroups(wide); !errors.Is(err, ErrTooManyCgroups) || len(got) != maxCgroups || len(err.Error()) > 500 {
		t.Errorf("%d cgroups of a wide tree, %v", len(got), err)
	}
}

// TestWalkGoesOnWhereCgroupsGo removes and makes cgroups while it walks.
func TestWalkGoesOnWhereCgroupsGo(t *testing.T) {
	root := written(t, map[string]string{"cgroup.controllers": "", "stays.slice/memory.stat": "anon 1\n"})
	stop := make(chan struct{})
	done := make(chan error)
	go func() {
		var err error
		for i := 0; err == nil; i++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			one := filepath.Join(root, fmt.Sprintf("comes%d.slice", i%7))
			if err = os.MkdirAll(filepath.Join(one, "inner"), 0o755); err == nil {
				err = os.RemoveAll(one)
			}
		}
		done <- err
	}()
	for range 200 {
		got, err := WalkCgroups(Dir{Path: root})
		if err != nil || !slices.Contains(got, "/stays.slice") {
			t.Errorf("%v, %v", got, err)
			break
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Error(err)
	}
}

func TestTopMemoryStatsAreThoseThatAreThere(t *testing.T) {
	contents := map[string]string{"cgroup.controllers": "", "a/memory.stat": "anon 1\n", "b/memory.stat": "anon 2\n", "b/c/memory.stat": "anon 1\n"}
	got := must(t, ReadTopMemoryStats, files(t, contents))
	if want := map[string]MemoryStat{"/a": {"anon": 1}, "/b": {"anon": 2}}; !maps.EqualFunc(got, want, func(a, b MemoryStat) bool { return maps.Equal(a, b) }) {
		t.Errorf("got %v, want %v", got, want)
	}
	contents["b/memory.stat"] = "garbage\n"
	if got, err := ReadTopMemoryStats(files(t, contents)); err == nil || !strings.Contains(err.Error(), "b/memory.stat") || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestHostCgroupNamespaceIsTheFirst(t *testing.T) {
	for target, want := range map[string]bool{"cgroup:[4026531835]": true, "cgroup:[4026532455]": false} {
		proc := onDisk(t, fstest.MapFS{"self/ns/cgroup": link(target)})
		if got, err := HostCgroupNamespace(proc); got != want || err != nil {
			t.Errorf("%s: %v, %v", target, got, err)
		}
	}
	if got, err := HostCgroupNamespace(files(t, nil)); got || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not told: %v, %v", got, err)
	}
}

func TestAmountsOfMemoryStatAreNoCounts(t *testing.T) {
	amounts := MemoryStatAmounts()
	for key := range (MemoryStat{"pgfault": 1, "pgmajfault": 1, "workingset_refault_anon": 1, "thp_fault_alloc": 1, "zswpin": 1, "pgscan": 1}) {
		if slices.Contains(amounts, key) {
			t.Errorf("%s counts events", key)
		}
	}
	for _, part := range append(namedKernelMemory(), "kernel", "anon", "file", "inactive_file") {
		if !slices.Contains(amounts, part) {
			t.Errorf("%s is missing", part)
		}
	}
}

func FuzzIOStat(f *testing.F) {
	addSeeds(f, sampleIOStat, "7:7 7:6 7:4 rbytes=28672 wios=0\n", "(unknown) rbytes=1\n", "252:0 ", "1:1 rbytes=1\n1:1 rbytes=18446744073709551615\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		devices, err := parseIOStat(text)
		if err != nil {
			return
		}
		if len(devices) > strings.Count(text, "\n") {
			t.Errorf("%d devices of %d lines", len(devices), strings.Count(text, "\n"))
		}
		for _, d := range devices {
			if !isDeviceNumber(d.Device) || !strings.Contains(text, d.Device) || max(d.Reads.Bytes, d.Writes.Bytes, d.Discards.Bytes) > largestPair(text) {
				t.Errorf("%+v", d)
			}
		}
		part, err := parseIOStat(text[:min(int(cut), len(text))])
		if err == nil && (len(part) > len(devices) || !reflect.DeepEqual(part, devices[:len(part)]) && len(part) > 0) {
			t.Errorf("a part gives %+v, the whole %+v", part, devices)
		}
	})
}

// largestPair is the largest number behind a =.
func largestPair(text string) uint64 {
	var largest uint64
	for field := range strings.FieldsSeq(text) {
		_, number, _ := strings.Cut(field, "=")
		if value, err := parseUint(number); err == nil {
			largest = max(largest, value)
		}
	}
	return largest
}

func FuzzLimit(f *testing.F) {
	addSeeds(f, "max\n", "9663676416\n", "0\n", "18446744073709551615\n")
	f.Fuzz(func(t *testing.T, text string, cut uint16) {
		amount, err := parseLimit(text)
		if err != nil && amount != nil {
			t.Errorf("%d and %v", *amount, err)
		}
		if err == nil && amount != nil && strings.TrimLeft(text, "0") != strings.TrimLeft(fmt.Sprintf("%d\n", *amount), "0") {
			t.Errorf("%q is %d", text, *amount)
		}
		if part, err := parseLimit(text[:min(int(cut), len(text))]); err == nil && int(cut) < len(text) && !strings.Contains(text, "\n") {
			t.Errorf("half a number passes for %v", part)
		}
	})
}
