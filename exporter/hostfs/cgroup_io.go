package hostfs

import (
	"fmt"
	"path"
	"strings"
)

// DeviceIO is the I/O of a cgroup and all below it on one block device since the cgroup was made.
type DeviceIO struct {
	// Device is the number of the device, such as 259:0.
	Device                  string
	Reads, Writes, Discards IOCount
}

// IOCount is an amount of I/O in one direction.
type IOCount struct{ Bytes, Operations uint64 }

// parseIOStat parses io.stat of cgroup v2 (Documentation/admin-guide/cgroup-v2.rst), in the order of its lines:
//
//	259:0 rbytes=13220446208 wbytes=41908961280 rios=12608 wios=40124 dbytes=0 dios=0
//
// The cost and latency controllers add keys of their own, which are not read. Kernels print three more forms, all seen
// on machines: a device that has done nothing as a bare number before the next one (7:7 7:6 7:5 rbytes=…), a bare
// number without an end of line while the cgroup is being made, and (unknown) for the hidden paths of an NVMe drive
// with several, whose requests the drive itself counts.
func parseIOStat(text string) ([]DeviceIO, error) {
	var devices []DeviceIO
	if strings.HasSuffix(text, " ") {
		// The bare number of the second form: the entry before it is complete.
		text = text[:strings.LastIndexByte(text, '\n')+1]
	}
	err := parseLines(text, func(line string) error {
		device, counted, err := parseDeviceIO(line)
		if counted && err == nil {
			devices = append(devices, device)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return devices, nil
}

// parseDeviceIO parses a line; counted reports whether it has any counter.
func parseDeviceIO(line string) (device DeviceIO, counted bool, err error) {
	for field := range strings.FieldsSeq(line) {
		key, number, isPair := strings.Cut(field, "=")
		if !isPair {
			if counted || !isDeviceNumber(field) && field != unknownDevice {
				return DeviceIO{}, false, errMalformed
			}
			device.Device = field
			continue
		}
		count := device.count(key)
		if count == nil {
			continue
		}
		if *count, err = parseUint(number); err != nil || device.Device == "" {
			return DeviceIO{}, false, errMalformed
		}
		counted = true
	}
	return device, counted && device.Device != unknownDevice, nil
}

const unknownDevice = "(unknown)"

// count returns the field for a key, nil for keys that are not read.
func (d *DeviceIO) count(key string) *uint64 {
	switch key {
	case "rbytes":
		return &d.Reads.Bytes
	case "rios":
		return &d.Reads.Operations
	case "wbytes":
		return &d.Writes.Bytes
	case "wios":
		return &d.Writes.Operations
	case "dbytes":
		return &d.Discards.Bytes
	case "dios":
		return &d.Discards.Operations
	}
	return nil
}

func isDeviceNumber(text string) bool {
	major, minor, isPair := strings.Cut(text, ":")
	_, majorErr := parseUint(major)
	_, minorErr := parseUint(minor)
	return isPair && majorErr == nil && minorErr == nil
}

// BlockDeviceName is the kernel's name of the block device with a number such as 259:0, by the link that sysfs has for
// it. A device that is gone, or hidden from the reader, is an error.
//
//	/sys/dev/block/259:0 -> ../../devices/pci0004:00/0004:00:00.0/0004:01:00.0/nvme/nvme0/nvme0n1
func BlockDeviceName(sys Dir, number string) (string, error) {
	if !isDeviceNumber(number) {
		return "", fmt.Errorf("%w: %s is not the number of a device", errMalformed, excerpt(number))
	}
	target, err := sys.ReadLink("dev/block/" + number)
	if err != nil {
		return "", err
	}
	return path.Base(target), nil
}
