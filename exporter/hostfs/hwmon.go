package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// HwmonChip is a sensor chip, or a device that a driver shows as one.
type HwmonChip struct {
	// Name is the driver's, such as mlx5; Device the address of what it measures, such as
	// 0000:01:00.0, "" for a chip that belongs to no device.
	Name, Device string
	// Temperatures are in degrees Celsius, Powers in watts, Energies in joules since the chip began to count.
	// PowerLimits are the limits that the chip enforces on the power of a sensor, in watts.
	Temperatures, Powers, PowerLimits, Energies []HwmonReading
	// SPBM is set for a chip of that driver.
	SPBM *SPBMStatus

	entry string // such as hwmon3, numbered in the order of loading
}

// HwmonReading is one sensor of a chip. Sensor is its label, such as asic. If the driver gives no label, or the same
// label to several sensors, it is the channel, such as temp1.
type HwmonReading struct {
	Sensor string
	Value  float64

	channel string
}

// SPBMStatus is what the out-of-tree driver of a DGX Spark's power manager reports in addition to sensors; nil is
// absent (antheas/spark_hwmon, spbm.c). Its tj_max_c is not read: by name a temperature, by its documentation a rise
// above ambient in tenths of a degree.
type SPBMStatus struct {
	// ProcHot is 0 unless the firmware throttles for heat.
	ProcHot *uint64
	// PowerLimitLevel is the number of the power limit in force.
	PowerLimitLevel *uint64
}

const hwmonClass = "class/hwmon"

// ReadHwmonChips reads /sys/class/hwmon (Documentation/hwmon/sysfs-interface.rst): millidegrees,
// microwatts, microjoules. A sensor that fails is left out and in the error, one that has no reading
// now is left out. So are two kinds of chip: NVMe drives, which compose a log page for each reading
// and are read by ReadNVMeTemperatures, and thermal zones, which are shown a second time as chips.
//
//	class/hwmon/hwmon4/name          spbm
//	class/hwmon/hwmon4/power1_label  sys_total
//	class/hwmon/hwmon4/power1_input  25300000
func ReadHwmonChips(sys Dir) ([]HwmonChip, error) {
	entries, err := sys.ReadDir(hwmonClass)
	if err != nil {
		return nil, err
	}
	var chips []HwmonChip
	var errs []error
	for _, entry := range entries {
		chip := HwmonChip{entry: entry.Name()}
		chip.Name, err = readText(sys, hwmonClass+"/"+chip.entry+"/name")
		if err != nil {
			errs = append(errs, unlessNoReading(err))
			continue
		}
		if target, err := sys.ReadLink(hwmonClass + "/" + chip.entry + "/device"); err == nil {
			chip.Device = path.Base(target)
		}
		if chip.Name != "nvme" && !strings.HasPrefix(chip.Device, thermalZoneName) {
			errs = append(errs, chip.read(sys))
			chips = append(chips, chip)
		}
	}
	return chips, errors.Join(errs...)
}

// HwmonNames returns distinct names for the chips: the driver's alone if the machine has one such chip, with the device
// if it has several.
func HwmonNames(chips []HwmonChip) []string {
	names := make([]string, len(chips))
	for _, nameOf := range []func(HwmonChip) string{
		func(c HwmonChip) string { return c.Name + "-" + c.entry },
		func(c HwmonChip) string { return c.Name + "-" + c.Device },
		func(c HwmonChip) string { return c.Name },
	} {
		times := map[string]int{}
		for _, chip := range chips {
			times[nameOf(chip)]++
		}
		for i, chip := range chips {
			if name := nameOf(chip); times[name] == 1 {
				names[i] = name
			}
		}
	}
	return names
}

// hwmonInput is a file with a reading. Where the driver has no input file for a power, average is its mean over a
// while. The few chips that have both are read from input, as other tools do.
var hwmonInput = regexp.MustCompile(`^((temp|power|energy)[0-9]+)_(input|average|cap)$`)

func (c *HwmonChip) read(sys Dir) error {
	directory := hwmonClass + "/" + c.entry
	entries, err := sys.ReadDir(directory)
	if err != nil {
		return unlessNoReading(err)
	}
	files := make(map[string]bool, len(entries))
	for _, entry := range entries {
		files[entry.Name()] = true
	}
	var errs []error
	for _, entry := range entries {
		if parts := hwmonInput.FindStringSubmatch(entry.Name()); parts != nil {
			errs = append(errs, c.readSensor(sys, directory, parts[1], parts[2]+"_"+parts[3], files))
		}
	}
	for _, readings := range [][]HwmonReading{c.Temperatures, c.Powers, c.PowerLimits, c.Energies} {
		nameByChannel(readings)
	}
	if c.Name == "spbm" {
		status, err := readSPBM(sys, directory)
		c.SPBM, errs = status, append(errs, err)
	}
	return errors.Join(errs...)
}

// readSensor reads one value of a channel such as power1.
func (c *HwmonChip) readSensor(sys Dir, directory, channel, kind string, files map[string]bool) error {
	to := map[string]*[]HwmonReading{
		"temp_input": &c.Temperatures, "power_input": &c.Powers, "power_average": &c.Powers,
		"power_cap": &c.PowerLimits, "energy_input": &c.Energies,
	}[kind]
	if to == nil || kind == "power_average" && files[channel+"_input"] {
		return nil
	}
	at := directory + "/" + channel
	if files[channel+"_fault"] && attribute(sys, at+"_fault") == "1" {
		return nil // the pin of the chip is not connected
	}
	value, err := readHwmonValue(sys, at+kind[strings.IndexByte(kind, '_'):], kind)
	if err != nil || value == nil {
		return unlessNoReading(err)
	}
	label := ""
	if files[channel+"_label"] {
		label = strings.ReplaceAll(strings.ToLower(attribute(sys, at+"_label")), " ", "_")
	}
	*to = append(*to, HwmonReading{label, *value, channel})
	return nil
}

// nameByChannel names sensors that have no label, or the label of another sensor, by their channels.
func nameByChannel(readings []HwmonReading) {
	times := map[string]int{}
	for _, reading := range readings {
		times[reading.Sensor]++
	}
	for i, reading := range readings {
		if reading.Sensor == "" || times[reading.Sensor] > 1 {
			readings[i].Sensor = reading.channel
		}
	}
}

// readHwmonValue reads a value in base units; nil is absent. A limit of 0 is not set.
func readHwmonValue(sys Dir, name, kind string) (*float64, error) {
	if kind == "temp_input" {
		return chipThermometer().read(sys, name)
	}
	value, err := parseFile(sys, name, parseMicro)
	if err != nil || kind == "power_cap" && value == 0 {
		return nil, err
	}
	return &value, nil
}

// parseMicro parses microwatts or microjoules, neither of which is negative.
//
//	25300000
func parseMicro(text string) (float64, error) {
	micro, err := strconv.ParseUint(strings.TrimSpace(text), 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%w: %s", errMalformed, excerpt(text))
	}
	return float64(micro) / 1e6, nil
}

// readSPBM reads the attributes of the driver from the chip, or from its ACPI device, where other tools look for them.
func readSPBM(sys Dir, chip string) (*SPBMStatus, error) {
	first := func(attribute string) (*uint64, error) {
		value, err := readUint(sys, chip+"/"+attribute)
		if errors.Is(err, fs.ErrNotExist) {
			value, err = readUint(sys, chip+"/device/"+attribute)
		}
		if err != nil {
			return nil, unlessNoReading(err)
		}
		return &value, nil
	}
	procHot, procHotErr := first("prochot")
	level, levelErr := first("pl_level")
	return &SPBMStatus{procHot, level}, errors.Join(procHotErr, levelErr)
}
