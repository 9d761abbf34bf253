package sim

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// A DGX Spark at rest, near what owners report: MemTotal as captured, 113 GiB available.
const (
	poolKiB = 127_600_748
	// uptime is how long the machine has been up when it is made.
	uptime = 2 * time.Hour
	// unnamedPages is memory that no field of meminfo counts and no process holds: firmware buffers of the GPU, rings
	// of the network cards, free lists of the CPUs.
	unnamedPages = 286_720
	// blockDevices is the file for the page cache of block devices, which meminfo calls Buffers.
	blockDevices = "(block devices)"
	// firstPID is that of the first process that a caller starts.
	firstPID = 6330
	initPID  = 1
)

// service is a process of the machine at rest, and what its group has in the page cache.
type service struct {
	pid                       uint32
	program                   Program
	demand                    Demand
	cachedBytes, writtenBytes int64
}

const miB = 1 << 20

func services() []service {
	return []service{
		{pid: initPID, program: Program{Comm: "systemd", Cgroup: "/init.scope", MappedBytes: 8 * miB},
			demand: Demand{AnonBytes: 9 * miB}, cachedBytes: 6 * miB, writtenBytes: 2 * miB},
		{pid: 612, program: Program{Comm: "systemd-journal", Cgroup: "/system.slice/systemd-journald.service", MappedBytes: 10 * miB},
			demand: Demand{AnonBytes: 18 * miB}, cachedBytes: 310 * miB, writtenBytes: 740 * miB},
		{pid: 1188, program: Program{Comm: "containerd", Cgroup: "/system.slice/containerd.service", Threads: 24, MappedBytes: 42 * miB},
			demand: Demand{AnonBytes: 96 * miB}, cachedBytes: 520 * miB, writtenBytes: 61 * miB},
		{pid: 1402, program: Program{Comm: "dockerd", Cgroup: "/system.slice/docker.service", Threads: 31, MappedBytes: 64 * miB},
			demand: Demand{AnonBytes: 180 * miB}, cachedBytes: 1210 * miB, writtenBytes: 2400 * miB},
		{pid: 2210, program: Program{Comm: "jupyter-lab", Cgroup: "/system.slice/jupyter.service", Threads: 12, MappedBytes: 60 * miB},
			demand: Demand{AnonBytes: 2450 * miB, ShmemBytes: 20 * miB, CPUs: 0.02}, cachedBytes: 1650 * miB},
		{pid: 3150, program: Program{Comm: "Xorg", Cgroup: "/user.slice/user-1000.slice/session-2.scope", Threads: 9, MappedBytes: 120 * miB, Graphics: true},
			demand: Demand{AnonBytes: 240 * miB, ShmemBytes: 100 * miB, DeviceBytes: 43 * miB}, cachedBytes: 260 * miB},
		{pid: 3302, program: Program{Comm: "gnome-shell", Cgroup: "/user.slice/user-1000.slice/session-2.scope", Threads: 28, MappedBytes: 380 * miB},
			demand: Demand{AnonBytes: 3350 * miB, ShmemBytes: 27 * miB, CPUs: 0.03}, cachedBytes: 910 * miB, writtenBytes: 120 * miB},
	}
}

// newMachine is a machine at rest with the clock at uptime.
func newMachine(config Config) (*machine, error) {
	if config.DriverVersion == "" {
		config.DriverVersion = "580.142"
	}
	if config.AmbientCelsius == 0 {
		config.AmbientCelsius = 25
	}
	ambient, err := microdegrees(config.AmbientCelsius)
	if err != nil {
		return nil, fmt.Errorf("ambient temperature: %w", err)
	}
	poolLimit, err := driverPools(config)
	if err != nil {
		return nil, err
	}
	const pool = poolKiB / pageKiB
	m := &machine{
		config: config, noise: rand.NewPCG(config.Seed, config.Seed^0x9e3779b97f4a7c15),
		pool: pool, free: pool - unnamedPages, poolLimit: poolLimit,
		swapTotal: pages(config.SwapBytes), marks: watermarks(pool, pages(config.MinFreeBytes)),
		root: newGroup("/", nil),
	}
	m.settleIn(ambient)
	return m, nil
}

// driverPools is how many pages the driver may keep: versions before 590 keep none.
func driverPools(config Config) (int64, error) {
	release, _, _ := strings.Cut(config.DriverVersion, ".")
	major, err := strconv.Atoi(release)
	switch {
	case err != nil:
		return 0, fmt.Errorf("driver version %.40q: must begin with a number such as 580", config.DriverVersion)
	case major < 590:
		return 0, nil
	case config.PoolLimitBytes == 0:
		return 16 * gibibyte, nil
	}
	return pages(config.PoolLimitBytes), nil
}

// settleIn brings up the machine: the kernel's own memory, services, what they have read and written, two hours
// of rest.
func (m *machine) settleIn(ambient int64) {
	m.force(m.root, &amounts{
		kernelStack: 2400, pageTables: 900, secPageTables: 512, percpu: 2600, vmalloc: 512, sock: 128,
		slabReclaimable: 30_000, slabUnreclaimable: 78_000,
	})
	m.heat = heat{ambient: ambient, sink: ambient + 12_000_000, die: ambient + 13_000_000, factor: max(1, m.config.ThermalFactor)}
	m.disk.temperature = ambient + diskIdleMicrokelvin
	m.gpu = gpu{clock: clockRest, allowed: clockBoost, power: powerRest, energy: powerRest * int64(uptime/time.Microsecond) / 1000}
	m.scattered = m.free / 80
	m.cached(blockDevices, m.root, 300*miB)
	m.transfer(m.root, reading, 300*miB)
	for _, s := range services() {
		m.bringUp(s)
	}
	rested := int64(uptime / tick)
	m.cpu.idle = rested * tickMicroseconds * (cpus*1000 - backgroundMilliCPUs) / 1000
	m.cpu.user = rested * tickMicroseconds * backgroundMilliCPUs * 2 / 3 / 1000
	m.cpu.system = rested * tickMicroseconds * backgroundMilliCPUs / 3 / 1000
	m.ticks = rested
	m.nextPID = firstPID
	m.disk.moved = [operations]int64{}
}

// bringUp starts a service as it is after two hours.
func (m *machine) bringUp(s service) {
	s.program.Threads = max(s.program.Threads, 1)
	demand := new(atomic.Pointer[Demand])
	demand.Store(&s.demand)
	p := &process{pid: s.pid, program: s.program, demand: demand}
	m.start(p)
	m.adopt(p)
	m.grow(p)
	m.cached(fmt.Sprintf("(files of %s)", s.program.Comm), p.group, s.cachedBytes)
	read := s.cachedBytes + s.program.MappedBytes
	p.io = processIO{read: read, written: s.writtenBytes, readCalls: read / requestBytes, writtenCalls: s.writtenBytes / requestBytes}
	m.transfer(p.group, reading, read)
	m.transfer(p.group, writing, s.writtenBytes)
	m.disk.busy = (m.disk.total[reading].nanoseconds + m.disk.total[writing].nanoseconds) * busyEighths / 8
	p.user = p.want.milliCPUs * int64(uptime/time.Microsecond) / 1000 * 7 / 8
	p.system = p.want.milliCPUs * int64(uptime/time.Microsecond) / 1000 / 8
}

// cached puts a file into the page cache, half of it used more than once.
func (m *machine) cached(name string, g *group, bytes int64) {
	f := &file{name, pages(bytes), true}
	m.files = append(m.files, f)
	m.fill(f, g, f.pages)
	m.touch(f, f.pages/2)
}

// uuid is that of the GPU, made from the seed so that machines differ.
func (m *machine) uuid() string {
	return fmt.Sprintf("GPU-51300000-0000-4000-8000-%012x", m.config.Seed&(1<<48-1))
}
