package sim

import "sync/atomic"

// holding is a sort of memory that a process holds until it gives it back.
type holding int

const (
	device holding = iota
	pinned
	managed
	anon
	shared
	libraries   // pages of files that it maps, which stay while it does
	kernelShare // stacks, page tables and the like, counted in threads
	holdings
)

// process is one program that runs.
type process struct {
	pid     uint32
	program Program
	group   *group
	started int64 // ticks since boot
	demand  *atomic.Pointer[Demand]

	adopted *Demand // the demand that want is
	want    want
	held    [holdings]int64 // pages; of kernelShare threads
	refused [holdings]int64 // what the driver refused, 0 for none
	swapped int64

	alive, killed    bool
	refusals         int64
	io               processIO
	direct           struct{ read, written int64 } // what of it passed by the page cache
	reading, writing pass
	carry            [transfers]int64 // bytes of a rate that make no page yet
	user, system     int64            // CPU time in microseconds
}

// processIO is /proc/<pid>/io, in bytes.
type processIO struct{ read, written, readCalls, writtenCalls int64 }

// transfers are the rates of a process.
const (
	fileRead = iota
	fileWrite
	directRead
	directWrite
	rdmaReceive
	rdmaTransmit
	transfers
)

// cost is what n pages of a holding are accounted as: charged to the cgroup by kind, or the driver's own, which is
// charged to no cgroup. A kernel counts page tables at 8 bytes a page, and the GPU's likewise.
func (m *machine) cost(h holding, n int64) (charged amounts, driver int64) {
	tables := (n + entriesPerTable - 1) / entriesPerTable
	switch h {
	case device:
		return amounts{kernelOther: tables}, n
	case pinned:
		if m.config.Pinned == PinnedIsDriverMemory {
			return amounts{}, n
		}
		return amounts{shmem: n, fileMapped: n, pageTables: tables}, 0
	case managed:
		return amounts{kernelOther: n}, 0
	case anon:
		return amounts{anonActive: n / 8, anonInactive: n - n/8, pageTables: tables}, 0
	case shared:
		return amounts{shmem: n, fileMapped: n, pageTables: tables}, 0
	case libraries:
		return amounts{fileActive: n, fileMapped: n}, 0
	case kernelShare:
		if n == 0 {
			return amounts{}, 0
		}
		return amounts{kernelStack: n * stackPages, pageTables: 12 + n, slabUnreclaimable: 32 + 6*n, slabReclaimable: 16}, 0
	}
	return amounts{}, 0
}

const (
	entriesPerTable = pageBytes / 8
	stackPages      = 4 // of a thread in the kernel, on arm64
)

// resize grows or shrinks a holding to n pages. A failure leaves it unchanged.
func (m *machine) resize(p *process, h holding, n int64) (limit *group, ok bool) {
	by := n - p.held[h]
	charged, driver := m.change(p, h, by)
	if by > 0 {
		t := taking{group: p.group, charged: charged.charged(), driver: driver, large: h == device || h == pinned}
		if limit, ok = m.take(t); !ok {
			return limit, false
		}
		// Reclaim may have swapped out pages of this very holding, which moves the roundings of cost.
		charged, driver = m.change(p, h, by)
		m.free += t.charged + t.driver - charged.charged() - driver
		p.group.addAll(&charged)
		p.group.add(pageFaults, charged.anon())
	} else {
		back := (&amounts{}).minus(&charged)
		m.give(p.group, &back, scatteredAtOnce)
		m.giveDriver(-driver)
	}
	p.held[h] += by
	m.driverPages += driver
	return nil, true
}

func (m *machine) change(p *process, h holding, by int64) (charged amounts, driver int64) {
	before, driverBefore := m.cost(h, p.held[h])
	after, driverAfter := m.cost(h, p.held[h]+by)
	return after.minus(&before), driverAfter - driverBefore
}

// listed is the memory that the driver's process lists name, in pages.
func (m *machine) listed(p *process) int64 {
	if m.config.Pinned == PinnedIsDriverMemory {
		return p.held[device] + p.held[pinned]
	}
	return p.held[device]
}

// shrink gives back what is not wanted any more.
func (m *machine) shrink(p *process) {
	for h := device; h <= shared; h++ {
		n := p.want.held[h]
		if h == anon {
			back := min(p.swapped, max(0, p.held[anon]+p.swapped-n))
			p.swapped -= back
			p.group.add(swapped, -back)
			n = max(0, n-p.swapped)
		}
		if n < p.held[h] {
			m.resize(p, h, n)
		}
	}
}

// grow takes the demanded memory. If driver memory is short, the allocation fails and its owner gets the error; for
// other memory the kernel kills a process.
func (m *machine) grow(p *process) {
	for h := device; h <= managed; h++ {
		n := p.want.held[h]
		if n <= p.held[h] || n == p.refused[h] {
			continue
		}
		p.refused[h] = 0
		if _, ok := m.resize(p, h, n); !ok {
			p.refused[h] = n
			p.refusals++
			m.counts.refusals++
		}
	}
	for _, h := range []holding{anon, shared} {
		m.mustGrow(p, h)
	}
}

func (m *machine) mustGrow(p *process, h holding) {
	for p.alive {
		n := p.want.held[h]
		if h == anon {
			n -= p.swapped
		}
		if n <= p.held[h] {
			return
		}
		limit, ok := m.resize(p, h, n)
		if ok {
			return
		}
		m.killLargest(limit)
	}
}

// killLargest is the kernel's OOM killer: within a group that is at its limit, or of all processes, it kills the
// process with the most memory that the kernel charges. Memory of the GPU does not count, so the victim may be
// innocent.
func (m *machine) killLargest(within *group) {
	var victim *process
	for _, p := range m.processes {
		if p.pid != initPID && (within == nil || within.holds(p.group)) && (victim == nil || m.badness(p) > m.badness(victim)) {
			victim = p
		}
	}
	m.counts.kills++
	victim.group.note(func(e *memoryEvents) { e.oomKill++ })
	victim.killed = true
	m.end(victim)
}

// badness is resident memory, swap and page tables (oom_badness in mm/oom_kill.c). Memory that a process demands and
// has not got counts too: a real one would have touched it page by page until the memory ran out.
func (m *machine) badness(p *process) int64 {
	resident := p.resident(m)
	anonymous := max(resident.anon+p.swapped, p.want.held[anon])
	return anonymous + resident.file + max(resident.shmem, p.want.held[shared]) + anonymous/entriesPerTable
}

// residence is what a process has mapped, in pages.
type residence struct{ anon, file, shmem int64 }

func (p *process) resident(m *machine) residence {
	r := residence{p.held[anon], p.held[libraries], p.held[shared]}
	if m.config.Pinned == PinnedIsDriverMemory {
		r.file += p.held[pinned]
	} else {
		r.shmem += p.held[pinned]
	}
	return r
}

// end takes a process away with all that it holds.
func (m *machine) end(p *process) {
	for h := range holdings {
		m.resize(p, h, 0)
	}
	p.group.add(swapped, -p.swapped)
	p.swapped = 0
	p.alive = false
	m.ended.read += p.io.read
	m.ended.written += p.io.written
	for i, other := range m.processes {
		if other == p {
			m.processes = append(m.processes[:i:i], m.processes[i+1:]...)
			break
		}
	}
	m.leave(p.group)
}
