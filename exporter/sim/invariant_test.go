package sim

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/procfs"
	"github.com/prometheus/procfs/blockdevice"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/ledger"
)

func newHost(t testing.TB, config Config) *Host {
	t.Helper()
	host, err := New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(host.Close)
	return host
}

func start(t testing.TB, host *Host, comm, cgroup string) *Process {
	t.Helper()
	p, err := host.Start(Program{Comm: comm, Cgroup: cgroup, Threads: 12, MappedBytes: 300 << 20})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func addFile(t testing.TB, host *Host, name string, bytes int64) {
	t.Helper()
	if err := host.AddFile(name, bytes); err != nil {
		t.Fatal(err)
	}
}

const (
	gib       = int64(1) << 30
	container = "/system.slice/docker-5c1d00000000000000000000000000000000000000000000000000000000beef.scope"
	native    = "/user.slice/user-1000.slice/session-9.scope"
)

// shown is a host as it shows itself at one moment, parsed from its files by the exporter's own readers.
type shown struct {
	memory    collector.MemoryReading
	meminfo   map[string]uint64 // all of it, in bytes
	vmstat    hostfs.Vmstat
	disk      blockdevice.Diskstats
	cgroups   map[string]shownCgroup
	processes map[uint32]map[string]uint64 // status and io together, in bytes
	groupOf   map[uint32]string
	contained uint64 // free bytes by buddyinfo
	pressure  map[string]uint64
}

type shownCgroup struct {
	stat             hostfs.MemoryStat
	current          uint64
	peak             uint64
	read, written    uint64
	reads, writes    uint64
	pressureSome     uint64
	pressureFull     uint64
	parent           string
	isRoot, hasChild bool
}

func read(t testing.TB, host *Host) shown {
	t.Helper()
	snapshot := host.Collect()
	defer snapshot.Close()
	memory, err := collector.NewSample(snapshot, collector.Options{}).Memory(t.Context())
	must(t, err)
	r := shown{memory: memory, meminfo: fieldsOf(t, snapshot.Proc, "meminfo"), processes: map[uint32]map[string]uint64{}, groupOf: map[uint32]string{},
		cgroups: map[string]shownCgroup{}, pressure: map[string]uint64{}}
	r.vmstat, err = hostfs.ReadVmstat(snapshot.Proc)
	must(t, err)
	disks, err := hostfs.ReadDiskstats(snapshot.Proc)
	must(t, err)
	if p1, p2 := disks[1], disks[2]; disks[0].ReadSectors != p1.ReadSectors+p2.ReadSectors || disks[0].ReadIOs != p1.ReadIOs+p2.ReadIOs {
		t.Errorf("the partitions do not add up to the drive: %+v", disks)
	}
	r.disk = disks[0]
	zones, err := hostfs.ReadBuddyinfo(snapshot.Proc)
	must(t, err)
	r.contained = uint64(hostfs.FreeContiguousBytes(zones, pageBytes, pageBytes))
	r.readCgroups(t, snapshot.Cgroup)
	members := map[uint32]string{}
	for name := range r.cgroups {
		in, err := hostfs.CgroupProcesses(snapshot.Cgroup, name)
		must(t, err)
		for _, pid := range in {
			members[pid] = name
		}
	}
	pids, err := hostfs.ListProcesses(snapshot.Proc)
	must(t, err)
	for _, pid := range pids {
		if pid != selfPID {
			r.readProcess(t, snapshot.Proc, pid)
		}
	}
	if !maps.Equal(members, r.groupOf) {
		t.Errorf("cgroup.procs: %v, /proc/<pid>/cgroup: %v", members, r.groupOf)
	}
	return r
}

func (r *shown) readProcess(t testing.TB, proc hostfs.Dir, pid uint32) {
	t.Helper()
	cgroup, err := hostfs.ProcessCgroup(proc, pid)
	must(t, err)
	r.groupOf[pid] = cgroup
	r.processes[pid] = fieldsOf(t, proc, fmt.Sprintf("%d/status", pid))
	maps.Copy(r.processes[pid], fieldsOf(t, proc, fmt.Sprintf("%d/io", pid)))
}

// fieldsOf are the numbers of a file with a name before each; amounts are in bytes.
func fieldsOf(t testing.TB, proc hostfs.Dir, name string) map[string]uint64 {
	t.Helper()
	text, err := proc.ReadFile(name)
	must(t, err)
	fields := map[string]uint64{}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		value, isKiB := strings.CutSuffix(strings.TrimSpace(value), " kB")
		if n, err := strconv.ParseUint(strings.TrimSpace(value), 10, 64); err == nil {
			if isKiB {
				n *= 1024
			}
			fields[name] = n
		}
	}
	return fields
}

func (r *shown) readCgroups(t testing.TB, cgroups hostfs.Dir) {
	t.Helper()
	must(t, fs.WalkDir(os.DirFS(cgroups.Path), ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.IsDir() {
			return err
		}
		r.cgroups["/"+strings.TrimPrefix(name, ".")] = readCgroup(t, cgroups, name)
		return nil
	}))
	for name, g := range r.cgroups {
		if !g.isRoot {
			parent := r.cgroups[g.parent]
			parent.hasChild = true
			r.cgroups[g.parent] = parent
			_ = name
		}
	}
}

func readCgroup(t testing.TB, cgroups hostfs.Dir, name string) shownCgroup {
	t.Helper()
	cgroup := "/" + strings.TrimPrefix(name, ".")
	g := shownCgroup{isRoot: cgroup == "/", parent: path.Dir(cgroup)}
	var err error
	g.stat, err = hostfs.ReadMemoryStat(cgroups, cgroup)
	must(t, err)
	io, err := cgroups.ReadFile(path.Join(name, "io.stat"))
	must(t, err)
	if len(io) > 0 {
		if _, err := fmt.Sscanf(string(io), "259:0 rbytes=%d wbytes=%d rios=%d wios=%d", &g.read, &g.written, &g.reads, &g.writes); err != nil {
			t.Fatalf("%s: %q: %v", name, io, err)
		}
	}
	if g.isRoot {
		return g
	}
	g.current, err = hostfs.ReadMemoryCurrent(cgroups, cgroup)
	must(t, err)
	peak, err := cgroups.ReadFile(path.Join(name, "memory.peak"))
	must(t, err)
	_, err = fmt.Sscan(string(peak), &g.peak)
	must(t, err)
	pressure, err := cgroups.ReadFile(path.Join(name, "memory.pressure"))
	must(t, err)
	lines := bufio.NewScanner(strings.NewReader(string(pressure)))
	for lines.Scan() {
		_, total, _ := strings.Cut(lines.Text(), "total=")
		n, err := strconv.ParseUint(total, 10, 64)
		must(t, err)
		if strings.HasPrefix(lines.Text(), "some") {
			g.pressureSome = n
		} else {
			g.pressureFull = n
		}
	}
	return g
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func (r shown) line(name string) int64 {
	for _, line := range r.memory.Lines {
		if line.Name == name {
			return int64(line.Bytes)
		}
	}
	return 0
}

// checkAgreement holds the files of a host against each other and against what the model knows.
func checkAgreement(t *testing.T, host *Host) shown {
	t.Helper()
	r, truth := read(t, host), host.Truth()
	for _, line := range r.memory.Lines {
		if line.Unknown || line.Bytes < 0 {
			t.Errorf("line %+v", line)
		}
	}
	if sum, pool := ledger.Sum(r.memory.Lines), float64(r.memory.Meminfo["MemTotal"]); sum != pool {
		t.Errorf("the ledger sums to %.0f of %.0f", sum, pool)
	}
	if got := r.line(ledger.Unattributed); got != truth.UnattributedBytes {
		t.Errorf("unattributed is %d, the model has %d", got, truth.UnattributedBytes)
	}
	if free := r.memory.Meminfo["MemFree"]; r.contained != free || r.vmstat["nr_free_pages"]*pageBytes != free {
		t.Errorf("MemFree %d, buddyinfo %d, vmstat %d pages", free, r.contained, r.vmstat["nr_free_pages"])
	}
	if r.memory.Meminfo["MemFree"] < uint64(host.machine.marks.min)*pageBytes {
		t.Errorf("MemFree %d is below the lowest watermark", r.memory.Meminfo["MemFree"])
	}
	checkCache(t, host.machine)
	r.checkCgroups(t)
	r.checkTraffic(t, truth)
	return r
}

// checkCache: what is charged as page cache is the files in it and what processes have mapped, and dirty is what some
// file is.
func checkCache(t *testing.T, m *machine) {
	t.Helper()
	var file, dirty, slab int64
	for _, p := range m.processes {
		file += p.held[libraries]
	}
	for _, e := range m.cache {
		file += e.pages
		dirty += e.dirty
		slab += e.slab
		if m.groupAt(e.group.path) != e.group {
			t.Errorf("%s is charged to %s, which is gone", e.file.name, e.group.path)
		}
		if e.pages <= 0 || e.active < 0 || e.dirty < 0 || e.active+e.dirty > e.pages || e.pages > e.file.pages {
			t.Errorf("%s in %s: %+v", e.file.name, e.group.path, e)
		}
	}
	if total := &m.root.memory; total.file() != file || total[fileDirty] != dirty || total[slabReclaimable] < slab {
		t.Errorf("%d pages of cache, %d dirty; of files %d, %d", total.file(), total[fileDirty], file, dirty)
	}
}

// checkCgroups: what is not in a group below another is what the model left there, never less than nothing, and a group
// without groups below holds what its processes do.
func (r *shown) checkCgroups(t *testing.T) {
	t.Helper()
	below := map[string]hostfs.MemoryStat{}
	anon := map[string]uint64{}
	for name, g := range r.cgroups {
		if !g.isRoot {
			if below[g.parent] == nil {
				below[g.parent] = hostfs.MemoryStat{}
			}
			for key, n := range g.stat {
				below[g.parent][key] += n
			}
			below[g.parent]["current"] += g.current
			below[g.parent]["rbytes"] += g.read
			below[g.parent]["wbytes"] += g.written
		}
		if !g.isRoot && (g.current != g.stat["anon"]+g.stat["file"]+g.stat["kernel"]+g.stat["sock"] || g.peak < g.current) {
			t.Errorf("%s: current %d, peak %d, memory.stat %v", name, g.current, g.peak, g.stat)
		}
		if other, known := g.stat.KernelOther(); !known || other < 0 {
			t.Errorf("%s: kernel memory of no named kind: %d", name, other)
		}
	}
	for pid, cgroup := range r.groupOf {
		anon[cgroup] += r.processes[pid]["RssAnon"]
	}
	for name, g := range r.cgroups {
		if sum := below[name]; sum != nil {
			for key, n := range sum {
				own := g.stat[key]
				switch key {
				case "current":
					own = g.current
				case "rbytes":
					own = g.read
				case "wbytes":
					own = g.written
				}
				if own < n && (!g.isRoot || key != "current") {
					t.Errorf("%s: %s is %d, of the groups below %d", name, key, own, n)
				}
			}
			if g.stat["anon"] != sum["anon"] || g.stat["shmem"] != sum["shmem"] {
				t.Errorf("%s: nobody's memory: %v of %v", name, g.stat, sum)
			}
		} else if g.stat["anon"] != anon[name] {
			t.Errorf("%s: anon %d, of its processes %d", name, g.stat["anon"], anon[name])
		}
	}
	for field, key := range map[string]string{"AnonPages": "anon", "Shmem": "shmem", "PageTables": "pagetables", "KernelStack": "kernel_stack",
		"Slab": "slab", "Percpu": "percpu", "Dirty": "file_dirty", "Active(file)": "active_file", "Inactive(anon)": "inactive_anon"} {
		if r.meminfo[field] != r.cgroups["/"].stat[key] {
			t.Errorf("%s %d is not %s %d of the root", field, r.meminfo[field], key, r.cgroups["/"].stat[key])
		}
	}
}

// checkTraffic: drive, cgroups and processes tell of the same bytes. A process is charged with what it writes at once,
// the drive when it is written; swap is written by no process.
func (r *shown) checkTraffic(t *testing.T, truth Truth) {
	t.Helper()
	root := r.cgroups["/"]
	if root.read != r.disk.ReadSectors*procfs.SectorSize || root.written != r.disk.WriteSectors*procfs.SectorSize || root.reads != r.disk.ReadIOs || root.writes != r.disk.WriteIOs {
		t.Errorf("io.stat %+v, diskstats %+v", root, r.disk)
	}
	const byKernel = 300 << 20 // the block devices, read when the machine was booted
	read, written := uint64(truth.EndedReadBytes)+byKernel, uint64(truth.EndedWrittenBytes)
	for _, p := range r.processes {
		read += p["read_bytes"]
		written += p["write_bytes"]
	}
	if read != r.disk.ReadSectors*procfs.SectorSize {
		t.Errorf("processes have read %d bytes, the drive %d", read, r.disk.ReadSectors*procfs.SectorSize)
	}
	if want := written - uint64(truth.DirtyBytes) + uint64(truth.SwappedOutBytes); want != r.disk.WriteSectors*procfs.SectorSize {
		t.Errorf("processes have written %d bytes (%d dirty, %d swap), the drive %d", written, truth.DirtyBytes, truth.SwappedOutBytes, r.disk.WriteSectors*procfs.SectorSize)
	}
	if uint64(truth.SwappedOutBytes) != r.vmstat["pswpout"]*pageBytes {
		t.Errorf("swapped out %d, vmstat %d pages", truth.SwappedOutBytes, r.vmstat["pswpout"])
	}
}

// checkMonotone: nothing that counts runs backwards.
func checkMonotone(t *testing.T, before, after shown) {
	t.Helper()
	for name, n := range before.vmstat {
		if !strings.HasPrefix(name, "nr_") && after.vmstat[name] < n {
			t.Errorf("%s fell from %d to %d", name, n, after.vmstat[name])
		}
	}
	for name, g := range before.cgroups {
		now, there := after.cgroups[name]
		if there && (now.read < g.read || now.written < g.written || now.peak < g.peak || now.pressureSome < g.pressureSome || now.pressureFull < g.pressureFull || now.pressureFull > now.pressureSome) {
			t.Errorf("%s: counters fell from %+v to %+v", name, g, now)
		}
	}
	if a, b := before.disk, after.disk; b.IOsTotalTicks < a.IOsTotalTicks || b.WeightedIOTicks < a.WeightedIOTicks || b.FlushRequestsCompleted < a.FlushRequestsCompleted {
		t.Errorf("the drive's times fell: %+v, %+v", a, b)
	}
}

// story is a machine under random demands.
type story struct {
	host  *Host
	dice  *rand.Rand
	alive []*Process
	files int
}

// act does one random thing.
func (s *story) act(t *testing.T) {
	t.Helper()
	switch n := s.dice.IntN(12); {
	case n < 2 && len(s.alive) < 5:
		cgroup := fmt.Sprintf("/system.slice/docker-%064x.scope", s.dice.IntN(4))
		if s.dice.IntN(3) == 0 {
			cgroup = native
		}
		p, err := s.host.Start(Program{Comm: "engine", Cgroup: cgroup, Threads: 1 + s.dice.IntN(60), MappedBytes: s.dice.Int64N(gib)})
		if err == nil {
			s.alive = append(s.alive, p)
		}
	case n == 2 && len(s.alive) > 0:
		p := s.alive[0]
		s.alive = s.alive[1:]
		p.Stop()
	case n == 3:
		s.host.DropCaches()
	case n == 4:
		s.host.Sync()
	case n == 5:
		must(t, s.host.SetLimits(fmt.Sprintf("/system.slice/docker-%064x.scope", s.dice.IntN(4)), Limits{MaxBytes: s.dice.Int64N(30 * gib), HighBytes: s.dice.Int64N(20 * gib)}))
	default:
		for _, p := range s.alive {
			p.Demand(s.demand())
		}
	}
}

func (s *story) demand() Demand {
	size := func(most int64) int64 { return s.dice.Int64N(most) * s.dice.Int64N(2) }
	return Demand{
		DeviceBytes: size(110 * gib), PinnedBytes: size(8 * gib), ManagedBytes: size(10 * gib), AnonBytes: size(50 * gib), ShmemBytes: size(10 * gib),
		BusyRatio: s.dice.Float64(), CPUs: s.dice.Float64() * 12,
		Read:                     FileTransfer{fmt.Sprintf("file %d", s.dice.IntN(s.files)), size(6 * gib)},
		Write:                    FileTransfer{fmt.Sprintf("file %d", s.dice.IntN(s.files)), size(4 * gib)},
		DirectReadBytesPerSecond: size(5 * gib), DirectWriteBytesPerSecond: size(3 * gib),
		DirectReadMostBytes: size(40 * gib), DirectWriteMostBytes: size(20 * gib),
	}
}

func TestFilesAgreeToTheByteWhateverIsDemanded(t *testing.T) {
	var sum Truth // over all stories, to see that each kind of trouble was met
	for _, config := range []Config{
		{}, {SwapBytes: 16 << 30}, {DriverVersion: "595.45.04", Pinned: PinnedIsSharedMemory, SwapBytes: 4 << 30}, {MinFreeBytes: 4 << 30}, {Generations: true, SwapBytes: 4 << 30},
	} {
		for seed := range uint64(3) {
			config.Seed = seed
			t.Run(fmt.Sprintf("%s/%d", config.DriverVersion, seed), func(t *testing.T) {
				truth := tellStory(t, config)
				sum.Kills += truth.Kills
				sum.Refusals += truth.Refusals
				sum.SwappedOutBytes += truth.SwappedOutBytes
				sum.PooledBytes += truth.PooledBytes
				sum.DirtyBytes += truth.DirtyBytes
				sum.EndedWrittenBytes += truth.EndedWrittenBytes
			})
		}
	}
	if sum.Kills < 10 || sum.Refusals < 10 || sum.SwappedOutBytes == 0 || sum.PooledBytes == 0 || sum.DirtyBytes == 0 || sum.EndedWrittenBytes == 0 {
		t.Errorf("the stories were too quiet: %+v", sum)
	}
}

func tellStory(t *testing.T, config Config) Truth {
	s := story{host: newHost(t, config), dice: rand.New(rand.NewPCG(config.Seed, 7)), files: 6}
	for i := range s.files {
		addFile(t, s.host, fmt.Sprintf("file %d", i), 1+s.dice.Int64N(40*gib))
	}
	before := checkAgreement(t, s.host)
	for range 60 {
		s.act(t)
		s.host.Advance(time.Duration(s.dice.IntN(30)) * tick / 2)
		after := checkAgreement(t, s.host)
		checkMonotone(t, before, after)
		before = after
		if t.Failed() {
			t.Fatalf("at %v: %+v", s.host.Now(), s.host.Truth())
		}
	}
	return s.host.Truth()
}

func TestGoneProcessesAndGroupsAreNotFound(t *testing.T) {
	host := newHost(t, Config{})
	p := start(t, host, "engine", container)
	collected := host.Collect()
	defer collected.Close()
	if _, err := hostfs.Comm(collected.Proc, p.PID); err != nil {
		t.Error(err)
	}
	p.Stop()
	p.Stop() // no harm
	must(t, collected.Refresh())
	if _, err := collected.Proc.Stat(fmt.Sprint(p.PID)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the process: %v", err)
	}
	if _, err := collected.Cgroup.Stat(container[1:]); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the cgroup: %v", err)
	}
	if status := p.Status(); status.Alive || status.Killed {
		t.Errorf("%+v", status)
	}
}
