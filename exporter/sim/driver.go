package sim

import (
	"github.com/umascope/umascope/exporter/nvml"
)

// driver answers as the driver of a GB10 does, by owners' reports of each call; calls without a report of success
// answer NOT_SUPPORTED, as in the constructed hosts.
type driver struct{ host *Host }

// Init succeeds.
func (driver) Init() nvml.Return { return nvml.Success }

// Shutdown succeeds.
func (driver) Shutdown() nvml.Return { return nvml.Success }

// DeviceCount is one.
func (driver) DeviceCount() (int, nvml.Return) { return 1, nvml.Success }

// Do makes one call.
func (d driver) Do(index int, call nvml.Call) (nvml.Value, nvml.Return) {
	d.host.mu.RLock()
	defer d.host.mu.RUnlock()
	m := d.host.machine
	answer := deviceAnswer(call)
	switch {
	case index == nvml.System:
		answer = systemAnswer(call)
	case index != 0:
		return nvml.Value{}, nvml.InvalidArgument
	}
	if answer == nil {
		return nvml.Value{}, nvml.NotSupported
	}
	return answer(m), nvml.Success
}

func systemAnswer(call nvml.Call) func(*machine) nvml.Value {
	switch call {
	case nvml.CallDriverVersion:
		return func(m *machine) nvml.Value { return nvml.Value{Text: m.config.DriverVersion} }
	case nvml.CallCUDAVersion:
		return amount(13000)
	}
	return nil
}

// deviceAnswer is the answer to a call, nil for those that are not supported. Reasons for the clock read 0 under load
// although the clock is lowered for power; the times show it.
func deviceAnswer(call nvml.Call) func(*machine) nvml.Value {
	switch call {
	case nvml.CallUUID:
		return func(m *machine) nvml.Value { return nvml.Value{Text: m.uuid()} }
	case nvml.CallName:
		return words("NVIDIA GB10")
	case nvml.CallPCIInfo:
		return words("0000000F:01:00.0")
	case nvml.CallAddressingMode:
		return amount(uint64(nvml.AddressingATS))
	case nvml.CallComputeProcesses:
		return func(m *machine) nvml.Value { return m.processList(false) }
	case nvml.CallGraphicsProcesses:
		return func(m *machine) nvml.Value { return m.processList(true) }
	case nvml.CallSMClockMax:
		return amount(clockMax * clockMegahertz)
	case nvml.CallEncoder, nvml.CallDecoder:
		return amount(0)
	}
	return stateAnswer(call)
}

// stateAnswer answers the calls that report the activity of the device.
func stateAnswer(call nvml.Call) func(*machine) nvml.Value {
	switch call {
	case nvml.CallTemperature:
		return func(m *machine) nvml.Value { return nvml.Value{Number: uint64(m.heat.die / 1_000_000)} }
	case nvml.CallPower:
		return func(m *machine) nvml.Value { return nvml.Value{Number: uint64(m.gpu.power)} }
	case nvml.CallEnergy:
		return func(m *machine) nvml.Value { return nvml.Value{Number: uint64(m.gpu.energy / 1000)} }
	case nvml.CallUtilization:
		return func(m *machine) nvml.Value {
			return nvml.Value{Numbers: map[string]uint64{"gpu": uint64(m.gpu.busy / (millionths / 100)), "memory": 0}}
		}
	case nvml.CallSMClock:
		return func(m *machine) nvml.Value { return nvml.Value{Number: uint64(m.gpu.clock * clockMegahertz)} }
	case nvml.CallPerformanceState:
		return func(m *machine) nvml.Value { return nvml.Value{Number: m.gpu.performanceState()} }
	case nvml.CallClockEvents:
		return func(m *machine) nvml.Value { return nvml.Value{Number: m.gpu.idleBit()} }
	case nvml.CallFields:
		return func(m *machine) nvml.Value { return m.gpu.fields() }
	case nvml.CallLimitFields:
		return func(*machine) nvml.Value { return refused("operating", "slowdown", "shutdown") }
	}
	return nil
}

// idleBit is the only reason given for a clock: the GPU is idle.
func (g *gpu) idleBit() uint64 {
	if g.clock == clockRest {
		return 1
	}
	return 0
}

// fields are the field values that are asked for in one call: energy in millijoules, times in nanoseconds.
func (g *gpu) fields() nvml.Value {
	v := refused("ecc_corrected", "ecc_uncorrected", "remapped_correctable", "remapped_uncorrectable", "remapped_pending", "remapped_failed")
	v.Numbers = map[string]uint64{
		"energy": uint64(g.energy / 1000), "sw_power_cap": uint64(g.capped), "sw_thermal": uint64(g.softHeat),
		"hw_thermal": uint64(g.hardHeat), "sync_boost": 0, "hw_power_brake": 0,
	}
	return v
}

// processList lists the processes that hold memory of the device: clients of the display, or all others.
func (m *machine) processList(graphics bool) nvml.Value {
	list := []nvml.Process{}
	for _, p := range m.processes {
		if n := m.listed(p); n > 0 && p.program.Graphics == graphics {
			list = append(list, nvml.Process{PID: p.pid, UsedBytes: new(uint64(n * pageBytes))})
		}
	}
	return nvml.Value{Processes: list}
}

func amount(n uint64) func(*machine) nvml.Value {
	return func(*machine) nvml.Value { return nvml.Value{Number: n} }
}

func words(text string) func(*machine) nvml.Value {
	return func(*machine) nvml.Value { return nvml.Value{Text: text} }
}

func refused(names ...string) nvml.Value {
	v := nvml.Value{Refused: map[string]nvml.Return{}}
	for _, name := range names {
		v.Refused[name] = nvml.NotSupported
	}
	return v
}
