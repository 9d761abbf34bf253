package sim

// operation is a direction of disk traffic.
type operation int

const (
	reading operation = iota
	writing
	operations
)

// requestBytes is the size of a request: sequential traffic is cut into pieces of 1 MiB.
const requestBytes = 1 << 20

// The cost of a request. A drive of a DGX Spark moved 1261 requests of 1 MiB a second in about 0.71 ms each and was
// busy for 58 % of the time; see flow.time.
const (
	requestNanoseconds       = 80_000
	nanosecondsPer1024Bytes  = 614
	busyEighths              = 5
	diskReadBytesPerSecond   = 12 << 30
	diskWriteBytesPerSecond  = 8 << 30
	flushSeconds             = 5
	flushNanoseconds         = 900_000
	diskIdleMicrokelvin      = 17_000_000 // above ambient
	diskMicrokelvinPerMiB    = 3_400      // for every MiB a second
	diskHeatSeconds          = 90
	diskSensorAboveComposite = 8_000_000
)

// flow is the traffic in one direction since boot.
type flow struct {
	requests, bytes int64
	nanoseconds     int64 // in flight, summed over requests
}

// diskCounts is the traffic of a group or of the drive.
type diskCounts [operations]flow

func (c *diskCounts) add(op operation, f flow) {
	c[op].requests += f.requests
	c[op].bytes += f.bytes
	c[op].nanoseconds += f.nanoseconds
}

// disk is the one NVMe drive.
type disk struct {
	total       diskCounts
	busy        int64 // nanoseconds with a request in flight
	flushes     flow
	moved       [operations]int64 // bytes in this tick
	inFlight    int64
	temperature int64 // microdegrees
}

// budget is the capacity of the drive in a tick.
func budget(op operation) int64 {
	if op == reading {
		return diskReadBytesPerSecond / ticksPerSecond
	}
	return diskWriteBytesPerSecond / ticksPerSecond
}

// room is what the drive can still move in this tick.
func (d *disk) room(op operation) int64 { return max(0, budget(op)-d.moved[op]) }

// transfer moves bytes between memory and the drive for a group, and returns the time that this takes a task that waits
// for it, in microseconds. It is counted for the group, all above it and the drive at once.
func (m *machine) transfer(g *group, op operation, bytes int64) (microseconds int64) {
	if bytes <= 0 {
		return 0
	}
	f := flow{requests: (bytes + requestBytes - 1) / requestBytes, bytes: bytes}
	f.nanoseconds = f.requests*requestNanoseconds + bytes/1024*nanosecondsPer1024Bytes
	for at := g; at != nil; at = at.parent {
		at.io.add(op, f)
	}
	m.disk.total.add(op, f)
	m.disk.moved[op] += bytes
	return f.nanoseconds / 1000
}

// wait counts a wait for the drive.
func (m *machine) wait(g *group, microseconds int64) {
	lost := min(microseconds, tickMicroseconds*9/10)
	g.stallFor(diskTraffic, lost, lost*7/8)
}

// settle ends a tick: how long the drive was busy, how warm it is.
func (d *disk) settle(ticks int64, h *heat) {
	bytes := d.moved[reading] + d.moved[writing]
	took := (bytes/requestBytes)*requestNanoseconds + bytes/1024*nanosecondsPer1024Bytes
	d.busy += min(took*busyEighths/8, tickMicroseconds*1000)
	d.inFlight = took / (tickMicroseconds * 1000)
	if d.moved[writing] > 0 && ticks%(flushSeconds*ticksPerSecond) == 0 {
		d.flushes.requests++
		d.flushes.nanoseconds += flushNanoseconds
	}
	perSecond := bytes * ticksPerSecond >> 20 // MiB
	rest := h.ambient + diskIdleMicrokelvin + perSecond*diskMicrokelvinPerMiB
	d.temperature += h.approach(rest, d.temperature, diskHeatSeconds)
	d.moved = [operations]int64{}
}
