package hostfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/prometheus/procfs"
	"golang.org/x/sys/unix"
)

func TestMeminfoTellsAbsentFromZero(t *testing.T) {
	m := must(t, ReadMeminfo, files(t, map[string]string{"meminfo": "MemTotal: 16 kB\nSwapTotal:  0 kB\nHugePages_Total:   4\n"}))
	if bytes, there := m["SwapTotal"]; bytes != 0 || !there {
		t.Errorf("SwapTotal is %d, there: %v", bytes, there)
	}
	if _, there := m["Percpu"]; there {
		t.Error("Percpu is there")
	}
	if _, there := m["HugePages_Total"]; there || m["MemTotal"] != 16384 {
		t.Errorf("a count passes for memory: %v", m)
	}
}

// TestMeminfoIsInBytesByTheKernelsNames compares with the text itself.
func TestMeminfoIsInBytesByTheKernelsNames(t *testing.T) {
	m := must(t, ReadMeminfo, files(t, map[string]string{"meminfo": sampleMeminfo}))
	for _, name := range []string{"MemTotal", "Buffers", "Cached", "SwapCached", "Dirty", "AnonPages", "Shmem", "SReclaimable", "SUnreclaim", "Hugepagesize"} {
		if _, there := m[name]; !there {
			t.Errorf("%s is missing", name)
		}
	}
	for name, bytes := range m {
		line := regexp.MustCompile(`(?m)^` + name + `: +([0-9]+) kB$`).FindStringSubmatch(sampleMeminfo)
		if line == nil || line[1] != strconv.FormatUint(bytes/1024, 10) || bytes%1024 != 0 {
			t.Errorf("%s is %d, in the file %q", name, bytes, line)
		}
	}
}

func TestFreeBlocksOfEachZone(t *testing.T) {
	zones := must(t, ReadBuddyinfo, files(t, map[string]string{"buddyinfo": sampleBuddyinfo}))
	want := procfs.BuddyInfo{Node: "0", Zone: "Normal", Sizes: []float64{2544, 637, 994, 1117, 800, 692, 536, 412, 295, 204, 382}}
	if len(zones) != 3 || !reflect.DeepEqual(zones[2], want) {
		t.Errorf("got %+v, want %+v", zones, want)
	}
}

func TestPageSizeIsWorkedOutFromTwoFiles(t *testing.T) {
	meminfo := must(t, ReadMeminfo, files(t, map[string]string{"meminfo": sampleMeminfo}))
	pages := func(size uint64) Vmstat {
		return Vmstat{"nr_free_pages": meminfo["MemFree"] / size, "nr_anon_pages": meminfo["AnonPages"] / size, "nr_shmem": meminfo["Shmem"] / size}
	}
	moved := pages(65536)
	moved["nr_free_pages"] -= moved["nr_free_pages"] / 20 // a process took memory between the two files
	tests := []struct {
		name    string
		meminfo Meminfo
		vmstat  Vmstat
		want    int
	}{
		{"4 KiB", meminfo, pages(4096), 4096},
		{"16 KiB", meminfo, pages(16384), 16384},
		{"64 KiB", meminfo, pages(65536), 65536},
		{"the sample", meminfo, must(t, ReadVmstat, files(t, map[string]string{"vmstat": sampleVmstat})), 4096},
		{"memory moved in between", meminfo, moved, 65536},
		{"one pair only", Meminfo{"MemFree": 1 << 30}, Vmstat{"nr_free_pages": 1 << 18, "nr_shmem": 7}, 4096},
		{"files of two machines", meminfo, pages(6000), 0},
		{"no counters", meminfo, Vmstat{"pswpin": 1}, 0},
		{"no files", nil, nil, 0},
		{"all zero", Meminfo{"MemFree": 0}, Vmstat{"nr_free_pages": 0}, 0},
		{"bytes without pages", Meminfo{"MemFree": 4096}, Vmstat{"nr_free_pages": 0}, 0},
		{"pages without bytes", Meminfo{"MemFree": 0}, Vmstat{"nr_free_pages": 9}, 0},
		{"absurdly small pages", Meminfo{"MemFree": 1024}, Vmstat{"nr_free_pages": 1}, 0},
		{"absurdly large pages", Meminfo{"MemFree": 1 << 40}, Vmstat{"nr_free_pages": 1}, 0},
	}
	for _, test := range tests {
		if got := PageSize(test.meminfo, test.vmstat); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

func TestFreeContiguousBytesAreCumulativeAndFollowThePageSize(t *testing.T) {
	zones := []procfs.BuddyInfo{
		{Node: "0", Zone: "DMA", Sizes: []float64{1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 1}}, // orders 0, 4, 10
		{Node: "1", Zone: "Normal", Sizes: []float64{0, 0, 0, 0, 0, 0, 0, 0, 0, 3}}, // order 9
	}
	const kib, mib = 1 << 10, 1 << 20
	tests := []struct {
		block    uint64
		pageSize int
		want     float64
	}{
		{0, 4 * kib, 4*kib + 2*64*kib + 4*mib + 3*2*mib},
		{64 * kib, 4 * kib, 2*64*kib + 4*mib + 3*2*mib},
		{2 * mib, 4 * kib, 4*mib + 3*2*mib},
		{4 * mib, 4 * kib, 4 * mib},
		{8 * mib, 4 * kib, 0},
		{64 * kib, 64 * kib, 64*kib + 2*mib + 64*mib + 3*32*mib},
		{2 * mib, 64 * kib, 64*mib + 3*32*mib},
	}
	for _, test := range tests {
		if got := FreeContiguousBytes(zones, test.block, test.pageSize); got != test.want {
			t.Errorf("blocks of %d with pages of %d: %v, want %v", test.block, test.pageSize, got, test.want)
		}
	}
}

func TestDisksTellWhichColumnsTheirKernelHas(t *testing.T) {
	disks := must(t, ReadDiskstats, files(t, map[string]string{"diskstats": sampleDiskstats + " 1 0 future 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 nineteen\n"}))
	for i, columns := range []int{DiskColumnsWithFlushes, DiskColumnsWithDiscards, DiskColumnsAtFirst, DiskColumnsWithFlushes} {
		if got := disks[i]; got.IoStatsCount != columns {
			t.Errorf("%s: %d columns, want %d", got.DeviceName, got.IoStatsCount, columns)
		}
	}
}

func TestKernelWithoutPressureInformationGivesNotExist(t *testing.T) {
	if _, err := ReadPressure(files(t, nil), "memory"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("not built in: %v", err)
	}
	if _, err := ReadPressure(failing(unix.EOPNOTSUPP), "memory"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("turned off: %v", err)
	}
	if _, err := ReadPressure(failing(unix.EAGAIN), "memory"); err == nil || errors.Is(err, fs.ErrNotExist) {
		t.Errorf("broken: %v", err)
	}
}

func TestPressureHasTheLinesThatItsResourceHas(t *testing.T) {
	irq, err := ReadPressure(files(t, map[string]string{"pressure/irq": "full avg10=0.00 avg60=0.00 avg300=0.00 total=2500000\n"}), "irq")
	if err != nil || irq.Some != nil || *irq.Full != 2.5 {
		t.Errorf("irq: %+v, %v", irq, err)
	}
}

func TestKernelOtherIsWhatMemoryStatDoesNotName(t *testing.T) {
	stat := func(text string) MemoryStat {
		got, err := ReadMemoryStat(files(t, map[string]string{"a/memory.stat": text}), "/a")
		if err != nil {
			t.Fatal(err)
		}
		return got
	}
	tests := []struct {
		name  string
		stat  MemoryStat
		want  int64
		known bool
	}{
		// 5368709120 - (62914560 + 10485760 + 20971520 + 1052672 + 1048576 + 2097152)
		{"every part", stat(sampleMemoryStat), 5270138880, true},
		{"a part that this kernel does not have", stat("kernel 1000\nslab 300\n"), 700, true},
		{"with zswap, which is charged as kernel memory", stat("kernel 1000\nzswap 600\nslab 300\n"), 100, true},
		{"parts updated later than the whole", stat("kernel 1000\nslab 1300\n"), -300, true},
		{"kernel before 5.18", stat("anon 5\nslab 300\n"), 0, false},
	}
	for _, test := range tests {
		if got, known := test.stat.KernelOther(); got != test.want || known != test.known {
			t.Errorf("%s: %d, %v; want %d, %v", test.name, got, known, test.want, test.known)
		}
	}
}

func TestOnlyTheRootOfTheHostsCgroupsIsTakenForIt(t *testing.T) {
	host := files(t, map[string]string{
		"cgroup.controllers": "cpu memory\n", "memory.stat": "anon 1\n",
		"system.slice/memory.stat": "anon 1\n", "init.scope/memory.stat": "anon 1\n", "user.slice/user-1000.slice/memory.stat": "anon 1\n",
	})
	names, err := ListTopCgroups(host)
	if want := []string{"/init.scope", "/system.slice", "/user.slice"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("got %v, %v; want %v", names, err, want)
	}
	for name, cgroups := range map[string]Dir{
		"cgroup v1":                      files(t, map[string]string{"memory/memory.usage_in_bytes": "1\n", "unified/cgroup.controllers": "\n"}),
		"container's cgroup namespace":   files(t, map[string]string{"cgroup.controllers": "memory\n", "memory.current": "4096\n"}),
		"nothing":                        files(t, nil),
		"a directory that is not there":  Dir{Path: "/nowhere/at/all"},
		"a container's, really in files": files(t, map[string]string{"cgroup.controllers": "", "memory.current": "1\n"}),
	} {
		if _, err := ListTopCgroups(cgroups); !errors.Is(err, ErrNotHostCgroups) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := CheckHostCgroups(failing(unix.EACCES)); err == nil || errors.Is(err, ErrNotHostCgroups) {
		t.Errorf("no permission: %v", err)
	}
}

func TestProcessCgroupIsThatOfTheUnifiedHierarchy(t *testing.T) {
	tests := []struct {
		name, text, want string
		fails            bool
	}{
		{name: "cgroup v2", text: "0::/system.slice/docker-4f5b3a.scope\n", want: "/system.slice/docker-4f5b3a.scope"},
		{name: "beside v1", text: "4:memory:/docker/4f5b3a\n0::/\n", want: "/"},
		{name: "removed meanwhile", text: "0::/user.slice/a (deleted)\n", want: "/user.slice/a"},
		{name: "outside the reader's namespace", text: "0::/../other\n", want: "/../other"},
		{name: "cgroup v1 only", text: "4:memory:/docker/4f5b3a\n", fails: true},
		{name: "cut", text: "0::/system.slice/dock", fails: true},
		{name: "no path", text: "0::\n", fails: true},
	}
	for _, test := range tests {
		got, err := ProcessCgroup(files(t, map[string]string{"7/cgroup": test.text}), 7)
		if got != test.want || (err != nil) != test.fails {
			t.Errorf("%s: %q, %v", test.name, got, err)
		}
	}
	if _, err := ProcessCgroup(files(t, nil), 7); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("process that has ended: %v", err)
	}
	if current, err := ReadMemoryCurrent(files(t, nil), "/../other"); err == nil {
		t.Errorf("a path that leads out was read: %d", current)
	}
}

func TestHostPIDNamespaceIsTheOneTheMachineBootedWith(t *testing.T) {
	namespace := func(target string) Dir { return onDisk(t, fstest.MapFS{"self/ns/pid": link(target)}) }
	if host, err := HostPIDNamespace(namespace("pid:[4026531836]")); !host || err != nil {
		t.Errorf("host: %v, %v", host, err)
	}
	if host, err := HostPIDNamespace(namespace("pid:[4026532455]")); host || err != nil {
		t.Errorf("container: %v, %v", host, err)
	}
	if host, err := HostPIDNamespace(files(t, nil)); host || !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("procfs of a namespace that the reader is not in: %v, %v", host, err)
	}
}

func TestMachineIsDescribedByDMIOrByDeviceTree(t *testing.T) {
	proc := files(t, map[string]string{"sys/kernel/osrelease": "6.17.0-1014-nvidia\n", "sys/kernel/arch": "aarch64\n"})
	spark := files(t, map[string]string{"class/dmi/id/product_name": "NVIDIA_DGX_Spark\n", "class/dmi/id/sys_vendor": "NVIDIA\n"})
	if got, want := ReadMachine(proc, spark), (Machine{"NVIDIA_DGX_Spark", "NVIDIA", "6.17.0-1014-nvidia", "aarch64"}); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
	jetson := files(t, map[string]string{"firmware/devicetree/base/model": "NVIDIA Jetson AGX Thor Developer Kit\x00"})
	if got := ReadMachine(files(t, nil), jetson); got != (Machine{Product: "NVIDIA Jetson AGX Thor Developer Kit"}) {
		t.Errorf("got %+v", got)
	}
}

func TestARCWithoutItsPartsInSlab(t *testing.T) {
	read := func(text string) (uint64, error) {
		return ReadARCBytes(files(t, map[string]string{"spl/kstat/zfs/arcstats": text}))
	}
	// 17142194176 - (50000000 + 100000000 + 40000000 + 90000000 + 0) = data + metadata + chunk waste
	if got, err := read(sampleArcstats); got != 16862194176 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	if got, err := read("13 1\nname type data\nsize 4 100\n"); got != 100 || err != nil {
		t.Errorf("without parts: %d, %v", got, err)
	}
	if got, err := read("13 1\nname type data\nsize 4 100\nhdr_size 4 101\n"); got != 0 || err != nil {
		t.Errorf("parts larger than the whole: %d, %v", got, err)
	}
	if _, err := read("13 1\nname type data\nhits 4 100\n"); err == nil {
		t.Error("no size, no error")
	}
	if _, err := ReadARCBytes(files(t, nil)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("without ZFS: %v", err)
	}
}

// TestMalformedTablesAreErrorsThatNameTheFile and what procfs or the parsers here name of the text, often the line.
func TestMalformedTablesAreErrorsThatNameTheFile(t *testing.T) {
	tests := []struct {
		file, text, names string
		read              func(Dir) error
	}{
		{"meminfo", "MemTotal: -5 kB\n", "-5", reading(ReadMeminfo)},
		{"meminfo", "MemTotal: 5 MB\n", "unit", reading(ReadMeminfo)},
		{"meminfo", "MemTotal: 9007199254740992 kB\n", "MemTotal", reading(ReadMeminfo)},  // 2^63 bytes
		{"meminfo", "MemTotal: 18014398509481985 kB\n", "MemTotal", reading(ReadMeminfo)}, // 2^64 + 1024 bytes
		{"meminfo", "", "no MemTotal", reading(ReadMeminfo)},
		{"meminfo", "pgfault: 5\n", "no MemTotal", reading(ReadMeminfo)},
		{"vmstat", "pgfault 5\n\n", "line 2", reading(ReadVmstat)},
		{"vmstat", "pgfault 18446744073709551616\n", "line 1", reading(ReadVmstat)},
		{"buddyinfo", "Node 0, zone DMA\n", "DMA", reading(ReadBuddyinfo)},
		{"buddyinfo", "Node 0, zone DMA" + strings.Repeat(" 1", 33) + "\n", "DMA", reading(ReadBuddyinfo)},
		{"buddyinfo", "Node 0, zone DMA 1 -1\n", "-1", reading(ReadBuddyinfo)},
		{"buddyinfo", "Node 0, zone DMA 1 NaN\n", "NaN", reading(ReadBuddyinfo)},
		{"diskstats", "259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10 11 12\n", "nvme0n1", reading(ReadDiskstats)},
		{"diskstats", fmt.Sprintf("259 0 nvme0n1 1 2 %d 4 5 6 7 8 9 10 11\n", uint64(math.MaxUint64)), "nvme0n1", reading(ReadDiskstats)},
		{"diskstats", "259 zero nvme0n1 1 2 3 4 5 6 7 8 9 10 11\n", "integer", reading(ReadDiskstats)},
		{"pressure/io", "some avg10=0.00 total=x\n", "line 1", readingPressure},
		{"pressure/io", "many total=5\n", "line 1", readingPressure},
		{"pressure/io", "some\n", "line 1", readingPressure},
	}
	for _, test := range tests {
		err := test.read(files(t, map[string]string{test.file: test.text}))
		if !errors.Is(err, errMalformed) || !strings.Contains(err.Error(), test.names) || !strings.Contains(err.Error(), "/"+test.file+": ") {
			t.Errorf("%s %.60q: %v", test.file, test.text, err)
		}
	}
}

// TestALineOfAnotherFormIsAbsentNotZero: procfs leaves such lines out, without an error.
func TestALineOfAnotherFormIsAbsentNotZero(t *testing.T) {
	m := must(t, ReadMeminfo, files(t, map[string]string{"meminfo": "MemTotal: 5 kB\nMemFree 4 kB\n"}))
	if _, there := m["MemFree"]; there {
		t.Errorf("%v", m)
	}
	disks := must(t, ReadDiskstats, files(t, map[string]string{"diskstats": "259 0 nvme0n1 1 2 3 4 5 6 7 8 9 10\n" + sampleDiskstats}))
	if len(disks) != strings.Count(sampleDiskstats, "\n") {
		t.Errorf("%+v", disks)
	}
}

func reading[T any](read func(Dir) (T, error)) func(Dir) error {
	return func(fsys Dir) error {
		_, err := read(fsys)
		return err
	}
}

func readingPressure(fsys Dir) error {
	_, err := ReadPressure(fsys, "io")
	return err
}

func TestErrorsQuoteLittleOfWhatAFileHolds(t *testing.T) {
	err := reading(ReadVmstat)(files(t, map[string]string{"vmstat": "\x1b[31m" + strings.Repeat("x", 1<<16) + "\n"}))
	if err == nil || len(err.Error()) > 200 || strings.Contains(err.Error(), "\x1b") {
		t.Errorf("%.300v", err)
	}
}

// TestATableCutAnywhereGivesAnErrorOrFewerRows cuts real tables at every byte: half a number must
// never pass for a whole one.
func TestATableCutAnywhereGivesAnErrorOrFewerRows(t *testing.T) {
	tables := []struct {
		name, text string
		part       func(whole, cut string) error
	}{
		{"meminfo", sampleMeminfo, partOfMap(textReader(t, "meminfo", ReadMeminfo))},
		{"vmstat", sampleVmstat, partOfMap(parseKeyed)},
		{"memory.stat", sampleMemoryStat, partOfMap(parseKeyed)},
		{"buddyinfo", sampleBuddyinfo, partOfSlice(textReader(t, "buddyinfo", ReadBuddyinfo))},
		{"diskstats", sampleDiskstats, partOfSlice(textReader(t, "diskstats", ReadDiskstats))},
	}
	for _, table := range tables {
		for at := range len(table.text) {
			if err := table.part(table.text, table.text[:at]); err != nil {
				t.Errorf("%s cut at %d: %v", table.name, at, err)
			}
		}
	}
	if _, err := parseKeyed("pgfault 12"); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("cut line: %v", err)
	}
}

// partOfMap checks that what is read from the cut text is in what is read from the whole.
func partOfMap[M ~map[string]uint64](parse func(string) (M, error)) func(whole, cut string) error {
	return func(whole, cut string) error {
		all, err := parse(whole)
		if err != nil {
			return err
		}
		part, err := parse(cut)
		if err != nil {
			return nil
		}
		for key, value := range part {
			if all[key] != value {
				return fmt.Errorf("%s is %d, not %d", key, value, all[key])
			}
		}
		return nil
	}
}

func partOfSlice[T any](parse func(string) ([]T, error)) func(whole, cut string) error {
	return func(whole, cut string) error {
		all, err := parse(whole)
		if err != nil {
			return err
		}
		part, err := parse(cut)
		if err != nil {
			return nil
		}
		for i := range part {
			if !reflect.DeepEqual(part[i], all[i]) {
				return fmt.Errorf("row %d is %+v, not %+v", i, part[i], all[i])
			}
		}
		return nil
	}
}
