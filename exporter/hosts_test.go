package exporter

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/ledger"
	"github.com/umascope/umascope/exporter/nvml"
	"github.com/umascope/umascope/exporter/snapshot"
)

const (
	kib = 1 << 10
	mib = 1 << 20
)

// recorded is a host with its files.
type recorded struct {
	*snapshot.Archive
	snapshot.Files
}

func unpacked(t *testing.T, name string) recorded {
	t.Helper()
	a, err := readHost(name)
	if err != nil {
		t.Fatal(err)
	}
	files, err := a.Unpack(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	return recorded{a, files}
}

func device(t *testing.T, host collector.Host) nvml.Device {
	t.Helper()
	s, err := host.GPU.Read(t.Context()).Snapshot(t.Context())
	if err != nil || len(s.Devices) != 1 {
		t.Fatalf("%v, %d devices", err, len(s.Devices))
	}
	return s.Devices[0]
}

func TestEveryHostOpensAndSaysWhatItIs(t *testing.T) {
	if !slices.IsSorted(hostNames()) || !slices.Contains(hostNames(), "gb10-load") {
		t.Errorf("names %v", hostNames())
	}
	for _, name := range hostNames() {
		a, err := readHost(name)
		if err != nil {
			t.Error(err)
			continue
		}
		host := openRecorded(t, name)
		if want := map[snapshot.Kind]collector.Mode{snapshot.Recorded: collector.Replay, snapshot.Constructed: collector.Constructed}[a.Kind]; host.Mode != want {
			t.Errorf("%s is %s and in mode %s", name, a.Kind, host.Mode)
		}
		if a.Description == "" || host.PageSize != a.PageSize {
			t.Errorf("%s: %+v", name, a)
		}
		if a.Kind == snapshot.Constructed && len(a.Notes) < 200 {
			t.Errorf("%s does not say how it came about", name)
		}
		if _, err := hostfs.ReadMeminfo(host.Proc); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestEachOpeningStartsAtTheFirstAnswer(t *testing.T) {
	first, second := device(t, openRecorded(t, "gb10-load")), device(t, openRecorded(t, "gb10-load"))
	if *first.PowerWatts != *second.PowerWatts || first.UUID != second.UUID {
		t.Errorf("%+v\n%+v", first, second)
	}
}

func TestGB10AnswersAsTheDriverDoesOnSparks(t *testing.T) {
	d := device(t, openRecorded(t, "gb10-load"))
	if d.Architecture != nvml.Integrated || d.Name != "NVIDIA GB10" || d.PCIBusID != "0000000F:01:00.0" {
		t.Errorf("%s, %s, %s", d.Name, d.Architecture, d.PCIBusID)
	}
	for what, value := range map[string]*float64{
		"memory total": d.MemoryTotalBytes, "memory used": d.MemoryUsedBytes, "memory free": d.MemoryFreeBytes,
		"memory clock": d.MemoryClockHertz, "power limit": d.PowerLimitWatts, "fan": d.FanRatio, "memory utilisation": d.MemoryUtilizationRatio,
	} {
		if value != nil {
			t.Errorf("%s is %v, and not supported on GB10", what, *value)
		}
	}
	if d.ECCErrors != nil || d.RemappedRows != nil || d.Supported[nvml.CallMemory] {
		t.Errorf("%v %v", d.ECCErrors, d.RemappedRows)
	}
	// 96073 MiB + 218 MiB; the desktop stands in two lists and counts once.
	if !d.HeldKnown() || len(d.Processes) != 2 || d.HeldBytes() != 96291*mib {
		t.Errorf("%d processes hold %d MiB", len(d.Processes), d.HeldBytes()/mib)
	}
	if got := d.ClockEventSeconds["sw_power_cap"]; got != 10800.240649 || d.ClockEventActive["sw_power_cap"] {
		t.Errorf("capped for %v s, bit %v", got, d.ClockEventActive["sw_power_cap"])
	}
}

func TestHostWithoutGPUSaysWhy(t *testing.T) {
	_, err := openRecorded(t, "no-gpu").GPU.Read(t.Context()).Snapshot(t.Context())
	if !errors.Is(err, nvml.ErrUnavailable) {
		t.Errorf("error %v", err)
	}
}

func TestUnattributedMemoryOfConstructedHostsIsAsTheirNotesSay(t *testing.T) {
	for name, want := range map[string]map[string]float64{
		"gb10-idle": {ledger.GPUProcess: 44032, ledger.Managed: 2560, ledger.Unattributed: 1146880},
		"gb10-cma":  {ledger.GPUProcess: 44032, ledger.Managed: 2560, ledger.Unattributed: 1146880, ledger.FreeCMA: 9750528, ledger.Free: 103250972},
		"gb10-load": {ledger.GPUProcess: 98601984, ledger.Managed: 208896, ledger.Unattributed: 1241088},
		"gh200":     {ledger.GPUProcess: 82812928, ledger.Managed: 1048576, ledger.Unattributed: 2555904},
		"nvidia-fs": {ledger.Managed: 1664, ledger.Unattributed: 1454096},
		"kvbm-disk": {ledger.GPUProcess: 31680512, ledger.Managed: 73728, ledger.Unattributed: 1150976},
	} {
		lines := ledgerOfHost(t, openRecorded(t, name))
		for line, kilobytes := range want {
			if lines[line] != kilobytes*kib {
				t.Errorf("%s: %s is %v kB, want %v", name, line, lines[line]/kib, kilobytes)
			}
		}
	}
}

func TestConstructedHostsAreConsistentInThemselves(t *testing.T) {
	for _, name := range hostNames() {
		a := unpacked(t, name)
		if a.Kind != snapshot.Constructed {
			continue
		}
		t.Run(name, func(t *testing.T) {
			meminfo := wholeMeminfo(t, a.Proc)
			checkFreeBlocks(t, a, meminfo)
			checkLists(t, meminfo)
			checkVmstat(t, a, meminfo)
			if hostfs.CheckHostCgroups(a.Cgroup) == nil {
				checkCgroups(t, a, meminfo)
			}
			checkDisk(t, a)
			if strings.HasPrefix(name, "gb10-") && meminfo["MemTotal"] != 127600748*kib {
				t.Errorf("MemTotal is %d, on the unit whose values these are 127600748 kB", meminfo["MemTotal"])
			}
		})
	}
}

// wholeMeminfo is all of meminfo in bytes, with the fields that no figure is made of.
func wholeMeminfo(t *testing.T, proc hostfs.Dir) hostfs.Meminfo {
	t.Helper()
	text, err := proc.ReadFile("meminfo")
	must(t, err)
	meminfo := hostfs.Meminfo{}
	for _, field := range regexp.MustCompile(`(?m)^(.+): +([0-9]+) kB$`).FindAllStringSubmatch(string(text), -1) {
		amount, err := strconv.ParseUint(field[2], 10, 64)
		must(t, err)
		meminfo[field[1]] = amount * kib
	}
	return meminfo
}

// checkFreeBlocks compares free memory with the free blocks that it consists of.
func checkFreeBlocks(t *testing.T, a recorded, m hostfs.Meminfo) {
	zones, err := hostfs.ReadBuddyinfo(a.Proc)
	if err != nil {
		t.Fatal(err)
	}
	if free := hostfs.FreeContiguousBytes(zones, 1, a.PageSize); free != float64(m["MemFree"]) {
		t.Errorf("buddyinfo has %.0f bytes free, meminfo %d", free, m["MemFree"])
	}
}

// checkLists compares the lists of pages with what is on them.
func checkLists(t *testing.T, m hostfs.Meminfo) {
	file := m["Buffers"] + m["Cached"] - m["Shmem"]
	for what, pair := range map[string][2]uint64{
		"Active":         {m["Active"], m["Active(anon)"] + m["Active(file)"]},
		"Inactive":       {m["Inactive"], m["Inactive(anon)"] + m["Inactive(file)"]},
		"file pages":     {file, m["Active(file)"] + m["Inactive(file)"]},
		"anonymous":      {m["AnonPages"] + m["Shmem"], m["Active(anon)"] + m["Inactive(anon)"]},
		"Slab":           {m["Slab"], m["SReclaimable"] + m["SUnreclaim"]},
		"free swap":      {m["SwapTotal"], m["SwapFree"]},
		"commit limit":   {m["CommitLimit"], m["SwapTotal"] + m["MemTotal"]/2},
		"KReclaimable":   {m["KReclaimable"], m["SReclaimable"]},
		"dirty and more": {max(m["Dirty"], file), file},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %d and %d bytes", what, pair[0], pair[1])
		}
	}
	if available := m["MemFree"] + file + m["SReclaimable"]; m["MemAvailable"] > available || m["MemAvailable"] < available-1<<30 {
		t.Errorf("MemAvailable is %d of at most %d bytes", m["MemAvailable"], available)
	}
}

func checkVmstat(t *testing.T, a recorded, m hostfs.Meminfo) {
	v, err := hostfs.ReadVmstat(a.Proc)
	if err != nil {
		t.Fatal(err)
	}
	if got := hostfs.PageSize(m, v); got != a.PageSize {
		t.Errorf("page size %d, header %d", got, a.PageSize)
	}
	for field, counter := range map[string]string{
		"MemFree": "nr_free_pages", "AnonPages": "nr_anon_pages", "Shmem": "nr_shmem", "Mapped": "nr_mapped", "Dirty": "nr_dirty",
		"SReclaimable": "nr_slab_reclaimable", "SUnreclaim": "nr_slab_unreclaimable", "PageTables": "nr_page_table_pages",
		"Inactive(file)": "nr_inactive_file", "Active(file)": "nr_active_file",
	} {
		if pages := v[counter]; pages*uint64(a.PageSize) != m[field] {
			t.Errorf("%s is %d pages, %s %d bytes", counter, pages, field, m[field])
		}
	}
}

// checkCgroups compares what is charged with what there is, and each cgroup with its parts.
func checkCgroups(t *testing.T, a recorded, m hostfs.Meminfo) {
	tops, err := hostfs.ListTopCgroups(a.Cgroup)
	if err != nil || len(tops) == 0 {
		t.Fatalf("%v, %v", tops, err)
	}
	sum := hostfs.MemoryStat{}
	for _, top := range tops {
		for key, value := range checkCgroup(t, a.Cgroup, top) {
			sum[key] += value
		}
	}
	for key, whole := range map[string]uint64{
		"anon": m["AnonPages"], "file": m["Buffers"] + m["Cached"], "shmem": m["Shmem"], "slab": m["Slab"], "percpu": m["Percpu"],
		"kernel_stack": m["KernelStack"], "pagetables": m["PageTables"], "sec_pagetables": m["SecPageTables"], "file_mapped": m["Mapped"],
	} {
		if _, counted := sum[key]; !counted && sum["kernel"] == 0 {
			continue // an old kernel
		}
		if part := sum[key]; part > whole || part < whole/4 {
			t.Errorf("%s: %d bytes are charged, there are %d", key, part, whole)
		}
	}
	processes, err := fs.Glob(os.DirFS(a.Proc.Path), "*/cgroup")
	if err != nil || len(processes) == 0 {
		t.Fatalf("%v, %v", processes, err)
	}
	for _, path := range processes {
		content, err := a.Proc.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		scope := strings.TrimSpace(strings.TrimPrefix(string(content), "0::"))
		if strings.Contains(scope, "docker") {
			checkNested(t, a.Cgroup, scope)
		}
	}
}

// checkCgroup checks one cgroup and returns its memory.stat.
func checkCgroup(t *testing.T, cgroups hostfs.Dir, cgroup string) hostfs.MemoryStat {
	stat, err := hostfs.ReadMemoryStat(cgroups, cgroup)
	if err != nil {
		t.Fatal(err)
	}
	current, err := hostfs.ReadMemoryCurrent(cgroups, cgroup)
	if err != nil {
		t.Fatal(err)
	}
	charged := stat["anon"] + stat["file"] + stat["kernel"] + stat["sock"]
	if _, counted := stat["kernel"]; !counted { // before 5.18 some of it has no name
		named := charged + stat["slab"] + stat["kernel_stack"]
		charged = min(max(current, named), named+32*mib)
	}
	for what, pair := range map[string][2]uint64{
		"memory.current": {current, charged},
		"slab":           {stat["slab"], stat["slab_reclaimable"] + stat["slab_unreclaimable"]},
		"file":           {stat["file"], stat["shmem"] + stat["active_file"] + stat["inactive_file"]},
		"anon":           {stat["anon"] + stat["shmem"], stat["active_anon"] + stat["inactive_anon"]},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s of %s: %d and %d", what, cgroup, pair[0], pair[1])
		}
	}
	if other, known := stat.KernelOther(); known != (stat["kernel"] > 0) || other < 0 {
		t.Errorf("kernel memory of no kind in %s: %d, %v", cgroup, other, known)
	}
	return stat
}

// checkNested checks that a container's charge is in that of the slice above it, and within its limit.
func checkNested(t *testing.T, cgroups hostfs.Dir, scope string) {
	inner := checkCgroup(t, cgroups, scope)
	outer := checkCgroup(t, cgroups, scope[:strings.LastIndex(scope, "/")])
	for key, part := range inner {
		if part > outer[key] {
			t.Errorf("%s: %d in %s, %d in the slice", key, part, scope, outer[key])
		}
	}
	files, err := hostfs.ReadCgroup(cgroups, scope)
	if err != nil || files.Max != nil && *files.Current > *files.Max {
		t.Errorf("%s: charged %v, limit %v, %v", scope, files.Current, files.Max, err)
	}
}

func checkDisk(t *testing.T, a recorded) {
	disks, err := hostfs.ReadDiskstats(a.Proc)
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, d := range disks {
		if d.DeviceName != "nvme0n1" {
			continue
		}
		found = true
		if total := d.ReadTicks + d.WriteTicks + d.TimeSpentFlushing; d.WeightedIOTicks != total {
			t.Errorf("%d ms of requests, weighted time %d ms", total, d.WeightedIOTicks)
		}
	}
	controllers, err := hostfs.ReadNVMeControllers(a.Sys)
	if len(controllers) == 0 && !found {
		return // a machine without such a drive
	}
	if err != nil || !found || len(controllers) != 1 || !slices.Equal(controllers[0].Devices, []string{"nvme0n1"}) {
		t.Errorf("%v, %+v", err, controllers)
	}
	if a.HasSMART() {
		return // a kernel that cannot read the temperatures; they are in the health log
	}
	if temperatures, err := hostfs.ReadNVMeTemperatures(a.Sys, "nvme0"); err != nil || len(temperatures) != 3 || temperatures[0].Critical == nil {
		t.Errorf("%v, %+v", err, temperatures)
	}
}

func TestLoadComesAfterIdleOnTheSameUnit(t *testing.T) {
	idle, load := device(t, openRecorded(t, "gb10-idle")), device(t, openRecorded(t, "gb10-load"))
	if *load.EnergyJoules < *idle.EnergyJoules {
		t.Error("energy falls")
	}
	for reason, seconds := range idle.ClockEventSeconds {
		if load.ClockEventSeconds[reason] < seconds {
			t.Errorf("%s falls", reason)
		}
	}
	before, err := hostfs.ReadVmstat(openRecorded(t, "gb10-idle").Proc)
	if err != nil {
		t.Fatal(err)
	}
	after, err := hostfs.ReadVmstat(openRecorded(t, "gb10-load").Proc)
	if err != nil {
		t.Fatal(err)
	}
	for counter, value := range before {
		if !strings.HasPrefix(counter, "nr_") && after[counter] < value {
			t.Errorf("%s falls", counter)
		}
	}
}
