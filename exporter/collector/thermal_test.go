package collector

import (
	"strings"
	"testing"
	"testing/fstest"
)

// sensorSys is the heat, power and clocks of a DGX Spark.
func sensorSys() fstest.MapFS {
	return tree(map[string]string{
		"class/thermal/thermal_zone0/type": "acpitz\n", "class/thermal/thermal_zone0/temp": "41200\n",
		"class/thermal/thermal_zone0/trip_point_0_type": "critical\n", "class/thermal/thermal_zone0/trip_point_0_temp": "110000\n",
		"class/thermal/thermal_zone6/type": "acpitz\n", "class/thermal/thermal_zone6/temp": "39000\n",
		"class/hwmon/hwmon1/name": "nvme\n", "class/hwmon/hwmon1/temp1_input": "41850\n",
		"class/hwmon/hwmon4/name": "spbm\n", "class/hwmon/hwmon4/prochot": "1\n", "class/hwmon/hwmon4/pl_level": "2\n",
		"class/hwmon/hwmon4/power1_label": "sys_total\n", "class/hwmon/hwmon4/power1_input": "25300000\n",
		"class/hwmon/hwmon4/power11_label": "pl1\n", "class/hwmon/hwmon4/power11_input": "18100000\n", "class/hwmon/hwmon4/power11_cap": "140000000\n",
		"class/hwmon/hwmon4/energy1_label": "pkg\n", "class/hwmon/hwmon4/energy1_input": "4000000000\n",
		"class/hwmon/hwmon4/temp6_label": "gpu\n", "class/hwmon/hwmon4/temp6_input": "31500\n",
		"devices/system/cpu/cpu0/cpufreq/scaling_cur_freq": "3900000\n",
	})
}

const sensorStat = "cpu  1000 200 300 4000 50 6 7 8 900 100\n"

func TestHeatAndPowerOfASparkWorkedOutByHand(t *testing.T) {
	host := spark(t)
	host.Sys, host.Proc = onDisk(t, sensorSys()), onDisk(t, replaced(sparkProc(), "stat", sensorStat))
	series, outcome := page(t, thermalSpec(), host, Options{})
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{
		`uma_thermal_zone_celsius{type="acpitz",zone="0"}`:            41.2,
		`uma_thermal_zone_celsius{type="acpitz",zone="6"}`:            39,
		`uma_thermal_trip_celsius{trip="0",type="critical",zone="0"}`: 110,
		`uma_hwmon_temperature_celsius{chip="spbm",sensor="gpu"}`:     31.5,
		`uma_hwmon_power_watts{chip="spbm",sensor="sys_total"}`:       25.3,
		`uma_hwmon_power_watts{chip="spbm",sensor="pl1"}`:             18.1,
		`uma_hwmon_power_limit_watts{chip="spbm",sensor="pl1"}`:       140,
		`uma_hwmon_energy_joules_total{chip="spbm",sensor="pkg"}`:     4000,
		`uma_spbm_prochot{chip="spbm"}`:                               1,
		`uma_spbm_power_limit_level{chip="spbm"}`:                     2,
		`uma_cpu_frequency_hertz{cpu="0"}`:                            3.9e9,
		`uma_cpu_seconds_total{mode="user"}`:                          10,
		`uma_cpu_seconds_total{mode="idle"}`:                          40,
		`uma_cpu_seconds_total{mode="steal"}`:                         0.08,
		`uma_collector_state{collector="thermal",state="ok"}`:         1,
		`uma_collector_state{collector="thermal",state="failed"}`:     0,
	})
	wantAbsent(t, series, `uma_hwmon_temperature_celsius{chip="nvme"`)
}

func TestAVirtualMachineHasCPUTimeOnly(t *testing.T) {
	host := spark(t)
	host.Sys, host.Proc = onDisk(t, nil), onDisk(t, tree(map[string]string{"stat": sensorStat}))
	series, outcome := page(t, thermalSpec(), host, Options{})
	if outcome.State != OK {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{`uma_cpu_seconds_total{mode="system"}`: 3})
	wantAbsent(t, series, "uma_thermal", "uma_hwmon", "uma_spbm", "uma_cpu_frequency")

	host.Proc = onDisk(t, fstest.MapFS{})
	if _, outcome := page(t, thermalSpec(), host, Options{}); outcome.State != Absent {
		t.Errorf("nothing to read: %s, %v", outcome.State, outcome.Err)
	}
}

func TestABrokenSensorIsToldAndCostsOnlyItself(t *testing.T) {
	host := spark(t)
	host.Proc = onDisk(t, tree(map[string]string{"stat": "cpu  1 2\n"}))
	host.Sys = onDisk(t, replaced(sensorSys(), "class/hwmon/hwmon4/power1_input", "a lot\n"))
	series, outcome := page(t, thermalSpec(), host, Options{})
	if outcome.State != Failed || !strings.Contains(outcome.Err.Error(), "power1_input") || !strings.Contains(outcome.Err.Error(), "stat: line 1") {
		t.Errorf("%s: %v", outcome.State, outcome.Err)
	}
	wantSeries(t, series, map[string]float64{`uma_hwmon_power_watts{chip="spbm",sensor="pl1"}`: 18.1, `uma_thermal_zone_celsius{type="acpitz",zone="0"}`: 41.2})
	wantAbsent(t, series, `uma_hwmon_power_watts{chip="spbm",sensor="sys_total"`, "uma_cpu_seconds")
}

// TestIdleTimeDoesNotStepBack unless so far that a CPU must have begun anew.
func TestIdleTimeDoesNotStepBack(t *testing.T) {
	host := spark(t)
	host.Sys, host.Proc = onDisk(t, nil), onDisk(t, nil)
	runner := NewRunner(host, Options{}, []Spec{thermalSpec()}, RunnerSettings{})
	for _, step := range []struct {
		ticks string
		want  float64
	}{{"4000", 40}, {"3999", 40}, {"3800", 40}, {"4001", 40.01}, {"100", 1}, {"90", 1}, {"101", 1.01}} {
		overwrite(t, host.Proc, "stat", "cpu  1 2 3 "+step.ticks+" 5 6 7 8\n")
		if got := gather(t, mustScrape(t, runner, t.Context()))[`uma_cpu_seconds_total{mode="idle"}`]; got != step.want {
			t.Errorf("%s ticks: %v s, want %v", step.ticks, got, step.want)
		}
	}
}
