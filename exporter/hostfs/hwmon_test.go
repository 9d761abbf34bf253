package hostfs

import (
	"io/fs"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/sys/unix"
)

// hwmonFiles are the chips of a DGX Spark with the out-of-tree power driver: the thermal zones a second
// time, the drive, two functions of a network card, the power manager.
func hwmonFiles() fstest.MapFS {
	fsys := tree(map[string]string{
		"class/hwmon/hwmon0/name":               "acpitz\n",
		"class/hwmon/hwmon0/temp1_input":        "41200\n",
		"class/hwmon/hwmon1/name":               "nvme\n",
		"class/hwmon/hwmon1/temp1_input":        "41850\n",
		"class/hwmon/hwmon2/name":               "mlx5\n",
		"class/hwmon/hwmon2/temp1_input":        "52000\n",
		"class/hwmon/hwmon2/temp1_label":        "asic\n",
		"class/hwmon/hwmon2/temp1_crit":         "105000\n",
		"class/hwmon/hwmon2/temp1_highest":      "61000\n",
		"class/hwmon/hwmon3/name":               "mlx5\n",
		"class/hwmon/hwmon3/temp1_input":        "53000\n",
		"class/hwmon/hwmon3/temp1_label":        "asic\n",
		"class/hwmon/hwmon4/name":               "spbm\n",
		"class/hwmon/hwmon4/power1_label":       "sys_total\n",
		"class/hwmon/hwmon4/power1_input":       "25300000\n",
		"class/hwmon/hwmon4/power11_label":      "pl1\n",
		"class/hwmon/hwmon4/power11_input":      "18000000\n",
		"class/hwmon/hwmon4/power11_cap":        "140000000\n",
		"class/hwmon/hwmon4/power11_max":        "250000000\n",
		"class/hwmon/hwmon4/power12_label":      "pl2\n",
		"class/hwmon/hwmon4/power12_input":      "18000000\n",
		"class/hwmon/hwmon4/power12_cap":        "0\n",
		"class/hwmon/hwmon4/energy1_label":      "pkg\n",
		"class/hwmon/hwmon4/energy1_input":      "123456789000\n",
		"class/hwmon/hwmon4/temp6_label":        "gpu\n",
		"class/hwmon/hwmon4/temp6_input":        "31500\n",
		"class/hwmon/hwmon4/prochot":            "0\n",
		"class/hwmon/hwmon4/pl_level":           "2\n",
		"class/hwmon/hwmon4/tj_max_c":           "40\n",
		"class/hwmon/hwmon4/power/runtime_time": "7\n",
	})
	for chip, device := range map[string]string{
		"hwmon0": "../../thermal_zone0", "hwmon1": "../../nvme0",
		"hwmon2": "../../../0000:01:00.0", "hwmon3": "../../../0000:01:00.1", "hwmon4": "../../../NVDA8800:00",
	} {
		fsys["class/hwmon/"+chip+"/device"] = link(device)
	}
	return fsys
}

func sensors(readings []HwmonReading) map[string]float64 {
	values := map[string]float64{}
	for _, r := range readings {
		values[r.Sensor] = r.Value
	}
	return values
}

func TestHwmonChipsOfASpark(t *testing.T) {
	chips := must(t, ReadHwmonChips, onDisk(t, hwmonFiles()))
	if names := HwmonNames(chips); !slices.Equal(names, []string{"mlx5-0000:01:00.0", "mlx5-0000:01:00.1", "spbm"}) {
		t.Fatalf("chips %v", names)
	}
	spbm := chips[2]
	for what, pair := range map[string][2]map[string]float64{
		"card":   {sensors(chips[0].Temperatures), {"asic": 52}},
		"power":  {sensors(spbm.Powers), {"sys_total": 25.3, "pl1": 18, "pl2": 18}},
		"limit":  {sensors(spbm.PowerLimits), {"pl1": 140}}, // 0 is none
		"energy": {sensors(spbm.Energies), {"pkg": 123456.789}},
		"heat":   {sensors(spbm.Temperatures), {"gpu": 31.5}},
	} {
		if !reflect.DeepEqual(pair[0], pair[1]) {
			t.Errorf("%s: %v, want %v", what, pair[0], pair[1])
		}
	}
	if spbm.SPBM == nil || *spbm.SPBM.ProcHot != 0 || *spbm.SPBM.PowerLimitLevel != 2 || chips[0].SPBM != nil {
		t.Errorf("%+v", spbm.SPBM)
	}
}

func TestStatusOfThePowerManagerMayBelongToItsDevice(t *testing.T) {
	fsys := files(t, map[string]string{"class/hwmon/hwmon4/name": "spbm\n", "class/hwmon/hwmon4/device/prochot": "1\n"})
	chips := must(t, ReadHwmonChips, fsys)
	if status := chips[0].SPBM; status == nil || *status.ProcHot != 1 || status.PowerLimitLevel != nil {
		t.Errorf("%+v", status)
	}
}

func TestAHwmonSensorCostsOnlyItself(t *testing.T) {
	const power = "class/hwmon/hwmon4/power1_input"
	for _, test := range []struct {
		err   error
		fault bool
	}{{unix.EAGAIN, false}, {unix.ENODATA, false}, {unix.EOPNOTSUPP, false}, {fs.ErrNotExist, false}, {unix.EIO, true}} {
		chips, err := ReadHwmonChips(failingAt(onDisk(t, hwmonFiles()), map[string]error{power: test.err}))
		if (err != nil) != test.fault || test.fault && !strings.Contains(err.Error(), power) {
			t.Errorf("%v gives %v", test.err, err)
		}
		if got := sensors(chips[2].Powers); len(got) != 2 || len(chips[2].Energies) != 1 {
			t.Errorf("%v: %v", test.err, got)
		}
	}
	for _, text := range []string{"", "-5\n", "1e6\n", "9223372036854775808\n"} {
		fsys := hwmonFiles()
		fsys[power] = &fstest.MapFile{Data: []byte(text)}
		if chips, err := ReadHwmonChips(onDisk(t, fsys)); err == nil || len(chips[2].Powers) != 2 {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSensorsAreNamedSoThatNoTwoOfAChipAreTheSame(t *testing.T) {
	chips := must(t, ReadHwmonChips, files(t, map[string]string{
		"class/hwmon/hwmon0/name":           "board\n",
		"class/hwmon/hwmon0/temp1_input":    "1000\n",
		"class/hwmon/hwmon0/temp2_input":    "2000\n",
		"class/hwmon/hwmon0/temp2_label":    "VRM MOS\n",
		"class/hwmon/hwmon0/temp3_input":    "3000\n",
		"class/hwmon/hwmon0/temp3_label":    "Core\n",
		"class/hwmon/hwmon0/temp4_input":    "4000\n",
		"class/hwmon/hwmon0/temp4_label":    "Core\n",
		"class/hwmon/hwmon0/temp5_input":    "127000\n",
		"class/hwmon/hwmon0/temp5_fault":    "1\n", // an open pin reads as the hottest value
		"class/hwmon/hwmon0/power1_average": "4000000\n",
		"class/hwmon/hwmon0/power2_average": "5000000\n",
		"class/hwmon/hwmon0/power2_input":   "6000000\n",
		"class/hwmon/hwmon0/energy1_cap":    "6000000\n",
	}))
	if got, want := sensors(chips[0].Temperatures), map[string]float64{"temp1": 1, "vrm_mos": 2, "temp3": 3, "temp4": 4}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	if got, want := sensors(chips[0].Powers), map[string]float64{"power1": 4, "power2": 6}; !reflect.DeepEqual(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestChipsOfOneNameAndDeviceAreToldApart(t *testing.T) {
	chips := []HwmonChip{{Name: "a", Device: "d", entry: "hwmon0"}, {Name: "a", Device: "d", entry: "hwmon1"}, {Name: "b", entry: "hwmon2"}}
	if got := HwmonNames(chips); !slices.Equal(got, []string{"a-hwmon0", "a-hwmon1", "b"}) {
		t.Errorf("%v", got)
	}
}

func TestAMachineWithoutSensorsGivesNotExist(t *testing.T) {
	if _, err := ReadHwmonChips(files(t, nil)); err == nil || unlessNoReading(err) != nil {
		t.Errorf("hwmon: %v", err)
	}
	if _, err := ReadThermalZones(files(t, nil)); err == nil || unlessNoReading(err) != nil {
		t.Errorf("thermal: %v", err)
	}
}
