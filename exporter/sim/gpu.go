package sim

// The GPU of a DGX Spark, as owners describe it (clocks, powers and temperatures under load and at rest). Powers are in
// milliwatts, clocks in steps of 13 MHz, of which all clocks that were seen are multiples.
const (
	clockMegahertz = 13
	clockRest      = 16  // 208 MHz
	clockReady     = 185 // 2405 MHz: a process has a context, no kernel runs
	clockBoost     = 194 // 2522 MHz
	clockMax       = 231 // 3003 MHz, which no load reaches
	clockFault     = 50  // 650 MHz
	clockSlowest   = 60

	powerRest     = 4_000
	powerReady    = 11_000
	powerDynamic  = 60_000 // at clockBoost and busy all the time
	powerCap      = 66_000
	powerFault    = 16_000
	leakPerKelvin = 60 // more for every kelvin above 40 degrees

	// The temperatures at which the clock is lowered, in microkelvin above 0 degrees. There is no published value for
	// this part: throttling by software was seen at 91 to 92 degrees, none at 86.
	throttleAt     = 87_000_000
	throttleHardAt = 94_000_000
)

// gpu is the state of the device.
type gpu struct {
	clock    int64 // steps
	allowed  int64 // steps that heat allows
	busy     int64 // millionths, in the last tick
	power    int64 // milliwatts, in the last tick
	energy   int64 // microjoules since the driver was loaded
	capped   int64 // nanoseconds with the clock lowered for power
	softHeat int64 // and for heat, by software
	hardHeat int64 // and by hardware
	fault    bool  // of the power supply
}

// performanceState is 0 at work and 8 at rest.
func (g *gpu) performanceState() uint64 {
	if g.clock == clockRest {
		return 8
	}
	return 0
}

// runGPU sets the clock as the firmware does and counts what came of it. A fault of the power supply
// shows in clock and power alone: no reason is given for it, as on real units.
func (m *machine) runGPU() {
	g := &m.gpu
	var wanted int64
	ready := false
	for _, p := range m.processes {
		wanted += p.want.busy
		ready = ready || !p.program.Graphics && m.listed(p) > 0
	}
	g.busy = min(wanted, millionths)
	switch {
	case g.fault && ready:
		g.clock = clockFault
	case g.busy > 0:
		g.boost()
	case ready:
		g.clock = min(clockReady, g.allowed)
	default:
		g.clock = clockRest
	}
	m.heat.throttle(g)
	g.power = m.gpuPower(ready) + m.jitter(250)
	g.energy += g.power * tickMicroseconds / 1000
	m.heat.warm(g.power, m.cpuPower())
}

// boost raises the clock step by step and lowers it while it takes more power than there is.
func (g *gpu) boost() {
	limit := min(clockBoost, g.allowed)
	g.clock = min(max(g.clock, clockReady), limit)
	if g.exceeds(g.clock) {
		g.clock--
	} else if g.clock < limit && !g.exceeds(g.clock+1) {
		g.clock++
	}
	if g.clock < limit && g.exceeds(g.clock+1) {
		g.capped += int64(tick)
	}
}

func (g *gpu) exceeds(clock int64) bool { return powerReady+dynamicPower(g.busy, clock) > powerCap }

func dynamicPower(busy, clock int64) int64 {
	return powerDynamic * busy / millionths * clock * clock / (clockBoost * clockBoost)
}

func (m *machine) gpuPower(ready bool) int64 {
	leak := max(0, m.heat.die-40_000_000) / 1_000_000 * leakPerKelvin
	switch {
	case m.gpu.fault && ready:
		return powerFault
	case m.gpu.clock == clockRest:
		return powerRest
	}
	return min(powerReady+leak+dynamicPower(m.gpu.busy, m.gpu.clock), powerCap+leak)
}

// cpuPower is that of the CPUs and the rest of the package.
func (m *machine) cpuPower() int64 { return 12_000 + m.cpu.milliCPUs*5/2 }

// heat is a package on a heat sink with a fan, in microdegrees and microkelvin. factor is Config.ThermalFactor.
type heat struct{ ambient, sink, die, factor int64 }

// approach is the step of a tick towards a temperature, by a time constant.
func (h *heat) approach(rest, now, seconds int64) int64 {
	return (rest - now) / max(1, seconds*ticksPerSecond/h.factor)
}

// Two resistances and two time constants: die to sink, sink to air. The fan makes the second one smaller as
// the sink gets warm. At rest the die comes to 38 degrees in a room of 25, under load to 76.
const (
	dieKelvinPerKilowatt   = 200
	calmKelvinPerKilowatt  = 700 // sink below calmBelow
	windyKelvinPerKilowatt = 440 // above windyAbove
	calmBelow              = 38_000_000
	windyAbove             = 60_000_000

	dieSeconds  = 6
	sinkSeconds = 180
)

// warm moves the temperatures a tick nearer to where the powers, in milliwatts, take them.
func (h *heat) warm(gpuPower, otherPower int64) {
	sinkRest := h.ambient + h.sinkResistance()*(gpuPower+otherPower)
	h.sink += h.approach(sinkRest, h.sink, sinkSeconds)
	dieRest := h.sink + dieKelvinPerKilowatt*gpuPower
	h.die += h.approach(dieRest, h.die, dieSeconds)
}

func (h *heat) sinkResistance() int64 {
	warm := min(max(h.sink-calmBelow, 0), windyAbove-calmBelow)
	return calmKelvinPerKilowatt - (calmKelvinPerKilowatt-windyKelvinPerKilowatt)*warm/(windyAbove-calmBelow)
}

// throttle lowers the highest clock by a step a tick while the die is too hot, by five where it is much too hot.
func (h *heat) throttle(g *gpu) {
	switch {
	case h.die > throttleHardAt:
		g.allowed = max(clockSlowest, g.allowed-5)
		g.hardHeat += int64(tick)
	case h.die > throttleAt:
		g.allowed = max(clockSlowest, g.allowed-1)
	case h.die < throttleAt-1_000_000 && g.allowed < clockBoost:
		g.allowed++
	}
	if g.allowed < clockBoost && g.busy > 0 && !g.fault {
		g.softHeat += int64(tick)
	}
}

// zoneMillidegrees is the temperature of an ACPI zone. The places that the seven zones measure are unknown; here they
// follow the package at a distance.
func (m *machine) zoneMillidegrees(zone int64) int64 {
	offsets := [thermalZones]int64{1900, 2600, 1300, 3500, 900, 2200, 3100}
	cpu := m.cpu.milliCPUs * 5 / 2 / 10 // 0.1 K a watt
	return m.heat.sink/1000 + offsets[zone] + cpu*(zone%3)/2
}

const thermalZones = 7
