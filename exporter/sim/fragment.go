package sim

// The buddy allocator, as far as it shows: how much of the free memory is in blocks of 2 MiB and more, and how much is
// scattered between pages in use. Allocation scatters the remaining free memory within a second; the kernel compacts it
// again slowly. Free memory settles with a scattered share of the square of the share in use: 1.3 GiB of 108 GiB on an
// idle machine, and all but 700 MiB of 6.7 GiB after a model has loaded, near what owners of the machine report.

// hugeOrder is the order of blocks of 2 MiB, the first that counts as contiguous, and maxOrder the largest.
const (
	hugeOrder = 9
	maxOrder  = 10
	hugePages = 1 << hugeOrder
)

// The share of freed memory that is scattered, in eighths: none of the driver's blocks, little of what its owner frees
// at once, most of what is reclaimed in single pages.
const (
	scatteredBlocks  = 0
	scatteredAtOnce  = 1
	scatteredReclaim = 6
)

// scatterSeconds is the time constant of the kernel's compaction.
const scatterSeconds = 300

// contiguous is the free memory in large blocks.
func (m *machine) contiguous() int64 { return m.free - m.scattered }

// takeFree takes free pages: small ones out of the scattered ones first, large blocks out of the others. Where large
// blocks run out the kernel stalls to compact, which fails more often the less memory is free.
func (m *machine) takeFree(n int64, large bool) {
	if short := n - m.contiguous(); large && short > 0 {
		blocks := (short + hugePages - 1) / hugePages
		failed := m.shareInUse(m.shareInUse(blocks))
		m.counts.compactStalls += blocks
		m.counts.compactFailures += failed
		m.scattered -= min(m.scattered, (blocks-failed)*hugePages)
	}
	m.free -= n
	if large {
		m.scattered = min(m.scattered, m.free)
		return
	}
	m.scattered = max(0, m.scattered-n)
}

func (m *machine) giveFree(n, scatteredEighths int64) {
	m.free += n
	m.scattered += n * scatteredEighths / 8
}

// shareInUse is n multiplied by the share of the pool that is in use.
func (m *machine) shareInUse(n int64) int64 { return n * ((m.pool - m.free) >> 10) / (m.pool >> 10) }

// settle moves the free memory one tick towards its resting state.
func (m *machine) settle() {
	m.scattered = min(m.scattered, m.free)
	rest := m.shareInUse(m.shareInUse(m.free))
	if m.scattered < rest {
		m.scattered += (rest - m.scattered + 7) / 8
		return
	}
	m.scattered -= (m.scattered - rest) / (scatterSeconds * ticksPerSecond)
}

// zone is free memory as buddyinfo shows it.
type zone struct {
	name   string
	blocks [maxOrder + 1]int64
}

// dmaPages is the size of the low zone.
const dmaPages = 2 * gibibyte

// zones splits the free memory; together the blocks are the free pages exactly.
func (m *machine) zones() []zone {
	scattered := min(m.scattered, m.free)
	low := m.free / (m.pool / dmaPages)
	lowScattered := scattered / (m.pool / dmaPages)
	return []zone{
		{"DMA", buddies(low, lowScattered)},
		{"Normal", buddies(m.free-low, scattered-lowScattered)},
	}
}

// scatterShares is how scattered memory spreads over the small orders, in 1024ths of its pages.
func scatterShares() [hugeOrder]int64 {
	return [hugeOrder]int64{45, 67, 101, 136, 154, 163, 143, 115, 100}
}

// buddies are the free blocks by order.
func buddies(free, scattered int64) (blocks [maxOrder + 1]int64) {
	whole := free - scattered
	blocks[maxOrder] = whole / 16 * 15 >> maxOrder
	whole -= blocks[maxOrder] << maxOrder
	blocks[hugeOrder] = whole >> hugeOrder
	rest := free - blocks[maxOrder]<<maxOrder - blocks[hugeOrder]<<hugeOrder
	small := rest
	for order, share := range scatterShares() {
		blocks[order] = small * share / 1024 >> order
		rest -= blocks[order] << order
	}
	for order := hugeOrder - 1; order >= 0; order-- { // what rounding left
		blocks[order] += rest >> order
		rest &= 1<<order - 1
	}
	return blocks
}
