package hostfs

import (
	"testing"
)

// TestASensorThatIsOffHasNoTemperature takes each value where it stands for none, and where it is a temperature.
func TestASensorThatIsOffHasNoTemperature(t *testing.T) {
	for _, test := range []struct {
		text       string
		zone, chip bool // has a temperature
	}{
		{"-256000\n", false, false}, {"-274000\n", false, false}, {"-273150\n", false, false}, {"-128000\n", true, false},
		{"-40000\n", true, true}, {"-255000\n", true, true}, {"0\n", true, true}, {"-1\n", true, true}, {"127000\n", true, true}, {"65261850\n", false, false},
	} {
		zones := must(t, ReadThermalZones, files(t, map[string]string{
			"class/thermal/thermal_zone4/type": "cv0-thermal\n", "class/thermal/thermal_zone4/temp": test.text,
			"class/thermal/thermal_zone5/type": "tj-thermal\n", "class/thermal/thermal_zone5/temp": "45000\n",
		}))
		if len(zones) != 2 || (zones[0].Celsius != nil) != test.zone || *zones[1].Celsius != 45 {
			t.Errorf("zone at %q: %+v", test.text, zones)
		}
		chips := must(t, ReadHwmonChips, files(t, map[string]string{
			"class/hwmon/hwmon0/name": "it87\n", "class/hwmon/hwmon0/temp1_input": test.text, "class/hwmon/hwmon0/temp2_input": "45000\n",
		}))
		if got := sensors(chips[0].Temperatures); got["temp2"] != 45 || (len(got) == 2) != test.chip {
			t.Errorf("chip at %q: %v", test.text, got)
		}
	}
}
