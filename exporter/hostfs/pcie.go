package hostfs

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"
)

// PCIeDevice is a network card, an NVMe drive or a GPU on PCI Express; of a card with several functions, one function.
// Nil is absent.
type PCIeDevice struct {
	// Address is the kernel's, such as 0000:01:00.0.
	Address string
	// Device is the network interface or the NVMe controller, "" for a GPU, which has no name in the kernel.
	Device string
	// Link is that of a network card or a drive; a GPU's is read from its driver.
	Link PCIeLink
	// Errors are what Advanced Error Reporting has counted, by PCIeErrorKinds; nil without such counters.
	Errors map[string]uint64
}

// PCIeLink is a link as it runs and as the device allows. The slot may allow less. A nil value is not known.
type PCIeLink struct {
	Lanes, LanesMax           *uint64
	Generation, GenerationMax *uint64
}

// PCIeErrorKinds are the kinds of errors that the kernel counts apart.
func PCIeErrorKinds() []string { return []string{"correctable", "nonfatal", "fatal"} }

var pciAddress = regexp.MustCompile(`^[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]$`)

// ReadPCIeDevices reads the PCI functions behind /sys/class/net, /sys/class/nvme and the NVIDIA driver. A function that
// has neither a link nor counters, as in a virtual machine, is left out. One that cannot be read whole is in the results
// with what could be read, and in the error. procfs reads no counters of errors.
//
//	class/net/enp1s0f0np0/device                       link to ../../../0000:01:00.0
//	class/net/enp1s0f0np0/device/current_link_width    4
//	class/net/enp1s0f0np0/device/max_link_speed        32.0 GT/s PCIe
//	class/net/enp1s0f0np0/device/aer_dev_fatal         TOTAL_ERR_FATAL 0
func ReadPCIeDevices(sys Dir) ([]PCIeDevice, error) {
	var devices []PCIeDevice
	var errs []error
	add := func(directory string, found PCIeDevice, gpu bool) {
		var err error
		if !gpu {
			found.Link, err = readPCIeLink(sys, directory)
		}
		errs = append(errs, err)
		found.Errors, err = readPCIeErrors(sys, directory)
		errs = append(errs, err)
		if found.Link != (PCIeLink{}) || found.Errors != nil {
			devices = append(devices, found)
		}
	}
	for _, class := range []string{netClass, "class/nvme"} {
		entries, err := sys.ReadDir(class)
		errs = append(errs, unlessMissing(err))
		for _, entry := range entries {
			directory := class + "/" + entry.Name() + "/device"
			if target, err := sys.ReadLink(directory); err == nil && pciAddress.MatchString(path.Base(target)) {
				add(directory, PCIeDevice{Address: path.Base(target), Device: entry.Name()}, false)
			}
		}
	}
	const driver = "bus/pci/drivers/nvidia"
	entries, err := sys.ReadDir(driver)
	errs = append(errs, unlessMissing(err))
	for _, entry := range entries {
		if pciAddress.MatchString(entry.Name()) {
			add(driver+"/"+entry.Name(), PCIeDevice{Address: entry.Name()}, true)
		}
	}
	return devices, errors.Join(errs...)
}

func readPCIeLink(sys Dir, directory string) (link PCIeLink, err error) {
	var errs []error
	for _, value := range []struct {
		file  string
		to    **uint64
		parse func(string) (*uint64, error)
	}{
		{"current_link_width", &link.Lanes, parseLanes}, {"max_link_width", &link.LanesMax, parseLanes},
		{"current_link_speed", &link.Generation, parseTransferRate}, {"max_link_speed", &link.GenerationMax, parseTransferRate},
	} {
		read, err := parseFile(sys, directory+"/"+value.file, value.parse)
		*value.to = read
		errs = append(errs, unlessNoReading(err))
	}
	return link, errors.Join(errs...)
}

// parseLanes parses the width of a link; nil is unknown, which the kernel prints as 0, or 255 for a virtual function.
//
//	4
func parseLanes(text string) (*uint64, error) {
	lanes, err := parseUint(strings.TrimSpace(text))
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errMalformed, excerpt(text))
	}
	const most = 32 // PCI Express Base Specification, Link Capabilities
	if lanes == 0 || lanes > most {
		return nil, nil
	}
	return &lanes, nil
}

// parseTransferRate parses the speed of a link to its generation; nil is a speed of no generation. Older kernels print
// "8 GT/s" and "Unknown speed" where newer ones print "8.0 GT/s PCIe" and "Unknown".
//
//	32.0 GT/s PCIe
func parseTransferRate(text string) (*uint64, error) {
	text = strings.TrimSpace(text)
	number, unit, _ := strings.Cut(text, " ")
	if strings.HasPrefix(text, "Unknown") {
		return nil, nil
	}
	rate, err := strconv.ParseFloat(number, 64)
	if err != nil || unit != "GT/s" && unit != "GT/s PCIe" {
		return nil, fmt.Errorf("%w: %s", errMalformed, excerpt(text))
	}
	for i, known := range []float64{2.5, 5, 8, 16, 32, 64} {
		if rate == known {
			return new(uint64(i + 1)), nil
		}
	}
	return nil, nil
}

// readPCIeErrors is nil on a kernel before 4.19, or where firmware keeps the reports to itself.
func readPCIeErrors(sys Dir, directory string) (map[string]uint64, error) {
	var counts map[string]uint64
	var errs []error
	for _, kind := range PCIeErrorKinds() {
		count, err := parseFile(sys, directory+"/aer_dev_"+kind, parseErrorTotal)
		if err != nil {
			errs = append(errs, unlessNoReading(err))
			continue
		}
		if counts == nil {
			counts = map[string]uint64{}
		}
		counts[kind] = count
	}
	return counts, errors.Join(errs...)
}

// parseErrorTotal parses the last line of a file of counters, which is their total.
//
//	RxErr 0
//	BadTLP 3
//	TOTAL_ERR_COR 3
func parseErrorTotal(text string) (uint64, error) {
	counters, err := parseKeyed(text)
	if err != nil {
		return 0, err
	}
	for _, name := range []string{"TOTAL_ERR_COR", "TOTAL_ERR_NONFATAL", "TOTAL_ERR_FATAL"} {
		if total, is := counters[name]; is {
			return total, nil
		}
	}
	return 0, fmt.Errorf("%w: no total", errMalformed)
}
