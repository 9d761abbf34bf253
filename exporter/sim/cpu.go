package sim

// A DGX Spark has ten fast and ten small cores.
const (
	cpus          = 20
	fastCPUs      = 10
	fastKilohertz = 3_900_000
	slowKilohertz = 2_808_000
	idleKilohertz = 1_378_000

	backgroundMilliCPUs = 150 // services and interrupts of a machine at rest
)

// cpuTimes are times of all CPUs together since boot, in microseconds.
type cpuTimes struct {
	user, system, idle, ioWait, irq, softIRQ int64
	milliCPUs                                int64 // in use in the last tick
}

// runCPUs divides the CPUs among processes. Demand beyond them waits.
func (m *machine) runCPUs() {
	const most = cpus * 1000
	wanted := int64(backgroundMilliCPUs) + m.jitter(backgroundMilliCPUs/3)
	system := wanted / 3 // of which
	user := wanted - system
	var sum int64
	for _, p := range m.processes {
		sum += p.want.milliCPUs
	}
	room := most - wanted
	for _, p := range m.processes {
		got := p.want.milliCPUs
		if sum > room {
			got = got * room / sum
			p.group.stallFor(cpuTime, tickMicroseconds*(sum-room)/sum, 0)
		}
		inUser, inSystem := got*tickMicroseconds/1000*7/8, got*tickMicroseconds/1000/8
		p.user += inUser
		p.system += inSystem
		p.group.compute(inUser, inSystem)
		user += got * 7 / 8
		system += got / 8
	}
	m.cpu.account(user, system, m.disk.moved[reading] > 0)
	// Even with CPUs to spare, tasks wait a little for each other's.
	m.root.stallFor(cpuTime, tickMicroseconds*m.cpu.milliCPUs/most/50, 0)
}

// computed is what the kernel reports of the root of the cgroups.
func (c *cpuTimes) computed() computed {
	return computed{user: c.user, system: c.system + c.irq + c.softIRQ}
}

func (c *cpuTimes) account(user, system int64, waiting bool) {
	const perMilliCPU = tickMicroseconds / 1000
	idle := cpus*1000 - user - system
	var ioWait int64
	if waiting {
		ioWait = min(idle, 600)
	}
	c.milliCPUs = user + system
	c.user += user * perMilliCPU
	c.ioWait += ioWait * perMilliCPU
	c.idle += (idle - ioWait) * perMilliCPU
	c.softIRQ += system * perMilliCPU / 20
	c.irq += system * perMilliCPU / 20
	c.system += system*perMilliCPU - 2*(system*perMilliCPU/20)
}

// kilohertz is the clock of a CPU: the highest while it has work.
func (m *machine) kilohertz(cpu int64) int64 {
	if m.cpu.milliCPUs <= cpu*1000 {
		return idleKilohertz
	}
	if cpu < fastCPUs {
		return fastKilohertz
	}
	return slowKilohertz
}
