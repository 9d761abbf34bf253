package evidence

// Disk has the bytes that the kernel counted in a part of a run, reads and writes separately, by the source of the
// count.
type Disk struct {
	// Process are the bytes that the engine's processes had the storage layer move, Cgroup those of their cgroup,
	// ParentCgroup those of a cgroup above it where their own has no count, Device those of the drive that holds the tier.
	// The last two include other processes.
	Process, Cgroup, ParentCgroup, Device Count
	// Devices are the names of the drives in Device. Unplaced is true if the drive of the tier is not known: Device is then
	// the sum of all drives with counters, and too few bytes in it show nothing.
	Devices  []string
	Unplaced bool
	// Denied is true if some processes could not be read.
	Denied bool
	// Direct is true if the tier's file is known to bypass the page cache (O_DIRECT).
	Direct bool
	// Own are the bytes in Device that the load generator and the exporter's recorder wrote. They are subtracted.
	Own float64
	// Missing lists the witnesses without a count.
	Missing []Missing
}

// direction is the suffix of a figure's name.
type direction string

const (
	reading direction = "read"
	writing direction = "written"
)

// Tolerances between the bytes of the KV cache and those of the kernel.
const (
	toleranceShare  = 0.02
	toleranceBlocks = 4
	// otherShare is the part of the drive's other traffic that is tolerated: up to mostOtherShare of the KV cache's bytes,
	// since a busy drive would otherwise agree with any count.
	otherShare     = 0.01
	mostOtherShare = 0.1
	// leastShare is the part of the bytes below which no tolerance reaches: four blocks may be all that moved.
	leastShare = 0.5
)

// bounds returns the range of bytes that agrees.
func (d Disk) bounds(bytes, block float64) Range {
	tolerance := max(toleranceShare*bytes, toleranceBlocks*block)
	if d.Device.Known {
		other := max(0, d.drive()-bytes)
		tolerance = max(tolerance, min(otherShare*other, mostOtherShare*bytes))
	}
	return Range{max(bytes-tolerance, leastShare*bytes), bytes + tolerance}
}

// drive returns the bytes of the drive without the load generator's own.
func (d Disk) drive() float64 { return max(0, d.Device.Value-d.Own) }

// witness is a counter of the kernel. shared is true if it includes other processes, whose bytes never contradict.
type witness struct {
	name   string
	value  float64
	shared bool
}

func (w witness) figure(did direction, agrees Range) Figure {
	if w.shared {
		agrees = atLeast(agrees[0])
	}
	return NewFigure(w.name+"_"+string(did), w.value, "bytes", agrees)
}

// witnesses returns the counters that can be used. A counter that was reset cannot.
func (d Disk) witnesses() []witness {
	var all []witness
	for _, of := range []struct {
		count Count
		witness
	}{
		{d.Process, witness{processName, d.Process.Value, false}}, {d.Cgroup, witness{"cgroup", d.Cgroup.Value, false}},
		{d.ParentCgroup, witness{"parent_cgroup", d.ParentCgroup.Value, true}}, {d.Device, witness{deviceName, d.drive(), true}},
	} {
		if of.count.Known && !of.count.Reset {
			all = append(all, of.witness)
		}
	}
	return all
}

const processName, deviceName = "process", "device"

// unjudged returns the figures where there is nothing to compare them with.
func (d Disk) unjudged(did direction) []Figure {
	var all []Figure
	for _, w := range d.witnesses() {
		all = append(all, w.figure(did, atLeast(0)))
	}
	return all
}

// verdict sorts the witnesses by how they compare with the bytes of the KV cache.
type verdict struct {
	// exact is true if a witness has the bytes and hardly more. fewer is true if all have too few bytes, ownFewer if all
	// that count the engine alone have, more if one of those has too many.
	exact, fewer, ownFewer, more bool
	// driveFewer is true if the tier's drive has too few bytes, processFewer if the engine's processes have.
	driveFewer, processFewer bool
	// stored is true if a counter of I/O has enough bytes. That of processes is none for writes: the kernel counts them when
	// a page becomes dirty.
	stored bool
	own    int // the witnesses that count the engine alone
}

func compare(all []witness, agrees Range, unplaced bool) verdict {
	v := verdict{fewer: len(all) > 0}
	ownFewer := 0
	for _, w := range all {
		few := w.value < agrees[0]
		// All drives together may have the bytes of others instead.
		v.exact = v.exact || agrees.Has(w.value) && !(w.name == deviceName && unplaced)
		v.fewer = v.fewer && few
		switch w.name {
		case deviceName:
			v.driveFewer = few && !unplaced
		case processName:
			v.processFewer = few
		}
		v.stored = v.stored || !few && w.name != processName
		if w.shared {
			continue
		}
		v.own++
		v.more = v.more || w.value > agrees[1]
		if few {
			ownFewer++
		}
	}
	v.ownFewer = v.own > 0 && ownFewer == v.own
	return v
}

// grade compares the bytes by a counter of the KV cache with those of the kernel. One witness of each kind proves; one
// more that contradicts is a contradiction only if it must contain the bytes, as the tier's drive must.
func (d Disk) grade(name string, bytes, block float64, figures []Figure, did direction) Signal {
	figures = append(figures, NewFigure(name+"_bytes", bytes, "bytes", atLeast(block)))
	agrees := d.bounds(bytes, block)
	all := d.witnesses()
	for _, w := range all {
		figures = append(figures, w.figure(did, agrees))
	}
	v := compare(all, agrees, d.Unplaced)
	signal := func(grade Grade, reason Reason) Signal { return NewSignal(grade, reason, figures...) }
	switch {
	case d.reset() && !v.exact:
		return signal(NotObservable, CountersReset)
	case len(all) == 0:
		return signal(Consistent, d.unattributed())
	case v.fewer, v.driveFewer:
		return signal(d.short(did, v))
	case v.exact && did == writing && !v.stored && !d.Direct:
		return signal(Consistent, CountersAbsent) // the blocks may be in the page cache still
	case v.exact:
		return signal(Proven, "")
	case v.ownFewer:
		return signal(Contradicted, BytesDisagree)
	case v.more:
		return signal(Consistent, BytesDisagree) // the engine read or wrote other files too
	}
	return signal(Consistent, d.unattributed())
}

// short grades a count of the KV cache that is above that of the drive.
func (d Disk) short(did direction, v verdict) (Grade, Reason) {
	switch {
	case d.Unplaced && v.own == 0:
		return Consistent, CountersAbsent // the bytes may be on a drive without counters
	case d.Direct, did == writing && v.processFewer:
		return Contradicted, BytesDisagree
	case did == writing:
		return Consistent, HeldInPageCache
	case v.fewer:
		return Contradicted, ServedFromPageCache
	}
	return Contradicted, BytesDisagree
}

// alone grades reads without any count of the KV cache: what the kernel counted may be the blocks.
func (d Disk) alone(replay Replay) Signal {
	figures := d.unjudged(reading)
	if !replay.Pressed || !replay.Cached || replay.CachedBytes <= 0 {
		return NewSignal(NotObservable, CountersAbsent)
	}
	for _, w := range d.witnesses() {
		if w.value >= leastShare*replay.CachedBytes {
			return NewSignal(Consistent, CountersAbsent, figures...)
		}
	}
	return NewSignal(NotObservable, CountersAbsent, figures...)
}

// aloneWritten grades writes without any count of the KV cache; set are the bytes that had to be kept. What the engine alone
// wrote may be the blocks. A counter that includes other processes shows nothing.
func (d Disk) aloneWritten(set float64) Signal {
	figures := d.unjudged(writing)
	for _, w := range d.witnesses() {
		if !w.shared && set > 0 && w.value >= leastShare*set {
			return NewSignal(Consistent, CountersAbsent, figures...)
		}
	}
	return NewSignal(NotObservable, CountersAbsent, figures...)
}

// unattributed returns the reason why no witness attributes the bytes to the engine.
func (d Disk) unattributed() Reason {
	if d.Denied && !d.Process.Known && !d.Cgroup.Known {
		return NoPrivilege
	}
	return CountersAbsent
}

// reset reports whether a counter of the engine's processes and cgroup was reset, and no other counts the engine alone;
// or whether the drive's was, and there is no other.
func (d Disk) reset() bool {
	intact := func(c Count) bool { return c.Known && !c.Reset }
	if intact(d.Process) || intact(d.Cgroup) {
		return false
	}
	return d.Process.Reset || d.Cgroup.Reset || d.Device.Reset
}
