package sim

import "slices"

// file is a file, or a tree of files such as the layers of an image, that is read and written as one.
type file struct {
	name  string
	pages int64
	own   bool // of the machine at rest
}

// extent is the part of a file in the page cache that is charged to one group: the group that touched it first. The
// cache lists extents in order of their last use.
type extent struct {
	file  *file
	group *group
	// pages are resident; active of them have been used again; of the rest, dirty pages differ from the disk.
	pages, active, dirty int64
	dirtySince           int64 // tick
	slab                 int64 // pages of the index that finds them
}

// The kernel's index of the page cache: a node of 576 bytes for 64 pages.
const cachePagesPerSlabPage = 455

// pass is a sequential pass over a file. The pages ahead are those that were in the cache when it began.
type pass struct {
	file             *file
	remaining, ahead int64
}

// begin starts a pass over a file from its beginning.
func (m *machine) begin(f *file) pass {
	p := pass{file: f, remaining: f.pages}
	for _, e := range m.cache {
		if e.file == f {
			p.ahead += e.pages
		}
	}
	return p
}

// hits is how many of the next n pages are in the cache. The cached pages ahead are assumed to lie evenly; reclaim may
// have been quicker, and so may other readers of the same file: at most the non-resident pages of the file can be
// missing.
func (m *machine) hits(p *pass, n int64) int64 {
	if p.remaining == 0 {
		return 0
	}
	resident := int64(0)
	for _, e := range m.cache {
		if e.file == p.file {
			resident += e.pages
		}
	}
	p.ahead = min(p.ahead, resident)
	return max(n*p.ahead/p.remaining, n-(p.file.pages-resident))
}

// advance moves a pass on by n pages, of which hit were in the cache.
func (p *pass) advance(n, hit int64) {
	p.remaining -= n
	p.ahead = min(max(p.ahead-hit, 0), p.remaining)
}

// extentOf is the cache of a file charged to a group, moved to the recently used end.
func (m *machine) extentOf(f *file, g *group) *extent {
	i := slices.IndexFunc(m.cache, func(e *extent) bool { return e.file == f && e.group == g })
	if i < 0 {
		e := &extent{file: f, group: g}
		m.cache = append(m.cache, e)
		return e
	}
	e := m.cache[i]
	m.cache = append(slices.Delete(m.cache, i, i+1), e)
	return e
}

// touch uses n resident pages of a file again: the kernel then marks them active.
func (m *machine) touch(f *file, n int64) {
	var used []*extent
	for _, e := range m.cache {
		if e.file == f && n > 0 {
			again := min(n, e.pages)
			n -= again
			promoted := min(again, e.pages-e.active-e.dirty)
			e.active += promoted
			e.group.add(fileActive, promoted)
			e.group.add(fileInactive, -promoted)
			used = append(used, e)
		}
	}
	for _, e := range used {
		m.extentOf(e.file, e.group)
	}
}

// fill puts n pages of a file into the cache, charged to the group. If there is no room, even after dropping other
// cache, the pages pass through without staying.
func (m *machine) fill(f *file, g *group, n int64) (e *extent, kept bool) {
	if n == 0 && !slices.ContainsFunc(m.cache, func(e *extent) bool { return e.file == f && e.group == g }) {
		return nil, false // all of it is in the cache already, charged to other groups
	}
	index := n / cachePagesPerSlabPage
	if _, ok := m.take(taking{group: g, charged: n + index}); !ok {
		return nil, false
	}
	e = m.extentOf(f, g)
	e.pages += n
	e.slab += index
	g.add(fileInactive, n)
	g.add(slabReclaimable, index)
	return e, true
}

// cacheState is what reclaim may take of an extent.
type cacheState int

const (
	cleanInactive cacheState = iota
	cleanActive
	dirtyPages // written first
)

// shrinkCache drops up to n pages in these states, the least recently used files first.
func (m *machine) shrinkCache(n int64, within *group, states ...cacheState) (freed int64) {
	for _, e := range m.cache {
		if freed >= n {
			break
		}
		if within != nil && !within.holds(e.group) {
			continue
		}
		for _, state := range states {
			freed += m.evict(e, max(0, n-freed), state) // with what it frees of the index it may have been more than n
		}
	}
	m.cache = slices.DeleteFunc(m.cache, func(e *extent) bool { return e.pages == 0 })
	return freed
}

// evict drops up to n pages of an extent and what they need of its index.
func (m *machine) evict(e *extent, n int64, state cacheState) (freed int64) {
	var gone amounts
	switch state {
	case cleanInactive:
		gone[fileInactive] = min(n, e.pages-e.active-e.dirty)
	case cleanActive:
		gone[fileActive] = min(n, e.active)
		e.active -= gone[fileActive]
	case dirtyPages:
		gone[fileInactive] = min(n, e.dirty)
		m.writeBack(e, gone[fileInactive])
	}
	dropped := gone.file()
	if dropped <= 0 {
		return 0
	}
	e.pages -= dropped
	gone[slabReclaimable] = e.slab - min(e.slab, e.pages/cachePagesPerSlabPage)
	e.slab -= gone[slabReclaimable]
	m.give(e.group, &gone, scatteredReclaim)
	e.group.add(pagesScanned, dropped)
	e.group.add(pagesStolen, dropped)
	return gone.charged()
}

// dropCaches drops all clean page cache. Pages of a file mostly lie together, so freed pages do too.
func (m *machine) dropCaches() {
	everything, scattered := m.root.memory.file(), m.scattered
	freed := m.shrinkCache(everything, nil, cleanInactive)
	freed += m.shrinkCache(everything, nil, cleanActive)
	m.scattered = scattered + freed*scatteredAtOnce/8
	m.counts.cacheDrops++
}

// The kernel's rules of writeback: data older than 30 s, and all above a tenth of what is available
// (dirty_expire_centisecs, dirty_background_ratio).
const (
	dirtyTicks      = 30 * ticksPerSecond
	backgroundShare = 10
)

// writeBackOld writes pages that are due, as fast as the disk takes them.
func (m *machine) writeBackOld() {
	excess := m.root.memory[fileDirty] - m.available()/backgroundShare
	for _, e := range m.cache {
		due := e.dirty
		if m.ticks-e.dirtySince < dirtyTicks {
			due = min(due, max(0, excess))
		}
		due = min(due, m.disk.room(writing)/pageBytes)
		if due > 0 {
			m.writeBack(e, due)
			excess -= due
		}
	}
}

// writeBack writes pages of an extent, on behalf of its group.
func (m *machine) writeBack(e *extent, n int64) {
	if n <= 0 {
		return
	}
	e.dirty -= n
	e.group.add(fileDirty, -n)
	m.transfer(e.group, writing, n*pageBytes)
}

// sync writes everything.
func (m *machine) sync() {
	for _, e := range m.cache {
		m.writeBack(e, e.dirty)
	}
}

// residentBytes is how much of a file is in the cache; known is false if there is no such file.
func (m *machine) residentBytes(name string) (bytes uint64, known bool) {
	for _, f := range m.files {
		known = known || f.name == name
	}
	for _, e := range m.cache {
		if e.file.name == name {
			bytes += uint64(e.pages * pageBytes)
		}
	}
	return bytes, known
}

// soil makes n resident pages of a file dirty and returns how many were clean before.
func (m *machine) soil(f *file, n int64) (soiled int64) {
	for _, e := range m.cache {
		if e.file != f || n <= soiled {
			continue
		}
		clean := min(n-soiled, e.pages-e.dirty)
		if used := clean - (e.pages - e.active - e.dirty); used > 0 { // out of the active ones
			e.active -= used
			e.group.add(fileActive, -used)
			e.group.add(fileInactive, used)
		}
		m.mark(e, clean)
		soiled += clean
	}
	return soiled
}

// mark makes n clean pages of an extent dirty.
func (m *machine) mark(e *extent, n int64) {
	if e.dirty == 0 {
		e.dirtySince = m.ticks
	}
	e.dirty += n
	e.group.add(fileDirty, n)
}
