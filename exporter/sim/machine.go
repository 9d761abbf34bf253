package sim

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"time"
)

// The clock of the model. All changes happen at whole ticks, so that it does not matter in which steps
// a clock is moved.
const (
	tick             = 100 * time.Millisecond
	ticksPerSecond   = int64(time.Second / tick)
	tickMicroseconds = int64(tick / time.Microsecond)
)

// machine is the whole state of a host, without locks. Everything in it is a whole number: pages, bytes, microseconds,
// millionths of a degree. So the results are the same on every processor.
type machine struct {
	config Config
	ticks  int64 // since boot
	noise  *rand.PCG

	pool, free, scattered int64 // pages
	driverPages           int64 // of processes, charged to no cgroup
	pooled, poolLimit     int64 // pages that the driver keeps, and may keep
	swapTotal             int64
	marks                 marks
	reclaimed             int64 // in this tick
	counts                counts

	root      *group
	processes []*process // by PID
	ended     processIO  // of those that are gone
	nextPID   uint32
	files     []*file
	cache     []*extent
	disk      disk
	cable     cable
	cpu       cpuTimes
	gpu       gpu
	heat      heat
}

// counts are events since boot, as vmstat has them.
type counts struct {
	compactStalls, compactFailures int64
	directReclaims                 int64
	refusals, kills                int64
	swappedIn, swappedOut          int64
	cacheDrops                     int64
}

// step moves the machine on by one tick.
func (m *machine) step() {
	m.reclaimed = 0
	for _, p := range m.processes {
		m.adopt(p)
		m.shrink(p)
	}
	for _, p := range m.processes {
		if p.alive {
			m.grow(p)
		}
	}
	m.moveFiles()
	m.moveRDMA()
	m.writeBackOld()
	m.settle()
	m.runCPUs()
	m.runGPU()
	m.disk.settle(m.ticks, &m.heat)
	m.ticks++
	m.settleStalls()
}

// adopt takes over what has been demanded of a process last.
func (m *machine) adopt(p *process) {
	demand := p.demand.Load()
	if demand == p.adopted {
		return
	}
	p.adopted = demand
	before := p.want
	p.want = demand.want()
	for h := range p.refused {
		if p.want.held[h] != before.held[h] {
			p.refused[h] = 0
		}
	}
	if p.want.read.File != before.read.File {
		p.reading = m.passOver(p.want.read.File)
	}
	if p.want.write.File != before.write.File {
		p.writing = m.passOver(p.want.write.File)
	}
}

// passOver begins a pass over a file by name; for an unknown name the pass is empty.
func (m *machine) passOver(name string) pass {
	for _, f := range m.files {
		if f.name == name {
			return m.begin(f)
		}
	}
	return pass{}
}

// moveFiles moves what processes read and write. The process that is first, and so gets the full drive, changes from
// tick to tick.
func (m *machine) moveFiles() {
	for i := range m.processes {
		p := m.processes[(int(m.ticks)+i)%len(m.processes)]
		m.readFile(p)
		m.writeFile(p)
		m.moveDirectly(p, reading)
		m.moveDirectly(p, writing)
		m.swapIn(p)
	}
}

// inTick is how many whole pages a rate makes in this tick; carry keeps the rest.
func inTick(bytesPerSecond int64, carry *int64) int64 {
	total := *carry + bytesPerSecond
	*carry = total % (pageBytes * ticksPerSecond)
	return total / (pageBytes * ticksPerSecond)
}

func (m *machine) readFile(p *process) {
	n := min(inTick(p.want.read.BytesPerSecond, &p.carry[fileRead]), p.reading.remaining)
	if n == 0 {
		return
	}
	hit := m.hits(&p.reading, n)
	if missed, room := n-hit, m.disk.room(reading)/pageBytes; missed > room {
		n = n * room / missed
		hit = m.hits(&p.reading, n)
	}
	missed := n - hit
	p.reading.advance(n, hit)
	m.touch(p.reading.file, hit)
	if missed > 0 {
		m.fill(p.reading.file, p.group, missed)
		p.io.read += missed * pageBytes
		p.io.readCalls += n*pageBytes/requestBytes + 1
		m.wait(p.group, m.transfer(p.group, reading, missed*pageBytes))
	}
}

// writeFile makes pages dirty; a process that does so faster than the drive writes is held back.
func (m *machine) writeFile(p *process) {
	n := min(inTick(p.want.write.BytesPerSecond, &p.carry[fileWrite]), p.writing.remaining)
	unwritten := m.available()/dirtyShare - m.root.memory[fileDirty]
	n = min(n, max(0, unwritten)+m.disk.room(writing)/pageBytes)
	if n == 0 {
		return
	}
	hit := m.hits(&p.writing, n)
	p.writing.advance(n, hit)
	soiled := m.soil(p.writing.file, hit)
	if e, kept := m.fill(p.writing.file, p.group, n-hit); kept {
		m.mark(e, n-hit)
		soiled += n - hit
	} else { // written through
		m.transfer(p.group, writing, (n-hit)*pageBytes)
		soiled += n - hit
	}
	p.io.written += soiled * pageBytes
	p.io.writtenCalls += n*pageBytes/requestBytes + 1
}

// dirtyShare is the part of what is available that may be dirty before writers wait (dirty_ratio, 20 %).
const dirtyShare = 5

// moveDirectly moves I/O that bypasses the page cache, up to the most that the process wants of it.
func (m *machine) moveDirectly(p *process, op operation) {
	moved, calls := &p.io.read, &p.io.readCalls
	direct, most := &p.direct.read, p.want.mostRead
	rate, carry := p.want.directRead, &p.carry[directRead]
	if op == writing {
		moved, calls = &p.io.written, &p.io.writtenCalls
		direct, most = &p.direct.written, p.want.mostWritten
		rate, carry = p.want.directWrite, &p.carry[directWrite]
	}
	n := min(inTick(rate, carry), m.disk.room(op)/pageBytes)
	if most > 0 {
		n = min(n, max(0, most-*direct)/pageBytes)
	}
	if n == 0 {
		return
	}
	n *= pageBytes
	*moved += n
	*direct += n
	*calls += (n + requestBytes - 1) / requestBytes
	m.wait(p.group, m.transfer(p.group, op, n))
}

// start makes a process. It fails only where there is no memory for it.
func (m *machine) start(p *process) bool {
	p.group = m.makeGroup(p.program.Cgroup)
	p.started = m.ticks
	p.alive = true
	p.group.processes++
	m.processes = append(m.processes, p)
	slices.SortFunc(m.processes, func(a, b *process) int { return cmp.Compare(a.pid, b.pid) })
	_, ok := m.resize(p, kernelShare, int64(p.program.Threads))
	if ok {
		_, ok = m.resize(p, libraries, pages(p.program.MappedBytes))
	}
	if !ok {
		m.end(p)
	}
	return ok
}

// jitter is a whole number from -most to most.
func (m *machine) jitter(most int64) int64 {
	return int64(m.noise.Uint64()%uint64(2*most+1)) - most
}
