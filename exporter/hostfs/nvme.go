package hostfs

import (
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
)

// NVMeController is one NVMe controller. Serial numbers are not read: no figure needs them.
type NVMeController struct {
	// Name is the kernel's, such as nvme0.
	Name            string
	Model, Firmware string
	// Devices are the block devices of its namespaces, such as nvme0n1, in order.
	Devices []string
}

// IsNVMeNamespace reports whether a block device is an NVMe namespace: nvme0n1 is one; the partition nvme0n1p2 is not,
// nor is nvme0c1n1, one of several paths to a namespace.
func IsNVMeNamespace(device string) bool { return nvmeNamespace.MatchString(device) }

var (
	nvmeNamespace  = regexp.MustCompile(`^nvme[0-9]+n[0-9]+$`)
	nvmePath       = regexp.MustCompile(`^(nvme[0-9]+)c[0-9]+(n[0-9]+)$`)
	nvmeController = regexp.MustCompile(`^nvme[0-9]+$`)
)

// ReadNVMeControllers reads /sys/class/nvme, in order of names. A controller that cannot be read whole is in the
// results with what could be read, and in the error. A machine without NVMe gives fs.ErrNotExist or an empty list. procfs
// gives all controllers up for one that lacks a file, and reads their serial numbers.
//
//	class/nvme/nvme0/model         SAMSUNG MZALC4T0HBL1-00B07
//	class/nvme/nvme0/firmware_rev  NXHB202Q
func ReadNVMeControllers(sys Dir) ([]NVMeController, error) {
	entries, err := sys.ReadDir("class/nvme")
	if err != nil {
		return nil, err
	}
	var controllers []NVMeController
	var errs []error
	for _, entry := range entries {
		if nvmeController.MatchString(entry.Name()) {
			controller, err := readNVMeController(sys, entry.Name())
			controllers, errs = append(controllers, controller), append(errs, err)
		}
	}
	return controllers, errors.Join(errs...)
}

func readNVMeController(sys Dir, name string) (NVMeController, error) {
	path := "class/nvme/" + name
	model, modelErr := readText(sys, path+"/model")
	firmware, firmwareErr := readText(sys, path+"/firmware_rev")
	entries, listErr := sys.ReadDir(path)
	controller := NVMeController{Name: name, Model: model, Firmware: firmware}
	for _, entry := range entries {
		if device := namespaceOf(entry.Name()); device != "" {
			controller.Devices = append(controller.Devices, device)
		}
	}
	slices.Sort(controller.Devices)
	return controller, errors.Join(modelErr, firmwareErr, listErr)
}

// namespaceOf returns the block device of an entry below a controller, "" if it is something else. With multipath the
// entry is a hidden path, nvme<subsystem>c<controller>n<namespace>, and the device is nvme<subsystem>n<namespace>.
func namespaceOf(entry string) string {
	if IsNVMeNamespace(entry) {
		return entry
	}
	if parts := nvmePath.FindStringSubmatch(entry); parts != nil {
		return parts[1] + parts[2]
	}
	return ""
}

// NVMeTemperature is one sensor of a controller, in degrees Celsius. A nil limit is not set.
type NVMeTemperature struct {
	// Sensor is composite, sensor_1 and so on; the limits of the controller apply to composite.
	Sensor            string
	Celsius           float64
	Warning, Critical *float64
}

// ReadNVMeTemperatures reads the sensors of a controller from its hwmon chip, in millidegrees; none before kernel 5.5.
// Each call makes the drive compose its SMART log page: call it at most about every half minute. A sensor that cannot
// be read is left out and in the error.
//
//	class/nvme/nvme0/hwmon3/temp1_label  Composite
//	class/nvme/nvme0/hwmon3/temp1_input  41850
//	class/nvme/nvme0/hwmon3/temp1_crit   84850
func ReadNVMeTemperatures(sys Dir, controller string) ([]NVMeTemperature, error) {
	chip, err := hwmonOf(sys, "class/nvme/"+controller)
	if err != nil || chip == "" {
		return nil, err
	}
	entries, err := sys.ReadDir(chip)
	if err != nil {
		return nil, err
	}
	var temperatures []NVMeTemperature
	var errs []error
	for _, entry := range entries {
		sensor, isInput := strings.CutSuffix(entry.Name(), "_input")
		if !isInput || !strings.HasPrefix(sensor, "temp") {
			continue
		}
		temperature, err := readNVMeTemperature(sys, chip+"/"+sensor)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		temperatures = append(temperatures, temperature)
	}
	return temperatures, errors.Join(errs...)
}

// hwmonOf finds the hwmon chip of an NVMe controller: below the controller, or below its PCI
// device on kernels before 5.9; "" if it has none.
func hwmonOf(sys Dir, controller string) (string, error) {
	for _, parent := range []string{controller, controller + "/device/hwmon"} {
		entries, err := sys.ReadDir(parent)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "", err
		}
		for _, entry := range entries {
			if strings.HasPrefix(entry.Name(), "hwmon") && entry.Name() != "hwmon" {
				return parent + "/" + entry.Name(), nil
			}
		}
	}
	return "", nil
}

func readNVMeTemperature(sys Dir, sensor string) (NVMeTemperature, error) {
	label, err := readText(sys, sensor+"_label")
	if errors.Is(err, fs.ErrNotExist) {
		label = sensor[strings.LastIndex(sensor, "/")+1:]
	} else if err != nil {
		return NVMeTemperature{}, err
	}
	now, err := driveThermometer().read(sys, sensor+"_input")
	if err != nil {
		return NVMeTemperature{}, err
	}
	if now == nil {
		return NVMeTemperature{}, fmt.Errorf("%s_input: %w: no temperature", sensor, errMalformed)
	}
	warning, warningErr := readLimit(sys, sensor+"_max")
	critical, criticalErr := readLimit(sys, sensor+"_crit")
	return NVMeTemperature{
		Sensor:  strings.ReplaceAll(strings.ToLower(label), " ", "_"),
		Celsius: *now, Warning: warning, Critical: critical,
	}, errors.Join(warningErr, criticalErr)
}

func readLimit(sys Dir, name string) (*float64, error) {
	limit, err := driveThermometer().read(sys, name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return limit, err
}
