// Package sim is a simulated DGX Spark: a host as files in a folder and driver answers that follow a Demand of plain
// numbers, on a clock of its own.
//
// All files of procfs, sysfs and the cgroup tree, and all answers of the driver, are generated from one state, so that
// they agree to the byte: cgroups add up to those above them, the drive's counters to those of cgroups and processes,
// and the pool to what is charged, held by the driver and free. The state follows a demand by documented rules of the
// machine, its driver and Linux 6.17:
//
//   - memory of cudaMalloc is charged to no cgroup, so no limit stops it; the driver lists it by process
//   - memory is reclaimed in the kernel's order: page cache used once, the driver's pools, page cache
//     in use, dirty pages, swap; then the driver is refused, and for other memory a process is killed. By generations
//     (Config.Generations) it is the page cache that was not used for longest, however often before
//   - page cache is charged to the cgroup that touched it first and outlives it: a container that has ended leaves
//     what it read, which the next engine finds missing in what CUDA calls free
//   - under load the clock is lowered for power as a rule, for heat when it is too hot
//
// Where a rule is unverified for this machine the documentation of the constant or setting notes it. A simulated host
// is no evidence about a real one; everything that is read from it is labelled.
//
// The same seed, demands and steps give the same bytes, on every processor. Only Host.Run reads the wall clock.
package sim

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
)

// PinnedRule is how memory of cudaMallocHost is accounted for. Which rule holds on GB10 has not been measured.
type PinnedRule int

const (
	// PinnedIsDriverMemory follows the source of the driver for devices without memory of their own: pages of the
	// driver, charged to no cgroup, listed for the process, and in its RssFile.
	PinnedIsDriverMemory PinnedRule = iota
	// PinnedIsSharedMemory is what was measured on an H200: charged as shmem, and not listed.
	PinnedIsSharedMemory
)

// Config is what the machine is. The zero value is a DGX Spark with driver 580 in a room of 25 degrees.
type Config struct {
	// Seed decides the small irregularities, and the UUID of the GPU.
	Seed uint64
	// Start is the time of the clock at creation, the beginning of 2026 if zero. The machine was booted two hours
	// before.
	Start time.Time
	// DriverVersion is 580.142 if empty. From 590 on the driver keeps up to PoolLimitBytes of the device memory that is
	// freed, 16 GiB if 0; the limit of a real driver is unknown.
	DriverVersion  string
	PoolLimitBytes int64
	Pinned         PinnedRule
	// Generations has page cache reclaimed as by the kernel's multi-gen LRU: what was last used longest ago goes first, even
	// if it was used often until then. Without it there are the two older lists, where what was used once goes before
	// what was used again. Kernels of Ubuntu have the former since 23.10 (Launchpad bug 2023629); a Spark's was not looked
	// at. That the kernel keeps what comes back soon after it went, in either way, is not modelled.
	Generations bool
	// SwapBytes is the size of the swap file, 0 for none.
	SwapBytes int64
	// MinFreeBytes is vm.min_free_kbytes, 0 for the kernel's default.
	MinFreeBytes int64
	// AmbientCelsius is the temperature of the room, 25 if 0.
	AmbientCelsius float64
	// ThermalFactor divides the heat that package and drive store, 1 if 0: temperatures go where they go so many times as
	// soon. Powers and the temperatures that they lead to stay.
	ThermalFactor int64
	// RailSensors adds the sensors of the out-of-tree driver spbm.
	RailSensors bool
	// Cable joins one of the two ConnectX ports to another machine: the link is up and moves what processes
	// demand by RDMA. Without it the machine shows no network at all.
	Cable bool
}

// Host is a simulated machine. Its methods may be called from several goroutines.
type Host struct {
	mu      sync.RWMutex
	machine *machine
	start   time.Time
	elapsed time.Duration // since start

	showing sync.Mutex // before mu
	folder  *folder
}

// New returns a machine at rest: services and a desktop, no engine. Its files are in a temporary folder; the caller closes
// it.
func New(config Config) (*Host, error) {
	if config.Start.IsZero() {
		config.Start = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	}
	m, err := newMachine(config)
	if err != nil {
		return nil, err
	}
	folder, err := newFolder()
	if err != nil {
		return nil, err
	}
	return &Host{machine: m, start: config.Start, folder: folder}, nil
}

// Close removes the files of the machine.
func (h *Host) Close() {
	h.showing.Lock()
	defer h.showing.Unlock()
	_ = os.RemoveAll(h.folder.path) // a temporary folder
}

// Now is the time on the host's clock.
func (h *Host) Now() time.Time {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.start.Add(h.elapsed)
}

// Advance moves the clock on, and with it everything that takes time. The result does not depend on the size of the
// steps. Readers wait meanwhile.
func (h *Host) Advance(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	before := h.elapsed
	h.elapsed += max(d, 0)
	for range h.elapsed/tick - before/tick {
		h.machine.step()
	}
}

// finest is the least time between two moves of the clock in Run: more of them would cost more than they show.
const finest = 20 * time.Millisecond

// Run moves the clock on with the wall clock, so many times as fast, until the context ends. A fast clock is moved more
// often than a slow one, so that it does not go in leaps of many seconds.
func (h *Host) Run(ctx context.Context, speed float64) {
	ticker := time.NewTicker(min(tick, max(finest, time.Duration(float64(tick)/max(speed, 1)))))
	defer ticker.Stop()
	for last := time.Now(); ; {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			h.Advance(time.Duration(float64(now.Sub(last)) * speed))
			last = now
		}
	}
}

// Program is what is started as a process.
type Program struct {
	// Comm is the name that the kernel keeps, at most 15 bytes.
	Comm string
	// Cgroup is where it runs, such as /system.slice/docker-<id>.scope; groups that are not there are made. A scope goes
	// when its last process ends.
	Cgroup string
	// Threads is at least 1. MappedBytes is the code that it has mapped.
	Threads     int
	MappedBytes int64
	// Graphics marks a client of the display, which the driver lists apart.
	Graphics bool
	// OpenFiles are files that it holds open for as long as it runs, such as a cache on disk.
	OpenFiles []OpenFile
	// Environ is its environment, NAME=value texts each ended by a zero byte; "" has none to be read.
	Environ string
}

// OpenFile is an open file: Target is the text of its link in /proc/<pid>/fd, such as "/tmp/dynamo-kvbm-disk-cache-x
// (deleted)".
type OpenFile struct {
	Target string
	Bytes  int64
	Direct bool // O_DIRECT
}

// Process is a process of a simulated machine.
type Process struct {
	// PID is its number.
	PID    uint32
	host   *Host
	state  *process
	demand atomic.Pointer[Demand]
}

// Start starts a process, which at first demands only what it needs to exist.
func (h *Host) Start(program Program) (*Process, error) {
	program.Threads = max(program.Threads, 1)
	switch {
	case program.Comm == "" || len(program.Comm) > 15 || strings.ContainsAny(program.Comm, "\n\x00"):
		return nil, fmt.Errorf("process name %.40q: must have 1 to 15 bytes in one line", program.Comm)
	case checkCgroup(program.Cgroup) != nil:
		return nil, checkCgroup(program.Cgroup)
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	m := h.machine
	handle := &Process{PID: m.nextPID, host: h}
	handle.demand.Store(&Demand{})
	handle.state = &process{pid: m.nextPID, program: program, demand: &handle.demand}
	m.nextPID += pidStep
	if !m.start(handle.state) {
		return nil, fmt.Errorf("process %s: no memory for it", program.Comm)
	}
	return handle, nil
}

// pidStep leaves room between PIDs for the short-lived processes of a real machine.
const pidStep = 17

func checkCgroup(name string) error {
	if !strings.HasPrefix(name, "/") || path.Clean(name) != name || name == "/" {
		return fmt.Errorf("cgroup %.80q: must be a path such as /user.slice below the root", name)
	}
	return nil
}

// Demand sets the demand of the process from now on. It does not block.
func (p *Process) Demand(d Demand) { p.demand.Store(&d) }

// Status is what has become of the process.
func (p *Process) Status() Status {
	p.host.mu.RLock()
	defer p.host.mu.RUnlock()
	return p.state.status()
}

// Stop ends the process; all that it holds is given back, page cache that it filled stays.
func (p *Process) Stop() {
	p.host.mu.Lock()
	defer p.host.mu.Unlock()
	if p.state.alive {
		p.host.machine.end(p.state)
	}
}

// Limits are those of a cgroup. 0 is no limit.
type Limits struct{ MaxBytes, HighBytes int64 }

// SetLimits sets the limits of a cgroup, which is made if it is not there.
func (h *Host) SetLimits(cgroup string, limits Limits) error {
	if err := checkCgroup(cgroup); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	g := h.machine.makeGroup(cgroup)
	g.max, g.high = limitPages(limits.MaxBytes), limitPages(limits.HighBytes)
	return nil
}

// limitPages rounds down, as the kernel does.
func limitPages(bytes int64) int64 {
	if bytes <= 0 {
		return noLimit
	}
	return bytes / pageBytes
}

// AddFile gives the machine a file, or a tree of files that is read as one, such as the layers of an image. Nothing
// of it is in the page cache.
func (h *Host) AddFile(name string, bytes int64) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if _, there := h.machine.residentBytes(name); there || name == "" || bytes <= 0 {
		return fmt.Errorf("file %.80q of %d bytes: must have a name of its own and a size", name, bytes)
	}
	h.machine.files = append(h.machine.files, &file{name: name, pages: pages(bytes)})
	return nil
}

// Sync writes all dirty pages to the drive.
func (h *Host) Sync() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.machine.sync()
}

// DropCaches does what echo 3 > /proc/sys/vm/drop_caches does: it drops page cache that is clean and not mapped.
func (h *Host) DropCaches() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.machine.dropCaches()
}

// SetAmbient sets the temperature of the room, in degrees Celsius.
func (h *Host) SetAmbient(celsius float64) error {
	ambient, err := microdegrees(celsius)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.machine.heat.ambient = ambient
	return nil
}

// microdegrees converts the temperature of a room that people work in, or nearly.
func microdegrees(celsius float64) (int64, error) {
	if !(celsius >= -20 && celsius <= 60) {
		return 0, fmt.Errorf("%v degrees Celsius: must be from -20 to 60", celsius)
	}
	return int64(celsius * 1e6), nil
}

// SetPowerFault puts the power supply into the state in which the GPU stays at a quarter of its clock and
// power, however busy it is, and gives no reason for it; or out of that state.
func (h *Host) SetPowerFault(on bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.machine.gpu.fault = on
}

// CUDAFreeBytes is what cudaMemGetInfo calls free on this machine: MemFree, not what is available. Engines size their
// KV caches by it.
func (h *Host) CUDAFreeBytes() int64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.machine.free * pageBytes
}

// AvailableBytes is MemAvailable: what can be had without swapping.
func (h *Host) AvailableBytes() int64 {
	h.mu.RLock()
	defer h.mu.RUnlock()
	return h.machine.available() * pageBytes
}

// Collect returns the machine for an exporter. Its files show the state at the moment when a collection begins, its driver
// that of the moment of a call. The caller closes the GPU reader.
func (h *Host) Collect() collector.Host {
	in := func(root string) hostfs.Dir {
		return hostfs.Dir{Path: filepath.Join(h.folder.path, root), Temporary: true}
	}
	_ = h.show() // an error that stays is that of the next collection
	return collector.Host{
		Proc: in(procRoot), Sys: in(sysRoot), Cgroup: in(cgroupRoot), PageSize: pageBytes, Refresh: h.show,
		GPU:           nvml.NewReader(driver{h}, nvml.ReaderOptions{Now: h.Now, PoolBytes: uint64(poolKiB) << 10}),
		CacheResident: h.cacheResident,
		Mode:          collector.Simulated, Now: h.Now,
	}
}

// show brings the files up to date.
func (h *Host) show() error {
	h.showing.Lock()
	defer h.showing.Unlock()
	h.mu.RLock()
	now := h.files()
	h.mu.RUnlock()
	return h.folder.show(now)
}

func (h *Host) cacheResident(_ context.Context, name string) (uint64, error) {
	h.mu.RLock()
	defer h.mu.RUnlock()
	bytes, known := h.machine.residentBytes(name)
	if !known {
		return 0, &fs.PathError{Op: "page cache", Path: name, Err: fs.ErrNotExist} // as of a real machine: the caller is not at fault
	}
	return bytes, nil
}
