package nvml

import (
	"cmp"
	"maps"
	"slices"
)

// Factors from NVML's units (mW, mJ, ns, MHz, KB/s, per cent) to base units. nvml.h does not define whether its KB are
// of 1000 or 1024 bytes.
const (
	kilo    = 1e3
	milli   = 1e3
	nano    = 1e9
	percent = 100
	mega    = 1e6
)

// The limits of temperature margins.
const (
	limitOperating = "operating" // above it the clock may fall below base
	limitSlowdown  = "slowdown"  // above it the hardware slows down
	limitShutdown  = "shutdown"  // above it the device may switch itself off
)

// reading is a device that is being read, with the values from which the rest is derived.
type reading struct {
	Device
	evidence        Evidence
	lists           int // process lists of this pass that are read or cannot exist
	listsRead       int
	supportedEvents *uint64            // mask of the reasons for clocks that the device supports
	activeEvents    *uint64            // mask of the reasons in force
	seenEvents      uint64             // reasons that were ever in force
	marginCelsius   *float64           // degrees left on the T.Limit scale, which ends at 0
	marginLimits    map[string]float64 // the position of a limit on that scale
	thresholds      map[string]float64 // absolute degrees by limit, of parts without that scale
}

func newReading(index int, options ReaderOptions) reading {
	return reading{
		Device: Device{Index: index, Supported: map[Call]bool{},
			Architecture: cmp.Or(options.Architecture, ArchitectureUnset)},
		evidence: Evidence{Memory: Unknown, PoolBytes: options.PoolBytes},
	}
}

// device returns the values read so far, with the derived values. It shares maps and lists with the reading: those are
// replaced and never changed once they are in it, except the process list, which is shown only when it is complete.
func (d *reading) device() Device {
	c := d.Device
	c.ProcessesRead = d.listed()
	if !c.ProcessesRead {
		c.Processes = nil
	}
	c.TemperatureMargins = d.margins()
	c.ClockEventActive = d.clockEventActive()
	c.Instances = d.attributed()
	if c.Architecture == Integrated {
		// The traffic share of memory that does not exist: GB10 always answers 0.
		c.MemoryUtilizationRatio = nil
	}
	return c
}

// listed reports whether the process lists are complete: one was read and none failed.
func (d *reading) listed() bool { return d.lists == listCount && d.listsRead > 0 }

const listCount = 3

// decideArchitecture classifies the device once there is evidence and then keeps the result, as with an override: a
// call that fails for a moment must not move a device to another class.
func (d *reading) decideArchitecture() {
	if d.Architecture == ArchitectureUnset {
		d.evidence.Name = d.Name
		d.Architecture = Classify(d.evidence)
	}
}

// margins are the degrees left below each limit. Parts since Ada give the margin on a scale of
// their own (T.Limit, 0 at the highest operating temperature, limits beyond it below 0); older
// ones give the limits in degrees (gpu thresholds in nvml.h).
func (d *reading) margins() map[string]float64 {
	margins := map[string]float64{}
	switch {
	case d.marginCelsius != nil:
		margins[limitOperating] = *d.marginCelsius
		for limit, at := range d.marginLimits {
			margins[limit] = *d.marginCelsius - at
		}
	case d.TemperatureCelsius != nil:
		for limit, at := range d.thresholds {
			margins[limit] = at - *d.TemperatureCelsius
		}
	}
	if len(margins) == 0 {
		return nil
	}
	return margins
}

// clockEvent is a reason for the present clock: its bit in the mask (nvmlClocksEventReasons, nvml.h)
// and the name of the field value that counts its nanoseconds, "" if none does.
type clockEvent struct {
	reason string
	bit    uint64
	field  string
}

func clockEvents() []clockEvent {
	return []clockEvent{
		{"idle", 0x1, ""},
		{"applications_clocks", 0x2, ""},
		{"sw_power_cap", 0x4, "sw_power_cap"},
		{"hw_slowdown", 0x8, ""},
		{"sync_boost", 0x10, "sync_boost"},
		{"sw_thermal", 0x20, "sw_thermal"},
		{"hw_thermal", 0x40, "hw_thermal"},
		{"hw_power_brake", 0x80, "hw_power_brake"},
		{"display_clock", 0x100, ""},
	}
}

func applyAddressing(d *reading, v Value) {
	mode := AddressingMode(v.Number)
	d.evidence.Addressing = &mode
}

func applyNUMANode(d *reading, v Value) {
	d.evidence.NUMANode = &v.Number
	d.NUMANode = new(int(v.Number))
}

// applyProcesses merges a list into those before it. A process can be in several lists with the
// same memory, so the largest value counts, never the sum.
func applyProcesses(d *reading, v Value) {
	d.listsRead++
	for _, p := range v.Processes {
		at, found := slices.BinarySearchFunc(d.Processes, p.PID, func(q Process, pid uint32) int { return cmp.Compare(q.PID, pid) })
		if !found {
			d.Processes = slices.Insert(d.Processes, at, p)
		} else if p.UsedBytes != nil && (d.Processes[at].UsedBytes == nil || *d.Processes[at].UsedBytes < *p.UsedBytes) {
			d.Processes[at].UsedBytes = p.UsedBytes
		}
	}
}

func applyGraphicsProcesses(d *reading, v Value) {
	applyProcesses(d, v)
	for i, p := range d.Processes {
		d.Processes[i].Graphics = slices.ContainsFunc(v.Processes, func(q Process) bool { return q.PID == p.PID })
	}
}

func applyMemory(d *reading, v Value) {
	d.evidence.MemoryTotalBytes = v.Numbers["total"]
	d.MemoryTotalBytes = named(v, "total")
	d.MemoryUsedBytes = named(v, "used")
	d.MemoryFreeBytes = named(v, "free")
	d.MemoryReservedBytes = named(v, "reserved")
}

func applyUtilization(d *reading, v Value) {
	if n, ok := v.Numbers["gpu"]; ok {
		d.UtilizationRatio = over(n, percent)
	}
	if n, ok := v.Numbers["memory"]; ok {
		d.MemoryUtilizationRatio = over(n, percent)
	}
}

// applyPerformanceState leaves out 32, the driver's value for "unknown".
func applyPerformanceState(d *reading, v Value) {
	if v.Number <= 15 {
		d.PerformanceState = times(v.Number, 1)
	}
}

func applySupportedEvents(d *reading, v Value) { d.supportedEvents = &v.Number }

func applyClockEvents(d *reading, v Value) {
	d.activeEvents = &v.Number
	d.seenEvents |= v.Number
}

// clockEventActive is the mask of reasons by name. For a device that does not report its supported reasons, these are
// the reasons that it has ever given or whose time it counts: a 0 for an unsupported reason would be invented.
func (d *reading) clockEventActive() map[string]bool {
	if d.activeEvents == nil {
		return nil
	}
	active := map[string]bool{}
	for _, event := range clockEvents() {
		_, known := d.ClockEventSeconds[event.reason]
		known = known || d.seenEvents&event.bit != 0
		if d.supportedEvents != nil {
			known = *d.supportedEvents&event.bit != 0
		}
		if known {
			active[event.reason] = *d.activeEvents&event.bit != 0
		}
	}
	return active
}

func applyFields(d *reading, v Value) {
	if n, ok := v.Numbers["energy"]; ok {
		d.EnergyJoules = over(n, milli)
	}
	d.ClockEventSeconds = map[string]float64{}
	for _, event := range clockEvents() {
		if n, ok := v.Numbers[event.field]; ok {
			d.ClockEventSeconds[event.reason] = *over(n, nano)
		}
	}
	d.ECCErrors = picked(v, map[string]string{"ecc_corrected": "corrected", "ecc_uncorrected": "uncorrected"})
	d.RemappedRows = picked(v, map[string]string{"remapped_correctable": "correctable",
		"remapped_uncorrectable": "uncorrectable", "remapped_pending": "pending", "remapped_failed": "failed"})
}

func applyMargin(d *reading, v Value) {
	margin := float64(int64(v.Number))
	d.marginCelsius = &margin
}

func applyLimitFields(d *reading, v Value) {
	d.marginLimits = map[string]float64{}
	for _, limit := range []string{limitOperating, limitSlowdown, limitShutdown} {
		if n, ok := v.Numbers[limit]; ok {
			d.marginLimits[limit] = float64(int64(n))
		}
	}
}

func applyThreshold(limit string) func(*reading, Value) {
	return func(d *reading, v Value) {
		thresholds := map[string]float64{limit: float64(v.Number)}
		maps.Copy(thresholds, d.thresholds)
		d.thresholds = thresholds
	}
}

func knowsSupportedEvents(d *reading) bool { return d.supportedEvents != nil }
func knowsClockEvents(d *reading) bool     { return d.activeEvents != nil }
func knowsEnergy(d *reading) bool          { return d.EnergyJoules != nil }
func knowsMargin(d *reading) bool          { return d.marginCelsius != nil }

func times(n uint64, factor float64) *float64 {
	value := float64(n) * factor
	return &value
}

// over divides rather than multiplies by a fraction: 10801 / 1000 is 10.801, 10801 * 0.001 is not.
func over(n uint64, divisor float64) *float64 {
	value := float64(n) / divisor
	return &value
}

func named(v Value, name string) *float64 {
	n, ok := v.Numbers[name]
	if !ok {
		return nil
	}
	return times(n, 1)
}

// picked takes numbers out of v under other names, nil if there are none.
func picked(v Value, names map[string]string) map[string]float64 {
	var out map[string]float64
	for from, to := range names {
		if n, ok := v.Numbers[from]; ok {
			if out == nil {
				out = map[string]float64{}
			}
			out[to] = float64(n)
		}
	}
	return out
}
