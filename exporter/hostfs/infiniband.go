package hostfs

import (
	"errors"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"
)

// InfiniBandPort is a port of an RDMA device, InfiniBand or Ethernet (RoCE). RDMA traffic over an Ethernet port is in
// no counter of its network interface. Nil is absent.
type InfiniBandPort struct {
	Device, Port string // such as mlx5_0 and 1
	// Interface is the network interface of the same function of the card, "" unless there is exactly one.
	Interface string
	// Up reports whether the port is in state active.
	Up *bool
	// BytesPerSecond is the link's capacity each way.
	BytesPerSecond *float64
	// ReceivedBytes and TransmittedBytes are the bytes that RDMA moved since the card was reset.
	ReceivedBytes, TransmittedBytes *uint64
	// Errors are the error counters of infinibandErrors that the port has.
	Errors []InfiniBandError
}

// InfiniBandError is a counter by the driver's name.
type InfiniBandError struct {
	Name  string
	Count uint64
}

// infinibandErrors are the error counters that are read. Those below hw_counters are mlx5's for RoCE: lost, late or
// unexpected packets, which the card sends again. Each file below counters costs a request to the card, so few are
// read.
func infinibandErrors() []string {
	return []string{
		"counters/port_rcv_errors", "counters/port_xmit_discards", "counters/symbol_error", "counters/link_downed",
		"hw_counters/out_of_sequence", "hw_counters/packet_seq_err", "hw_counters/local_ack_timeout_err",
		"hw_counters/rnr_nak_retry_err", "hw_counters/out_of_buffer",
	}
}

const infinibandClass = "class/infiniband"

// ReadInfiniBandPorts reads /sys/class/infiniband (Documentation/ABI/stable/sysfs-class-infiniband). A port that cannot
// be read whole is in the results with what could be read, and in the error. procfs gives all devices up for one that
// lacks a file, and reads every counter of the card.
//
//	class/infiniband/mlx5_0/ports/1/state                   4: ACTIVE
//	class/infiniband/mlx5_0/ports/1/rate                    200 Gb/sec (4X HDR)
//	class/infiniband/mlx5_0/ports/1/counters/port_rcv_data  52428800
func ReadInfiniBandPorts(sys Dir) ([]InfiniBandPort, error) {
	devices, err := sys.ReadDir(infinibandClass)
	if err != nil {
		return nil, err
	}
	var ports []InfiniBandPort
	var errs []error
	for _, device := range devices {
		entries, err := sys.ReadDir(infinibandClass + "/" + device.Name() + "/ports")
		if err != nil {
			errs = append(errs, unlessNoReading(err))
			continue
		}
		netdev := interfaceOf(sys, device.Name())
		for _, entry := range entries {
			port, err := readInfiniBandPort(sys, device.Name(), entry.Name())
			port.Interface = netdev
			ports, errs = append(ports, port), append(errs, err)
		}
	}
	return ports, errors.Join(errs...)
}

// interfaceOf finds the network interface of the RDMA device's PCI function.
func interfaceOf(sys Dir, device string) string {
	entries, err := sys.ReadDir(infinibandClass + "/" + device + "/device/net")
	if err != nil || len(entries) != 1 {
		return ""
	}
	return entries[0].Name()
}

func readInfiniBandPort(sys Dir, device, number string) (InfiniBandPort, error) {
	directory := infinibandClass + "/" + device + "/ports/" + number + "/"
	port := InfiniBandPort{Device: device, Port: number}
	var stateErr, rateErr, receivedErr, transmittedErr error
	port.Up, stateErr = parseFile(sys, directory+"state", parsePortState)
	port.BytesPerSecond, rateErr = parseFile(sys, directory+"rate", parsePortRate)
	port.ReceivedBytes, receivedErr = parseFile(sys, directory+"counters/port_rcv_data", parseWords)
	port.TransmittedBytes, transmittedErr = parseFile(sys, directory+"counters/port_xmit_data", parseWords)
	errs := []error{unlessNoReading(stateErr), unlessNoReading(rateErr), unlessNoReading(receivedErr), unlessNoReading(transmittedErr)}
	for _, file := range infinibandErrors() {
		count, err := parseFile(sys, directory+file, parsePortCounter)
		if err == nil && count != nil {
			port.Errors = append(port.Errors, InfiniBandError{path.Base(file), *count})
		}
		errs = append(errs, unlessNoReading(err))
	}
	return port, errors.Join(errs...)
}

// parsePortState parses the number of the logical link state, of which 4 lets data pass.
//
//	4: ACTIVE
func parsePortState(text string) (*bool, error) {
	number, _, found := strings.Cut(text, ":")
	state, err := strconv.ParseUint(number, 10, 8)
	if err != nil || !found {
		return nil, fmt.Errorf("%w: %s", errMalformed, excerpt(text))
	}
	const active = 4
	return new(state == active), nil
}

// parsePortRate parses the rate of the link to bytes per second.
//
//	200 Gb/sec (4X HDR)
func parsePortRate(text string) (*float64, error) {
	number, unit, _ := strings.Cut(strings.TrimSpace(text), " ")
	gigabits, err := strconv.ParseFloat(number, 64)
	if err != nil || !strings.HasPrefix(unit, "Gb/sec") || !(gigabits >= 0 && gigabits < 1e6) {
		return nil, fmt.Errorf("%w: %s", errMalformed, excerpt(text))
	}
	if gigabits == 0 {
		return nil, nil
	}
	return new(gigabits * 1e9 / 8), nil
}

// parsePortCounter parses a counter; nil if the card does not keep it.
//
//	N/A (no PMA)
func parsePortCounter(text string) (*uint64, error) {
	text = strings.TrimSpace(text)
	if strings.HasPrefix(text, "N/A") {
		return nil, nil
	}
	count, err := parseUint(text)
	if err != nil {
		return nil, fmt.Errorf("%w: %s", errMalformed, excerpt(text))
	}
	return &count, nil
}

// parseWords parses a counter of data to bytes: it counts words of 4 bytes, whatever the width of the port (InfiniBand
// Architecture Specification, PortCounters).
func parseWords(text string) (*uint64, error) {
	words, err := parsePortCounter(text)
	if words == nil || err != nil {
		return nil, err
	}
	if *words > math.MaxInt64/4 {
		return nil, fmt.Errorf("%w: %s", errMalformed, excerpt(text))
	}
	return new(*words * 4), nil
}
