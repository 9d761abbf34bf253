package sim

// marks are the watermarks of the page allocator, in pages of the whole machine.
type marks struct{ min, low, high int64 }

// watermarks follow the kernel (setup_per_zone_wmarks and calculate_min_free_kbytes in mm/page_alloc.c):
// the lowest is vm.min_free_kbytes, by default the square root of 16 times the pool in KiB; the
// steps above it are a quarter of that, or 0.1 % of the pool if that is more.
func watermarks(pool, minFree int64) marks {
	if minFree == 0 {
		minFree = squareRoot(pool*pageKiB*16) / pageKiB
	}
	step := max(minFree/4, pool/1000)
	return marks{minFree, minFree + step, minFree + 2*step}
}

func squareRoot(n int64) int64 {
	root := int64(0)
	for bit := int64(1) << 31; bit > 0; bit >>= 1 {
		if (root+bit)*(root+bit) <= n {
			root += bit
		}
	}
	return root
}

// available is the kernel's estimate of what can be had without swapping (si_mem_available in
// mm/show_mem.c), less the reserves for low zones, which are not modelled.
func (m *machine) available() int64 {
	total := &m.root.memory
	cache, slab := total.file(), total[slabReclaimable]
	return max(0, m.free-m.marks.high+
		cache-min(cache/2, m.marks.low)+
		slab-min(slab/2, m.marks.low))
}

// taking is a wish for memory.
type taking struct {
	group *group
	// charged pages count against limits, driver pages do not.
	charged, driver int64
	// large asks for blocks of 2 MiB first, as the driver does for device memory.
	large bool
}

// take takes free memory, after reclaiming as much as it needs. On failure it has taken none, and limit is the group
// whose limit is reached, nil if the machine has no more.
func (m *machine) take(t taking) (limit *group, ok bool) {
	for at := t.group; at != nil && t.charged > 0; at = at.parent {
		if !m.makeRoom(at, t.charged) {
			return at, false
		}
	}
	pooled := min(m.pooled, t.driver)
	n := t.charged + t.driver - pooled
	if short := n + m.marks.low - m.free; short > 0 {
		m.reclaim(short, nil)
	}
	pooled = min(m.pooled, t.driver) // reclaim may have emptied the pools
	n = t.charged + t.driver - pooled
	if n > 0 && m.free-n < m.marks.min {
		return nil, false
	}
	m.pooled -= pooled
	m.takeFree(n, t.large)
	return nil, true
}

// makeRoom sees to it that n more pages can be charged to a group, by reclaiming in it.
func (m *machine) makeRoom(g *group, n int64) bool {
	if over := g.memory.charged() + n - g.high; g.high != noLimit && over > 0 {
		g.note(func(e *memoryEvents) { e.high++ })
		m.reclaim(over, g)
		m.stallMemory(g, tickMicroseconds/2) // the kernel makes who goes over memory.high sleep
	}
	over := g.memory.charged() + n - g.max
	if g.max == noLimit || over <= 0 {
		return true
	}
	g.note(func(e *memoryEvents) { e.max++ })
	if m.reclaim(over, g) >= over {
		return true
	}
	g.note(func(e *memoryEvents) { e.oom++ })
	return false
}

// force charges what the kernel needs for itself, whatever the limits are.
func (m *machine) force(g *group, cost *amounts) {
	n := cost.charged()
	if short := n + m.marks.low - m.free; short > 0 {
		m.reclaim(short, nil)
	}
	g.addAll(cost)
	m.takeFree(n, false)
}

// give returns charged memory.
func (m *machine) give(g *group, what *amounts, scatteredEighths int64) {
	back := (&amounts{}).minus(what)
	g.addAll(&back)
	m.giveFree(what.charged(), scatteredEighths)
}

// giveDriver returns driver pages. Drivers from 590 on keep some of them in pools of their own: neither free nor held
// by a process, until the machine runs short.
func (m *machine) giveDriver(n int64) {
	kept := min(n, max(0, m.poolLimit-m.pooled))
	m.pooled += kept
	m.giveFree(n-kept, scatteredBlocks)
}

// kswapdPages is what the kernel's background thread reclaims in a tick; who needs more must wait.
const kswapdPages = 64 << 10

// reclaim frees up to n pages, of a group and below or of the whole machine if within is nil: page cache that was
// read once, or by generations any that was not used for longest, the driver's pools, page cache in use, dirty pages, and
// at last anonymous memory to swap.
func (m *machine) reclaim(n int64, within *group) (freed int64) {
	if m.config.Generations {
		freed += m.shrinkCache(n, within, cleanInactive, cleanActive)
	} else {
		freed += m.shrinkCache(n, within, cleanInactive)
	}
	if within == nil {
		pooled := min(m.pooled, n-freed)
		m.pooled -= pooled
		m.giveFree(pooled, scatteredBlocks)
		freed += pooled
	}
	freed += m.shrinkCache(n-freed, within, cleanActive)
	freed += m.shrinkCache(n-freed, within, dirtyPages)
	freed += m.swapOut(n-freed, within)
	m.reclaimed += freed
	if waited := m.reclaimed - kswapdPages; waited > 0 {
		at := within
		if at == nil {
			at = m.root
		}
		m.stallMemory(at, waited/4) // a quarter of a microsecond a page
		m.counts.directReclaims++
	}
	return freed
}

// swapOut writes anonymous memory of idle processes to swap, the largest first.
func (m *machine) swapOut(n int64, within *group) (freed int64) {
	for n-freed > 0 && m.swapFree() > 0 {
		var largest *process
		for _, p := range m.processes {
			if (within == nil || within.holds(p.group)) && (largest == nil || p.held[anon] > largest.held[anon]) {
				largest = p
			}
		}
		if largest == nil || largest.held[anon] == 0 {
			break
		}
		out := min(n-freed, m.swapFree(), largest.held[anon])
		before, _ := m.cost(anon, largest.held[anon])
		after, _ := m.cost(anon, largest.held[anon]-out)
		saved := before.minus(&after)
		m.give(largest.group, &saved, scatteredReclaim)
		largest.held[anon] -= out
		largest.swapped += out
		largest.group.add(swapped, out)
		m.counts.swappedOut += out
		m.transfer(largest.group, writing, out*pageBytes)
		freed += saved.charged()
	}
	return freed
}

func (m *machine) swapFree() int64 { return m.swapTotal - m.root.memory[swapped] }

// swapIn brings back what was swapped out of processes that run, while there is room.
func (m *machine) swapIn(p *process) {
	room := m.free - 2*m.marks.high
	n := min(p.swapped, room, swapInPages)
	if n <= 0 || p.want.milliCPUs == 0 && p.want.busy == 0 {
		return
	}
	// The place in swap is given back when the page is in memory: what must be reclaimed for that may need swap itself.
	if _, ok := m.resize(p, anon, p.held[anon]+n); !ok {
		return
	}
	p.swapped -= n
	p.group.add(swapped, -n)
	p.io.read += n * pageBytes
	p.group.add(majorFaults, n)
	p.group.add(pageFaults, n)
	m.counts.swappedIn += n
	m.transfer(p.group, reading, n*pageBytes)
	m.stallMemory(p.group, tickMicroseconds/4)
}

// swapInPages is what a process faults back in during a tick.
const swapInPages = 16 << 10
