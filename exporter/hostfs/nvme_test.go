package hostfs

import (
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"
)

// nvmeFiles is the drive of a DGX Spark as sysfs shows it.
func nvmeFiles() map[string]string {
	return map[string]string{
		"class/nvme/nvme0/model":               "SAMSUNG MZALC4T0HBL1-00B07              \n",
		"class/nvme/nvme0/firmware_rev":        "NXHB202Q\n",
		"class/nvme/nvme0/nvme0n1/size":        "8001573552\n",
		"class/nvme/nvme0/ng0n1/dev":           "243:0\n",
		"class/nvme/nvme0/power/control":       "auto\n",
		"class/nvme/nvme0/hwmon3/name":         "nvme\n",
		"class/nvme/nvme0/hwmon3/temp1_label":  "Composite\n",
		"class/nvme/nvme0/hwmon3/temp1_input":  "41850\n",
		"class/nvme/nvme0/hwmon3/temp1_max":    "81850\n",
		"class/nvme/nvme0/hwmon3/temp1_min":    "-273150\n",
		"class/nvme/nvme0/hwmon3/temp1_crit":   "84850\n",
		"class/nvme/nvme0/hwmon3/temp1_alarm":  "0\n",
		"class/nvme/nvme0/hwmon3/temp2_label":  "Sensor 1\n",
		"class/nvme/nvme0/hwmon3/temp2_input":  "-1850\n",
		"class/nvme/nvme0/hwmon3/temp2_max":    "65261850\n",
		"class/nvme/nvme0/hwmon3/temp3_input":  "39000\n",
		"class/nvme/nvme0/hwmon3/power1_input": "5000000\n",
	}
}

func celsius(c float64) *float64 { return &c }

func TestNVMeTemperaturesAndTheirLimits(t *testing.T) {
	want := []NVMeTemperature{
		{"composite", 41.85, celsius(81.85), celsius(84.85)},
		{"sensor_1", -1.85, nil, nil}, // its limit of 0xFFFF kelvin was never set
		{"temp3", 39, nil, nil},
	}
	got, err := ReadNVMeTemperatures(files(t, nvmeFiles()), "nvme0")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
	// Before kernel 5.9 the chip was below the PCI device.
	before := map[string]string{}
	for name, text := range nvmeFiles() {
		before[strings.Replace(name, "/hwmon3/", "/device/hwmon/hwmon3/", 1)] = text
	}
	if got, err := ReadNVMeTemperatures(files(t, before), "nvme0"); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("below the PCI device: %+v, %v", got, err)
	}
	if got, err := ReadNVMeTemperatures(files(t, nil), "nvme0"); got != nil || err != nil {
		t.Errorf("without a chip: %+v, %v", got, err)
	}
}

func TestASensorThatFailsCostsOnlyItself(t *testing.T) {
	for _, reading := range []string{"\n", "warm\n", "99999999999\n", "65261850\n"} {
		broken := nvmeFiles()
		broken["class/nvme/nvme0/hwmon3/temp2_input"] = reading
		got, err := ReadNVMeTemperatures(files(t, broken), "nvme0")
		if err == nil || !strings.Contains(err.Error(), "temp2_input") || len(got) != 2 || got[0].Sensor != "composite" {
			t.Errorf("%q: %+v, %v", reading, got, err)
		}
	}
}

func TestNVMeControllersWithTheirDevices(t *testing.T) {
	contents := nvmeFiles()
	maps.Copy(contents, map[string]string{
		// A drive with several paths shows hidden devices, each for a device of its subsystem.
		"class/nvme/nvme10/model":           "Dual Port\n",
		"class/nvme/nvme10/firmware_rev":    "1\n",
		"class/nvme/nvme10/nvme2c10n2/size": "1\n",
		"class/nvme/nvme10/nvme2c10n1/size": "1\n",
		"class/nvme/nvme11/model":           "No Firmware\n",
		"class/nvme/nvme11/nvme11n1/size":   "1\n",
		"class/nvme/odd":                    "not a controller\n",
	})
	got, err := ReadNVMeControllers(files(t, contents))
	want := []NVMeController{
		{"nvme0", "SAMSUNG MZALC4T0HBL1-00B07", "NXHB202Q", []string{"nvme0n1"}},
		{"nvme10", "Dual Port", "1", []string{"nvme2n1", "nvme2n2"}},
		{"nvme11", "No Firmware", "", []string{"nvme11n1"}},
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got  %+v\nwant %+v", got, want)
	}
	if err == nil || !strings.Contains(err.Error(), "nvme11/firmware_rev") {
		t.Errorf("the error does not name what is missing: %v", err)
	}
}

func TestControllersAreFoundThroughLinks(t *testing.T) {
	fsys := fstest.MapFS{"class/nvme/nvme0": link("../../devices/pci0004:00/0004:01:00.0/nvme/nvme0")}
	for name, text := range nvmeFiles() {
		real := strings.Replace(name, "class/nvme/", "devices/pci0004:00/0004:01:00.0/nvme/", 1)
		fsys[real] = &fstest.MapFile{Data: []byte(text)}
	}
	sys := onDisk(t, fsys)
	controllers, err := ReadNVMeControllers(sys)
	if err != nil || len(controllers) != 1 || len(controllers[0].Devices) != 1 {
		t.Errorf("%+v, %v", controllers, err)
	}
	if sensors, err := ReadNVMeTemperatures(sys, "nvme0"); err != nil || len(sensors) != 3 {
		t.Errorf("%+v, %v", sensors, err)
	}
}

func TestOnlyNamespacesAreNVMeNamespaces(t *testing.T) {
	for device, want := range map[string]bool{
		"nvme0n1": true, "nvme12n34": true, "nvme0n1p2": false, "nvme0c1n1": false, "nvme0": false,
		"loop0": false, "vda": false, "xnvme0n1": false, "nvme0n1 ": false, "": false,
	} {
		if got := IsNVMeNamespace(device); got != want {
			t.Errorf("%q: %v", device, got)
		}
	}
}

func TestCapacityIsInSectorsOf512Bytes(t *testing.T) {
	sys := files(t, map[string]string{"class/block/nvme0n1/size": "8001573552\n", "class/block/bad/size": "18446744073709551615\n"})
	if got, err := ReadBlockDeviceBytes(sys, "nvme0n1"); got != 4096805658624 || err != nil {
		t.Errorf("%d, %v", got, err)
	}
	if got, err := ReadBlockDeviceBytes(sys, "bad"); err == nil {
		t.Errorf("a size beyond all sizes: %d", got)
	}
}
