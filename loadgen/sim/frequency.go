package sim

// frequency counts how often blocks were requested, as KVBM's offload filter does: 1 at first, doubled at each further
// request, and reduced with age.
type frequency struct {
	counts map[uint64]uint32
	uses   int
}

const (
	// mostUses bounds a count, so that a formerly popular block is dropped after some halvings.
	mostUses = 1 << 8
	// leastAging is the number of uses between two halvings while there are few keys.
	leastAging = 1 << 16
)

// use counts one use of a key and returns the count.
func (f *frequency) use(key uint64) uint32 {
	count := min(mostUses, max(1, 2*f.counts[key]))
	f.counts[key] = count
	// Age is counted in uses and not in time: the cache has no clock. With an interval that grows with the number of
	// keys, aging costs a constant time for each use.
	if f.uses++; f.uses >= max(leastAging, 4*len(f.counts)) {
		f.age()
	}
	return count
}

// age halves all counts and drops those of 1.
func (f *frequency) age() {
	f.uses = 0
	for key, count := range f.counts {
		if count /= 2; count == 0 {
			delete(f.counts, key)
		} else {
			f.counts[key] = count
		}
	}
}
