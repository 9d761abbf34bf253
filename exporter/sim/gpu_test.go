package sim

import (
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/nvml"
)

// gpuOf reads the device as the exporter does.
func gpuOf(t testing.TB, host *Host) nvml.Device {
	t.Helper()
	snapshot := host.Collect()
	defer snapshot.Close()
	devices, err := snapshot.GPU.Read(t.Context()).Snapshot(t.Context())
	must(t, err)
	if len(devices.Devices) != 1 {
		t.Fatalf("%d devices", len(devices.Devices))
	}
	return devices.Devices[0]
}

// loaded is a host with an engine that keeps the GPU busy.
func loaded(t testing.TB, config Config, busy float64) (*Host, *Process) {
	t.Helper()
	host := newHost(t, config)
	p := start(t, host, "VLLM::EngineCor", container)
	p.Demand(Demand{DeviceBytes: 90 * gib, BusyRatio: busy, CPUs: 2})
	host.Advance(30 * time.Minute)
	return host, p
}

func within(t *testing.T, what string, value *float64, low, high float64) {
	t.Helper()
	if value == nil || *value < low || *value > high {
		t.Errorf("%s is %v, want %v to %v", what, value, low, high)
	}
}

func TestOperatingPointsAreThoseThatOwnersReport(t *testing.T) {
	idle := newHost(t, Config{})
	idle.Advance(time.Hour)
	g := gpuOf(t, idle)
	within(t, "clock at rest", g.SMClockHertz, 208e6, 210e6)
	within(t, "power at rest", g.PowerWatts, 3, 5)
	within(t, "temperature at rest", g.TemperatureCelsius, 35, 43)
	within(t, "state at rest", g.PerformanceState, 8, 8)

	ready, p := loaded(t, Config{}, 0)
	g = gpuOf(t, ready)
	within(t, "clock with a context", g.SMClockHertz, 2405e6, 2522e6)
	within(t, "power with a context", g.PowerWatts, 10, 16)
	within(t, "temperature with a context", g.TemperatureCelsius, 36, 52)

	p.Demand(Demand{DeviceBytes: 90 * gib, BusyRatio: 0.96, CPUs: 2})
	ready.Advance(30 * time.Minute)
	g = gpuOf(t, ready)
	within(t, "clock under load", g.SMClockHertz, 2400e6, 2520e6)
	within(t, "power under load", g.PowerWatts, 59, 78)
	within(t, "temperature under load", g.TemperatureCelsius, 71, 86)
	within(t, "utilisation", g.UtilizationRatio, 0.96, 0.96)
	if capped := g.ClockEventSeconds["sw_power_cap"]; capped < 1700 || g.ClockEventActive["sw_power_cap"] || g.ClockEventSeconds["sw_thermal"] != 0 {
		t.Errorf("capped for %v s, reasons %v, %v", capped, g.ClockEventActive, g.ClockEventSeconds)
	}
}

func TestWarmRoomMakesItThrottle(t *testing.T) {
	host, _ := loaded(t, Config{}, 1)
	before := gpuOf(t, host)
	must(t, host.SetAmbient(42))
	host.Advance(20 * time.Minute)
	after := gpuOf(t, host)
	if after.ClockEventSeconds["sw_thermal"] < 60 || *after.SMClockHertz >= *before.SMClockHertz {
		t.Errorf("throttled for %v s, clock %v", after.ClockEventSeconds, *after.SMClockHertz)
	}
	within(t, "temperature", after.TemperatureCelsius, 84, 90)
	must(t, host.SetAmbient(20))
	host.Advance(30 * time.Minute)
	cool := gpuOf(t, host)
	host.Advance(10 * time.Minute)
	if later := gpuOf(t, host); later.ClockEventSeconds["sw_thermal"] != cool.ClockEventSeconds["sw_thermal"] || *later.SMClockHertz <= *after.SMClockHertz {
		t.Errorf("it still throttles: %v", later.ClockEventSeconds)
	}
	if err := host.SetAmbient(300); err == nil {
		t.Error("a room of 300 degrees")
	}
}

func TestFaultOfThePowerSupplyGivesNoReason(t *testing.T) {
	host, _ := loaded(t, Config{}, 0.95)
	before := gpuOf(t, host)
	host.SetPowerFault(true)
	host.Advance(10 * time.Minute)
	g := gpuOf(t, host)
	within(t, "clock", g.SMClockHertz, 500e6, 850e6)
	within(t, "power", g.PowerWatts, 14, 18)
	within(t, "utilisation", g.UtilizationRatio, 0.94, 0.96)
	within(t, "state", g.PerformanceState, 0, 0)
	for reason, seconds := range g.ClockEventSeconds {
		if seconds != before.ClockEventSeconds[reason] || g.ClockEventActive[reason] {
			t.Errorf("%s: %v s, active %v", reason, seconds, g.ClockEventActive[reason])
		}
	}
	host.SetPowerFault(false)
	host.Advance(time.Minute)
	within(t, "clock after it", gpuOf(t, host).SMClockHertz, 2400e6, 2520e6)
}

func TestEnergyIsTheIntegralOfPower(t *testing.T) {
	host, p := loaded(t, Config{Seed: 3}, 0.5)
	began := *gpuOf(t, host).EnergyJoules
	sum := 0.0
	for step := range 400 {
		p.Demand(Demand{DeviceBytes: 90 * gib, BusyRatio: float64(step%10) / 9})
		host.Advance(tick)
		sum += *gpuOf(t, host).PowerWatts * tick.Seconds()
	}
	if got := *gpuOf(t, host).EnergyJoules - began; got < sum-0.002 || got > sum+0.002 {
		t.Errorf("%v J, the powers sum to %v J", got, sum)
	}
}

func TestDriverAnswersAsAGB10Does(t *testing.T) {
	host := newHost(t, Config{Seed: 0xabc})
	p := start(t, host, "VLLM::EngineCor", container)
	p.Demand(Demand{DeviceBytes: 20 * gib, PinnedBytes: gib, ManagedBytes: gib, AnonBytes: gib})
	host.Advance(tick)
	g := gpuOf(t, host)
	if g.Architecture != nvml.Integrated || g.Name != "NVIDIA GB10" || g.UUID != "GPU-51300000-0000-4000-8000-000000000abc" {
		t.Errorf("%+v", g)
	}
	if g.MemoryTotalBytes != nil || g.PowerLimitWatts != nil || g.FanRatio != nil || g.MemoryClockHertz != nil || len(g.TemperatureMargins) > 0 || len(g.ECCErrors) > 0 {
		t.Errorf("it answers what a GB10 does not: %+v", g)
	}
	held := map[uint32]uint64{}
	for _, one := range g.Processes {
		held[one.PID] = *one.UsedBytes
	}
	if len(held) != 2 || held[p.PID] != uint64(21*gib) || held[3150] != 43*miB {
		t.Errorf("held: %v", held)
	}
	if len(g.Errors) > 0 {
		t.Errorf("errors: %v", g.Errors)
	}
}

func TestDriveGetsWarmFromTraffic(t *testing.T) {
	host := newHost(t, Config{})
	host.Advance(time.Minute)
	idle := host.machine.disk.temperature
	start(t, host, "engine", container).Demand(Demand{DirectReadBytesPerSecond: 7 * gib})
	host.Advance(5 * time.Minute)
	if busy := host.machine.disk.temperature; busy < idle+10_000_000 || busy > 75_000_000 {
		t.Errorf("from %d to %d microdegrees", idle, busy)
	}
}

// TestTheThermalFactorChangesWhenAndNotWhere compares temperatures after an hour with those after a minute, and powers.
func TestTheThermalFactorChangesWhenAndNotWhere(t *testing.T) {
	for _, busy := range []float64{0, 0.5, 1} {
		read := func(factor int64, after time.Duration) (die, sink, drive, power int64) {
			host := newHost(t, Config{ThermalFactor: factor})
			start(t, host, "VLLM::EngineCor", container).Demand(Demand{DeviceBytes: 90 * gib, BusyRatio: busy, CPUs: 2, DirectReadBytesPerSecond: int64(busy*2) * gib})
			host.Advance(after)
			m := host.machine
			return m.heat.die / 1e6, m.heat.sink / 1e6, m.disk.temperature / 1e6, m.gpu.power / 1e3
		}
		for _, after := range []time.Duration{2 * time.Minute, time.Hour} {
			die, sink, drive, power := read(1, after)
			fastDie, fastSink, fastDrive, fastPower := read(60, after/60)
			for what, pair := range map[string][2]int64{"die": {die, fastDie}, "sink": {sink, fastSink}, "drive": {drive, fastDrive}, "power": {power, fastPower}} {
				if pair[0]-pair[1] > 3 || pair[1]-pair[0] > 3 {
					t.Errorf("busy %v, %s after %v: %d, with a factor of 60 after a 60th of it %d", busy, what, after, pair[0], pair[1])
				}
			}
		}
	}
}
