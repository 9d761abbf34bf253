package hostfs

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// NetworkInterface is a network interface with hardware behind it. Nil is absent.
type NetworkInterface struct {
	Device            string // name, such as enp1s0f0np0
	Receive, Transmit NetworkTraffic
	// Up reports whether frames can pass.
	Up *bool
	// BytesPerSecond is the link's capacity each way.
	BytesPerSecond *float64
	// MTU is the largest packet that the interface sends, in bytes, without the Ethernet header.
	MTU *uint64
}

// NetworkTraffic is the traffic in one direction since the driver was loaded. Dropped frames were intact but lacked
// room; on receive they include those that found no room in the card, as in /proc/net/dev.
type NetworkTraffic struct{ Bytes, Errors, Dropped *uint64 }

const netClass = "class/net"

// ReadNetworkInterfaces reads the interfaces in /sys/class/net that belong to a device; bridges, bonds, tunnels and the
// virtual cables of containers pass on what these carry. An interface that cannot be read whole is in the results with
// what could be read, and in the error.
//
// It reads sysfs and not /proc/net/dev, because that file shows the network namespace of the process that opens it,
// also in a procfs mounted from the host, while a sysfs shows the namespace in which it was mounted. The library procfs
// reads none of the traffic there, but every attribute, hardware addresses too, and gives an interface up for one.
//
//	class/net/enp1s0f0np0                      link to ../../devices/pci0000:00/.../net/enp1s0f0np0
//	class/net/enp1s0f0np0/statistics/rx_bytes  104857600
func ReadNetworkInterfaces(sys Dir) ([]NetworkInterface, error) {
	names, err := listNetworkInterfaces(sys)
	if err != nil {
		return nil, err
	}
	interfaces := make([]NetworkInterface, len(names))
	errs := make([]error, len(names))
	for i, name := range names {
		interfaces[i], errs[i] = readNetworkInterface(sys, name)
	}
	return interfaces, errors.Join(errs...)
}

// HasNetworkHardware reports whether an interface with hardware behind it is visible. In a network namespace of a
// container there is none.
func HasNetworkHardware(sys Dir) bool {
	names, err := listNetworkInterfaces(sys)
	return err == nil && len(names) > 0
}

// listNetworkInterfaces lists the interfaces that are not virtual; virtual ones are below devices/virtual.
func listNetworkInterfaces(sys Dir) ([]string, error) {
	entries, err := sys.ReadDir(netClass)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, entry := range entries {
		target, err := sys.ReadLink(netClass + "/" + entry.Name())
		if err == nil && !strings.Contains(target, "/virtual/") {
			names = append(names, entry.Name())
		}
	}
	return names, nil
}

func readNetworkInterface(sys Dir, name string) (NetworkInterface, error) {
	path := netClass + "/" + name
	found := NetworkInterface{Device: name}
	var missed *uint64
	var errs []error
	for _, statistic := range []struct {
		file string
		to   **uint64
	}{
		{"rx_bytes", &found.Receive.Bytes}, {"rx_errors", &found.Receive.Errors}, {"rx_dropped", &found.Receive.Dropped},
		{"tx_bytes", &found.Transmit.Bytes}, {"tx_errors", &found.Transmit.Errors}, {"tx_dropped", &found.Transmit.Dropped},
		{"rx_missed_errors", &missed},
	} {
		value, err := readUint(sys, path+"/statistics/"+statistic.file)
		if err == nil {
			*statistic.to = &value
		}
		errs = append(errs, unlessNoReading(err))
	}
	if missed != nil && found.Receive.Dropped != nil {
		*found.Receive.Dropped += *missed
	}
	found.Up = linkState(attribute(sys, path+"/operstate"))
	speed, speedErr := parseFile(sys, path+"/speed", parseLinkSpeed)
	found.BytesPerSecond = speed
	mtu, mtuErr := readUint(sys, path+"/mtu")
	if mtuErr == nil {
		found.MTU = &mtu
	}
	return found, errors.Join(append(errs, unlessNoReading(speedErr), unlessNoReading(mtuErr))...)
}

// linkState is nil for the drivers, mostly of virtual machines, that leave the state unknown
// (Documentation/networking/operstates.rst).
func linkState(operstate string) *bool {
	switch operstate {
	case "up":
		return new(true)
	case "down", "lowerlayerdown", "notpresent", "dormant", "testing":
		return new(false)
	}
	return nil
}

// parseLinkSpeed parses Mb/s to bytes per second; nil is an unknown speed, which the kernel prints as -1, or 4294967295
// before 3.18. The read fails with EINVAL while the interface is down.
//
//	200000
func parseLinkSpeed(text string) (*float64, error) {
	megabits, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errMalformed, excerpt(text))
	}
	if megabits <= 0 || megabits >= 1<<31 {
		return nil, nil
	}
	return new(float64(megabits) * 1e6 / 8), nil
}
