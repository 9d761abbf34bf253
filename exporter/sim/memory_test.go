package sim

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/procfs"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/ledger"
)

// moved is by how many bytes things differ between two moments.
func moved(before, after shown, cgroup string, p *Process) map[string]int64 {
	differences := map[string]int64{}
	put := func(name string, before, after uint64) {
		if n := int64(after) - int64(before); n != 0 {
			differences[name] = n
		}
	}
	for _, key := range []string{"anon", "shmem", "file", "file_mapped"} {
		put(key, before.cgroups[cgroup].stat[key], after.cgroups[cgroup].stat[key])
	}
	otherBefore, _ := before.cgroups[cgroup].stat.KernelOther()
	otherAfter, _ := after.cgroups[cgroup].stat.KernelOther()
	put("kernel_other", uint64(otherBefore), uint64(otherAfter))
	for _, field := range []string{"RssAnon", "RssFile", "RssShmem"} {
		put(field, before.processes[p.PID][field], after.processes[p.PID][field])
	}
	put("Mapped", before.meminfo["Mapped"], after.meminfo["Mapped"])
	for _, line := range before.memory.Lines {
		if line.Name != ledger.Free && line.Name != ledger.PageTables {
			put("line "+line.Name, uint64(line.Bytes), uint64(after.line(line.Name)))
		}
	}
	return differences
}

// TestEachAllocationIsAccountedByTheRules goes through the allocation matrix: which figures 2 GiB of each sort move, and
// which they do not.
func TestEachAllocationIsAccountedByTheRules(t *testing.T) {
	const n, tables = 2 * gib, 2 * gib / 512
	for _, c := range []struct {
		name   string
		pinned PinnedRule
		demand Demand
		want   map[string]int64
	}{
		{"device", PinnedIsDriverMemory, Demand{DeviceBytes: n},
			map[string]int64{"kernel_other": tables, "line managed": tables, "line gpu_process": n}},
		{"pinned, as the driver's source has it", PinnedIsDriverMemory, Demand{PinnedBytes: n},
			map[string]int64{"RssFile": n, "Mapped": n, "line gpu_process": n}},
		{"pinned, as measured", PinnedIsSharedMemory, Demand{PinnedBytes: n},
			map[string]int64{"shmem": n, "file": n, "file_mapped": n, "RssShmem": n, "Mapped": n, "line shmem": n}},
		{"managed", PinnedIsDriverMemory, Demand{ManagedBytes: n},
			map[string]int64{"kernel_other": n, "line managed": n}},
		{"malloc", PinnedIsDriverMemory, Demand{AnonBytes: n},
			map[string]int64{"anon": n, "RssAnon": n, "line anon": n}},
		{"shared", PinnedIsDriverMemory, Demand{ShmemBytes: n},
			map[string]int64{"shmem": n, "file": n, "file_mapped": n, "RssShmem": n, "Mapped": n, "line shmem": n}},
	} {
		t.Run(c.name, func(t *testing.T) {
			host := newHost(t, Config{Pinned: c.pinned})
			p := start(t, host, "engine", container)
			host.Advance(tick)
			before := checkAgreement(t, host)
			p.Demand(c.demand)
			host.Advance(tick)
			if got := moved(before, checkAgreement(t, host), container, p); fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("moved %v, want %v", got, c.want)
			}
			p.Demand(Demand{})
			host.Advance(tick)
			if left := moved(before, checkAgreement(t, host), container, p); len(left) > 0 {
				t.Errorf("given back, but for %v", left)
			}
		})
	}
}

func TestLimitStopsMallocAndNotTheGPU(t *testing.T) {
	host := newHost(t, Config{})
	must(t, host.SetLimits(container, Limits{MaxBytes: 8 * gib}))
	p := start(t, host, "engine", container)
	p.Demand(Demand{DeviceBytes: 40 * gib})
	host.Advance(tick)
	if status := p.Status(); !status.Alive || status.DeviceBytes != 40*gib {
		t.Fatalf("device memory beyond the limit: %+v", status)
	}
	r := read(t, host)
	if current := int64(r.cgroups[container].current); current > gib {
		t.Errorf("memory.current is %d", current)
	}
	p.Demand(Demand{DeviceBytes: 40 * gib, AnonBytes: 12 * gib})
	host.Advance(tick)
	if status := p.Status(); status.Alive || !status.Killed {
		t.Errorf("12 GiB of malloc under a limit of 8: %+v", status)
	}
	if truth := host.Truth(); truth.Kills != 1 || read(t, host).vmstat["oom_kill"] != 1 {
		t.Errorf("%+v", truth)
	}
}

func TestEventsOfALimitAreCountedUpTheTree(t *testing.T) {
	host := newHost(t, Config{})
	must(t, host.SetLimits("/system.slice", Limits{MaxBytes: 12 * gib}))
	must(t, host.SetLimits(container, Limits{HighBytes: 2 * gib}))
	addFile(t, host, "weights", 20*gib)
	start(t, host, "reader", container).Demand(Demand{Read: FileTransfer{"weights", 4 * gib}})
	host.Advance(10 * time.Second)
	r := checkAgreement(t, host)
	if current := int64(r.cgroups[container].current); current > 2*gib+gib/8 {
		t.Errorf("over memory.high by %d", current-2*gib)
	}
	events := host.machine.groupAt("/system.slice").events
	if below := host.machine.groupAt(container).events; below.high == 0 || events.high < below.high {
		t.Errorf("events %+v above, %+v below", events, below)
	}
	if stalled := r.cgroups[container].pressureSome; stalled == 0 {
		t.Error("who goes over memory.high does not wait")
	}
}

func TestPageCacheGivesWayBeforeTheDriverIsRefused(t *testing.T) {
	host := newHost(t, Config{})
	addFile(t, host, "weights", 60*gib)
	p := start(t, host, "engine", container)
	p.Demand(Demand{Read: FileTransfer{"weights", 6 * gib}})
	host.Advance(15 * time.Second)
	if cached := host.Truth().CachedBytes["weights"]; cached != 60*gib {
		t.Fatalf("%d of the weights are cached", cached)
	}
	r := read(t, host)
	if file := int64(r.cgroups[container].stat["file"]); file < 60*gib {
		t.Errorf("charged to the reader: %d", file)
	}
	p.Demand(Demand{DeviceBytes: 100 * gib, Read: FileTransfer{"weights", 6 * gib}})
	host.Advance(tick)
	if status := p.Status(); status.DeviceBytes != 100*gib || status.Refusals != 0 {
		t.Errorf("%+v", status)
	}
	if cached := host.Truth().CachedBytes["weights"]; cached >= 60*gib {
		t.Errorf("%d of the weights are still cached", cached)
	}
	if got := read(t, host).memory.Meminfo["MemFree"]; int64(got) > gib {
		t.Errorf("MemFree is %d, though reclaim frees no more than is needed", got)
	}
	p.Demand(Demand{DeviceBytes: 120 * gib})
	host.Advance(time.Minute)
	if status := p.Status(); status.DeviceBytes != 100*gib || status.Refusals != 1 || !status.Alive {
		t.Errorf("an allocation that does not fit: %+v", status)
	}
	if truth := host.Truth(); truth.Kills != 0 || truth.Refusals != 1 {
		t.Errorf("%+v", truth)
	}
	p.Demand(Demand{DeviceBytes: 120 * gib, BusyRatio: 0.5})
	host.Advance(time.Second)
	if status := p.Status(); status.Refusals != 1 {
		t.Errorf("the same demand is tried anew: %+v", status)
	}
	p.Demand(Demand{DeviceBytes: 119 * gib})
	host.Advance(time.Second)
	if status := p.Status(); status.Refusals != 2 {
		t.Errorf("another demand is not tried: %+v", status)
	}
}

func TestKillerLooksAtMemoryOfTheKernelOnly(t *testing.T) {
	host := newHost(t, Config{})
	engine := start(t, host, "engine", container)
	engine.Demand(Demand{DeviceBytes: 90 * gib, AnonBytes: gib})
	innocent := start(t, host, "database", native)
	innocent.Demand(Demand{AnonBytes: 8 * gib})
	host.Advance(tick)
	start(t, host, "script", "/user.slice/user-1000.slice/session-3.scope").Demand(Demand{AnonBytes: 7 * gib})
	for range 30 {
		host.Advance(tick)
	}
	other := start(t, host, "another", "/user.slice/user-1000.slice/session-4.scope")
	other.Demand(Demand{AnonBytes: 7 * gib})
	host.Advance(tick)
	if !engine.Status().Alive || !innocent.Status().Killed {
		t.Errorf("engine %+v, innocent %+v", engine.Status(), innocent.Status())
	}
}

func TestDriversSince590KeepWhatIsFreed(t *testing.T) {
	for _, c := range []struct {
		version string
		kept    int64
	}{{"580.142", 0}, {"590.48.01", 16 * gib}} {
		host := newHost(t, Config{DriverVersion: c.version})
		p := start(t, host, "engine", container)
		p.Demand(Demand{DeviceBytes: 60 * gib})
		host.Advance(tick)
		p.Demand(Demand{})
		before := read(t, host).line(ledger.Unattributed)
		host.Advance(tick)
		after := checkAgreement(t, host)
		if grown := after.line(ledger.Unattributed) - before; grown != c.kept || host.Truth().PooledBytes != c.kept {
			t.Errorf("driver %s keeps %d (%d), want %d", c.version, grown, host.Truth().PooledBytes, c.kept)
		}
		p.Demand(Demand{AnonBytes: 110 * gib})
		host.Advance(tick)
		if status := p.Status(); status.AnonBytes != 110*gib || host.Truth().PooledBytes > 8*gib {
			t.Errorf("driver %s under pressure: %+v, %+v", c.version, status, host.Truth())
		}
	}
}

// TestEndedContainerLeavesItsPageCache is the carry-over from one arm of an experiment to the next: what the
// container has read stays charged to the slice above, CUDA finds that much less free, and later reads push it out.
func TestEndedContainerLeavesItsPageCache(t *testing.T) {
	host := newHost(t, Config{})
	addFile(t, host, "image", 20*gib)
	addFile(t, host, "weights", 40*gib)
	rested := read(t, host)
	p := start(t, host, "engine", container)
	p.Demand(Demand{Read: FileTransfer{"image", 5 * gib}})
	host.Advance(5 * time.Second)
	p.Stop()
	r := checkAgreement(t, host)
	if missing := int64(rested.memory.Meminfo["MemFree"] - r.memory.Meminfo["MemFree"]); missing < 20*gib {
		t.Errorf("CUDA finds %d less free after the container", missing)
	}
	if left := int64(r.cgroups["/system.slice"].stat["file"] - rested.cgroups["/system.slice"].stat["file"]); left != 20*gib {
		t.Errorf("left charged to the slice: %d", left)
	}
	last := host.Truth().CachedBytes["image"]
	for run := range 4 {
		next := start(t, host, "engine", native)
		next.Demand(Demand{DeviceBytes: 88*gib + int64(run)*gib, Read: FileTransfer{"weights", 5 * gib}})
		host.Advance(20 * time.Second)
		next.Stop()
		if now := host.Truth().CachedBytes["image"]; now < last || now == 0 {
			last = now
		} else if run == 0 {
			t.Errorf("the first run left %d of %d", now, last)
		}
	}
	if last != 0 {
		t.Errorf("after four runs %d of the image are cached", last)
	}
	before := read(t, host).memory.Meminfo["MemFree"]
	host.DropCaches()
	if after := checkAgreement(t, host); after.memory.Meminfo["MemFree"] < before+uint64(20*gib) {
		t.Errorf("dropping caches freed %d", after.memory.Meminfo["MemFree"]-before)
	}
}

func TestFileIsReadFromTheDriveOnce(t *testing.T) {
	host := newHost(t, Config{})
	addFile(t, host, "weights", 8*gib)
	p := start(t, host, "engine", container)
	for pass, want := range []int64{8 * gib, 0} {
		before := read(t, host).disk.ReadSectors * procfs.SectorSize
		p.Demand(Demand{})
		host.Advance(tick)
		p.Demand(Demand{Read: FileTransfer{"weights", 4 * gib}})
		host.Advance(3 * time.Second)
		if got := int64(read(t, host).disk.ReadSectors*procfs.SectorSize - before); got != want || p.Status().ReadLeftBytes != 0 {
			t.Errorf("pass %d read %d from the drive, want %d; %+v", pass, got, want, p.Status())
		}
	}
	if active := int64(read(t, host).cgroups[container].stat["active_file"]); active < 8*gib {
		t.Errorf("pages used twice are active: %d", active)
	}
}

func TestWrittenFilesReachTheDriveLater(t *testing.T) {
	host := newHost(t, Config{})
	addFile(t, host, "layers", 2*gib)
	before := read(t, host)
	p := start(t, host, "dockerd", container)
	p.Demand(Demand{Write: FileTransfer{"layers", gib}})
	host.Advance(3 * time.Second)
	r := checkAgreement(t, host)
	if r.processes[p.PID]["write_bytes"] != uint64(2*gib) || r.disk.WriteSectors*procfs.SectorSize != before.disk.WriteSectors*procfs.SectorSize || host.Truth().DirtyBytes != 2*gib {
		t.Errorf("after 3 s: %v, %+v", r.processes[p.PID], r.disk)
	}
	host.Advance(40 * time.Second)
	if r = checkAgreement(t, host); r.disk.WriteSectors*procfs.SectorSize != before.disk.WriteSectors*procfs.SectorSize+uint64(2*gib) || host.Truth().DirtyBytes != 0 {
		t.Errorf("after 43 s: %+v, %+v", r.disk, host.Truth())
	}
}

func TestLoadingScattersFreeMemoryAndItMendsSlowly(t *testing.T) {
	host := newHost(t, Config{})
	addFile(t, host, "weights", 60*gib)
	contiguous := func() float64 {
		zones, err := hostfs.ReadBuddyinfo(host.Collect().Proc)
		must(t, err)
		return hostfs.FreeContiguousBytes(zones, 2<<20, pageBytes) / float64(gib)
	}
	if idle := contiguous(); idle < 100 {
		t.Errorf("at rest %.1f GiB are in blocks of 2 MiB", idle)
	}
	p := start(t, host, "engine", container)
	p.Demand(Demand{Read: FileTransfer{"weights", 6 * gib}})
	host.Advance(15 * time.Second)
	p.Demand(Demand{DeviceBytes: 60 * gib, Read: FileTransfer{"weights", 6 * gib}})
	host.Advance(tick)
	loaded := read(t, host)
	if loaded.vmstat["compact_stall"] == 0 || loaded.vmstat["compact_fail"] == 0 {
		t.Errorf("no compaction: %v", loaded.vmstat)
	}
	host.DropCaches()
	p.Demand(Demand{DeviceBytes: 105 * gib})
	host.Advance(5 * time.Second)
	free := float64(read(t, host).memory.Meminfo["MemFree"]) / float64(gib)
	if full := contiguous(); free < 3 || full > 1 {
		t.Errorf("loaded: %.1f GiB free, %.2f in blocks of 2 MiB", free, full)
	}
	p.Demand(Demand{})
	host.Advance(tick)
	missing := func() float64 {
		return float64(read(t, host).memory.Meminfo["MemFree"])/float64(gib) - contiguous()
	}
	first := missing()
	host.Advance(time.Hour)
	if later := missing(); later > first/2 || first < 2 {
		t.Errorf("scattered: %.2f GiB right after, %.2f after an hour", first, later)
	}
}

func TestAvailableFollowsTheWatermarks(t *testing.T) {
	usual, raised := newHost(t, Config{}), newHost(t, Config{MinFreeBytes: 4 << 30})
	if kib := usual.machine.marks.min * pageKiB; kib < 45_000 || kib > 45_300 {
		t.Errorf("vm.min_free_kbytes is %d by default; the kernel's rule gives 45184", kib)
	}
	less := float64(read(t, usual).memory.Meminfo["MemAvailable"]-read(t, raised).memory.Meminfo["MemAvailable"]) / float64(gib)
	if less < 5 || less > 9 {
		t.Errorf("4 GiB of vm.min_free_kbytes lower MemAvailable by %.1f GiB; 6.2 were reported", less)
	}
}

func TestSwapTakesIdleMemoryAndGivesItBack(t *testing.T) {
	host := newHost(t, Config{SwapBytes: 16 << 30})
	idle := start(t, host, "idle", native)
	idle.Demand(Demand{AnonBytes: 30 * gib})
	host.Advance(tick)
	p := start(t, host, "engine", container)
	p.Demand(Demand{DeviceBytes: 85 * gib})
	host.Advance(tick)
	r := checkAgreement(t, host)
	out := idle.Status().SwappedBytes
	if p.Status().DeviceBytes != 85*gib || out == 0 || idle.Status().AnonBytes+out != 30*gib {
		t.Errorf("%+v, %+v", p.Status(), idle.Status())
	}
	if r.memory.Meminfo["SwapTotal"]-r.memory.Meminfo["SwapFree"] < uint64(out) || r.processes[idle.PID]["VmSwap"] != uint64(out) {
		t.Errorf("%v, %v", r.memory.Meminfo, r.processes[idle.PID])
	}
	p.Stop()
	idle.Demand(Demand{AnonBytes: 30 * gib, CPUs: 1})
	host.Advance(time.Minute)
	if r = checkAgreement(t, host); idle.Status().SwappedBytes != 0 || r.vmstat["pswpin"] == 0 || r.vmstat["pgmajfault"] == 0 {
		t.Errorf("%+v", idle.Status())
	}
}

func TestWhoWantsTooMuchIsKilledHimself(t *testing.T) {
	host := newHost(t, Config{})
	other := start(t, host, "database", native)
	other.Demand(Demand{AnonBytes: 10 * gib})
	host.Advance(tick)
	greedy := start(t, host, "leak", container)
	greedy.Demand(Demand{AnonBytes: 200 * gib})
	host.Advance(tick)
	if !greedy.Status().Killed || !other.Status().Alive || host.Truth().Kills != 1 {
		t.Errorf("%+v, %+v, %+v", greedy.Status(), other.Status(), host.Truth())
	}
	checkAgreement(t, host)
}

func TestProcessMayGrowIntoItsOwnSwap(t *testing.T) {
	host := newHost(t, Config{SwapBytes: 16 << 30})
	p := start(t, host, "notebook", native)
	for size := 100 * gib; size < 120*gib; size += gib/4 + miB + 12345 { // half a page table more each time
		p.Demand(Demand{AnonBytes: size})
		host.Advance(tick)
		checkAgreement(t, host)
		if status := p.Status(); status.AnonBytes+status.SwappedBytes != pages(size)*pageBytes {
			t.Errorf("%+v of %d", status, size)
		}
	}
	if p.Status().SwappedBytes == 0 {
		t.Error("nothing was swapped out")
	}
}

func TestWaitForMemoryEndsWithTheShortage(t *testing.T) {
	host := newHost(t, Config{})
	addFile(t, host, "weights", 80*gib)
	p := start(t, host, "engine", container)
	p.Demand(Demand{Read: FileTransfer{"weights", 8 * gib}})
	host.Advance(20 * time.Second)
	quiet, _ := pressureOf(t, host, "memory")
	p.Demand(Demand{DeviceBytes: 90 * gib})
	host.Advance(time.Minute)
	after, _ := pressureOf(t, host, "memory")
	host.Advance(time.Minute)
	if later, _ := pressureOf(t, host, "memory"); quiet[3] != 0 || after[3] < 1e6 || after[3] > 30e6 || later[3] != after[3] {
		t.Errorf("microseconds lost: %.0f, %.0f after 60 GiB were reclaimed, %.0f a minute later", quiet[3], after[3], later[3])
	}
}

func TestTwoReadersOfOneFileShareIt(t *testing.T) {
	host := newHost(t, Config{})
	addFile(t, host, "weights", 10*gib)
	before := read(t, host)
	for _, cgroup := range []string{container, native} {
		start(t, host, "engine", cgroup).Demand(Demand{Read: FileTransfer{"weights", gib}})
	}
	host.Advance(time.Minute)
	r := checkAgreement(t, host)
	if got := int64(r.disk.ReadSectors*procfs.SectorSize - before.disk.ReadSectors*procfs.SectorSize); got != 10*gib || host.Truth().CachedBytes["weights"] != 10*gib {
		t.Errorf("%d read from the drive, %v cached", got, host.Truth().CachedBytes)
	}
}
