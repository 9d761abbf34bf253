package hostfs

import (
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

func thermalFiles() map[string]string {
	return map[string]string{
		"class/thermal/thermal_zone0/type":              "acpitz\n",
		"class/thermal/thermal_zone0/temp":              "41200\n",
		"class/thermal/thermal_zone0/trip_point_0_type": "critical\n",
		"class/thermal/thermal_zone0/trip_point_0_temp": "110000\n",
		"class/thermal/thermal_zone0/trip_point_0_hyst": "0\n",
		"class/thermal/thermal_zone0/trip_point_1_type": "passive\n",
		"class/thermal/thermal_zone0/trip_point_1_temp": "-274000\n",
		"class/thermal/thermal_zone0/trip_point_2_type": "active\n",
		"class/thermal/thermal_zone0/trip_point_2_temp": "0\n",
		"class/thermal/thermal_zone11/type":             "acpitz\n",
		"class/thermal/thermal_zone11/temp":             "-4900\n",
		"class/thermal/cooling_device0/type":            "Processor\n",
		"class/thermal/cooling_device0/cur_state":       "0\n",
	}
}

func TestThermalZonesWithTheTripPointsThatAreSet(t *testing.T) {
	want := []ThermalZone{
		{"0", "acpitz", celsius(41.2), []ThermalTrip{{"0", "critical", 110}}},
		{"11", "acpitz", celsius(-4.9), nil},
	}
	if got := must(t, ReadThermalZones, files(t, thermalFiles())); !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
}

// TestAZoneWithoutAReadingIsNoFault separates a sensor without a reading from a broken one.
func TestAZoneWithoutAReadingIsNoFault(t *testing.T) {
	const zone0 = "class/thermal/thermal_zone0/temp"
	for _, code := range []error{unix.EAGAIN, unix.ENODATA, unix.EINVAL, unix.ENXIO, fs.ErrNotExist} {
		zones, err := ReadThermalZones(failingAt(files(t, thermalFiles()), map[string]error{zone0: code}))
		if err != nil || len(zones) != 2 || zones[0].Celsius != nil || len(zones[0].Trips) != 1 || zones[1].Celsius == nil {
			t.Errorf("%v: %+v, %v", code, zones, err)
		}
	}
	for _, broken := range []Dir{
		failingAt(files(t, thermalFiles()), map[string]error{zone0: unix.EIO}),
		files(t, with(thermalFiles(), zone0, "hot\n")),
	} {
		zones, err := ReadThermalZones(broken)
		if err == nil || !strings.Contains(err.Error(), "thermal_zone0/temp") || len(zones) != 2 || zones[0].Celsius != nil {
			t.Errorf("%+v, %v", zones, err)
		}
	}
}

func TestAZoneThatIsGoneIsLeftOut(t *testing.T) {
	for _, name := range []string{"type", "trip_point_0_type"} {
		gone := map[string]error{"class/thermal/thermal_zone0/" + name: fs.ErrNotExist}
		zones, err := ReadThermalZones(failingAt(files(t, thermalFiles()), gone))
		if err != nil || len(zones) == 2 && len(zones[0].Trips) > 0 {
			t.Errorf("without %s: %+v, %v", name, zones, err)
		}
	}
}

// with is the files with another content in one of them.
func with(contents map[string]string, name, content string) map[string]string {
	contents[name] = content
	return contents
}

func TestCPUTimesCountGuestsOnce(t *testing.T) {
	const stat = "cpu  1000 200 300 4000 50 6 7 8 900 100\ncpu0 1000 200 300 4000 50 6 7 8 900 100\nintr 5\n"
	got := must(t, ReadCPUSeconds, files(t, map[string]string{"stat": stat}))
	want := CPUSeconds{"user": 10, "nice": 2, "system": 3, "idle": 40, "iowait": 0.5, "irq": 0.06, "softirq": 0.07, "steal": 0.08}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, broken := range []string{
		"", "cpu  1 2 3 4 5 6 7 8", "cpu  1 2 3 4 5 6 7\n", "cpu0 1 2 3 4 5 6 7 8\n", "cpu  1 2 3 4 5 6 7 x\n",
		"cpu  1 2 3 4 5 6 7 9223372036854775808\n", "\n",
	} {
		if got, err := ReadCPUSeconds(files(t, map[string]string{"stat": broken})); err == nil {
			t.Errorf("%q: %v", broken, got)
		}
	}
}

func TestCPUFrequenciesOfTheCPUsThatTell(t *testing.T) {
	const root = "devices/system/cpu/"
	contents := map[string]string{
		root + "cpu0/cpufreq/scaling_cur_freq":  "3900000\n",
		root + "cpu1/cpufreq/scaling_cur_freq":  "<unknown>\n",
		root + "cpu2/online":                    "0\n",
		root + "cpu3/cpufreq/scaling_cur_freq":  "0\n",
		root + "cpu4/cpufreq/scaling_cur_freq":  "4294967295\n",
		root + "cpu19/cpufreq/scaling_cur_freq": "2808000\n",
		root + "cpufreq/policy0/affected_cpus":  "0\n",
		root + "cpuidle/current_driver":         "psci_idle\n",
	}
	if got, want := must(t, ReadCPUFrequencies, files(t, contents)), []CPUFrequency{{"0", 3.9e9}, {"19", 2.808e9}}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	busy := failingAt(files(t, contents), map[string]error{root + "cpu0/cpufreq/scaling_cur_freq": unix.EBUSY})
	if got := must(t, ReadCPUFrequencies, busy); len(got) != 1 {
		t.Errorf("a CPU that goes off: %v", got)
	}
	got, err := ReadCPUFrequencies(files(t, with(contents, root+"cpu0/cpufreq/scaling_cur_freq", "fast\n")))
	if err == nil || !strings.Contains(err.Error(), "cpu0") || len(got) != 1 {
		t.Errorf("%v, %v", got, err)
	}
}
