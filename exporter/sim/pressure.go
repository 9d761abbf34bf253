package sim

// resource is one that tasks wait for.
type resource int

const (
	cpuTime resource = iota
	diskTraffic
	memoryShort
	resources
)

// stall is the pressure of a resource in a cgroup: time lost since boot, and its averages, as in the kernel
// (kernel/sched/psi.c). Times are in microseconds.
type stall struct {
	some, full               int64
	owedSome, owedFull       int64 // lost and not counted yet: no more than a tick is lost in a tick
	someAverage, fullAverage averages
}

// averages are shares in per cent, in fixed point with 11 bits behind it, over 10, 60 and 300 seconds.
type averages struct {
	last   int64 // total at the last update
	shares [3]int64
}

const (
	fixedBits      = 11
	fixedOne       = 1 << fixedBits
	averageSeconds = 2 // between updates of the averages
)

// decays is how much of an average is left after an update (EXP_10s, EXP_60s, EXP_300s).
func decays() [3]int64 { return [3]int64{1677, 1981, 2034} }

// stallFor counts time lost from this tick on, here and above. Waits of several groups overlap, so in the group above
// them the longest counts.
func (g *group) stallFor(r resource, some, full int64) {
	for at := g; at != nil; at = at.parent {
		s := &at.stalls[r]
		s.owedSome = max(s.owedSome, some)
		s.owedFull = max(s.owedFull, full)
	}
}

// settle counts what of the time owed has passed in a tick.
func (s *stall) settle() {
	some, full := min(s.owedSome, tickMicroseconds), min(s.owedFull, tickMicroseconds)
	s.some += some
	s.full += full
	s.owedSome -= some
	s.owedFull -= full
}

// stallMemory is a wait for memory, in most of which all tasks of the group wait.
func (m *machine) stallMemory(g *group, microseconds int64) {
	g.stallFor(memoryShort, microseconds, microseconds*7/8)
}

// settleStalls ends a tick.
func (m *machine) settleStalls() {
	update := m.ticks%(averageSeconds*ticksPerSecond) == 0
	walkGroups(m.root, func(g *group) {
		for r := range g.stalls {
			s := &g.stalls[r]
			s.settle()
			if update {
				s.someAverage.update(s.some)
				s.fullAverage.update(s.full)
			}
		}
	})
}

func (a *averages) update(total int64) {
	share := (total - a.last) * 100 * fixedOne / (averageSeconds * 1e6)
	a.last = total
	for i, decay := range decays() {
		load := a.shares[i]*decay + share*(fixedOne-decay)
		if share >= a.shares[i] {
			load += fixedOne - 1
		}
		a.shares[i] = load / fixedOne
	}
}
