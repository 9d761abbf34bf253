package exporter

import (
	"math"
	"testing"

	"github.com/umascope/umascope/exporter/hostfs"
)

// TestCPUTimesOfASparkAreItsUptime compares the ticks of 20 CPUs with the seconds that the notes speak of.
func TestCPUTimesOfASparkAreItsUptime(t *testing.T) {
	idle, load := cpuSeconds(t, "gb10-idle"), cpuSeconds(t, "gb10-load")
	for mode, seconds := range idle {
		if load[mode] < seconds {
			t.Errorf("%s falls from %v to %v s", mode, seconds, load[mode])
		}
	}
	for name, pair := range map[string][2]float64{"gb10-idle": {total(idle), 67200 * 20}, "gb10-load": {total(load), 74400 * 20}} {
		if math.Abs(pair[0]-pair[1]) > 1e-6 {
			t.Errorf("%s: %v s of CPU time, want %v", name, pair[0], pair[1])
		}
	}
}

func cpuSeconds(t *testing.T, name string) hostfs.CPUSeconds {
	t.Helper()
	seconds, err := hostfs.ReadCPUSeconds(openRecorded(t, name).Proc)
	if err != nil {
		t.Fatal(err)
	}
	return seconds
}

func total(times hostfs.CPUSeconds) float64 {
	sum := 0.0
	for _, seconds := range times {
		sum += seconds
	}
	return sum
}

// TestRailsOfASparkContainEachOther and tell of the GPU what the driver tells.
func TestRailsOfASparkContainEachOther(t *testing.T) {
	host := openRecorded(t, "gb10-load")
	chips, err := hostfs.ReadHwmonChips(host.Sys)
	if err != nil || len(chips) != 3 || chips[2].SPBM == nil {
		t.Fatalf("%v, %+v", err, chips)
	}
	watts, joules := map[string]float64{}, map[string]float64{}
	for _, p := range chips[2].Powers {
		watts[p.Sensor] = p.Value
	}
	for _, e := range chips[2].Energies {
		joules[e.Sensor] = e.Value
	}
	if parts := watts["gpu"] + watts["cpu_p"] + watts["cpu_e"]; math.Abs(parts-watts["cpu_gpu"]) > 0.01 ||
		watts["cpu_gpu"] > watts["soc_pkg"] || watts["soc_pkg"] > watts["sys_total"] || watts["sys_total"] > watts["dc_input"] {
		t.Errorf("%v", watts)
	}
	if joules["gpu"]+joules["cpu_p"]+joules["cpu_e"] > joules["pkg"] {
		t.Errorf("%v", joules)
	}
	if d := device(t, host); *d.PowerWatts != watts["gpu"] || *d.EnergyJoules != joules["gpu"] {
		t.Errorf("the driver tells of %v W and %v J, the rail of %v and %v", *d.PowerWatts, *d.EnergyJoules, watts["gpu"], joules["gpu"])
	}
}

func TestPortsOfASparkBelongToItsCard(t *testing.T) {
	for _, name := range []string{"gb10-idle", "gb10-load"} {
		host := openRecorded(t, name)
		interfaces, err := hostfs.ReadNetworkInterfaces(host.Sys)
		if err != nil || len(interfaces) != 3 {
			t.Errorf("%s: %v, %+v", name, err, interfaces)
		}
		ports, err := hostfs.ReadInfiniBandPorts(host.Sys)
		if err != nil || len(ports) != 2 {
			t.Errorf("%s: %v, %+v", name, err, ports)
		}
		for _, port := range ports {
			if _, err := host.Sys.Stat("class/net/" + port.Interface); port.Interface == "" || err != nil {
				t.Errorf("%s: %s belongs to %q, %v", name, port.Device, port.Interface, err)
			}
		}
	}
}
