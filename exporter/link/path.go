// Package link measures the path to another machine by TCP streams, and finds the cause if it is slower than its
// network card: the route, the MTU, the PCIe link, traffic shaping, lost packets, one stream.
package link

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/umascope/umascope/exporter/hostfs"
)

// DefaultPort is where a listener is expected.
const DefaultPort = 10424

// Interface is a network interface as the machine describes it.
type Interface struct {
	Name string
	MTU  int
	// RDMA is the device of the same function, such as rocep1s0f0; "" without one. On a GB10 machine it marks the
	// ConnectX.
	RDMA string
	// Up reports whether frames can pass; BytesPerSecond is the speed of the link, 0 if unknown.
	Up             bool
	BytesPerSecond float64
	PCIe           hostfs.PCIeLink
	// Queueing are its queueing disciplines.
	Queueing []string
	// Errors are frames that were damaged or dropped, and PCIe errors, since the driver was loaded.
	Errors uint64
}

// PCIeBytesPerSecond is what the PCIe link carries each way before the headers of its packets, 0 if unknown.
func (i Interface) PCIeBytesPerSecond() float64 {
	if i.PCIe.Lanes == nil || i.PCIe.Generation == nil {
		return 0
	}
	// Gigatransfers a second and lane, and their share of data (PCI Express Base Specification).
	rates := []float64{2.5 * 8 / 10, 5. * 8 / 10, 8. * 128 / 130, 16. * 128 / 130, 32. * 128 / 130, 64. * 242 / 256}
	return float64(*i.PCIe.Lanes) * rates[*i.PCIe.Generation-1] * 1e9 / 8
}

// Most is the least of the speeds of link and PCIe, 0 if neither is known.
func (i Interface) Most() float64 {
	most := i.BytesPerSecond
	if pcie := i.PCIeBytesPerSecond(); pcie > 0 && (most == 0 || pcie < most) {
		most = pcie
	}
	return most
}

// Path is the way to another machine.
type Path struct {
	To netip.Addr
	// By is the interface that packets take.
	By Interface
	// Fabric are other interfaces with RDMA that are up.
	Fabric []Interface
	// Rates are of few streams and of many; empty if nothing was measured.
	Rates []Rate
	// NewErrors are frames and PCIe transfers of By that failed while it was measured.
	NewErrors uint64
}

// Find finds the path to an address.
func Find(sys hostfs.Dir, to netip.Addr) (Path, error) {
	index, err := route(to)
	if err != nil {
		return Path{}, fmt.Errorf("no route to %s: %w", to, err)
	}
	by, err := net.InterfaceByIndex(index)
	if err != nil {
		return Path{}, err
	}
	hardware, err := readInterfaces(sys)
	if err != nil {
		return Path{}, err
	}
	path := Path{To: to, By: hardware[by.Name]}
	path.By.Name, path.By.MTU, path.By.Up = by.Name, by.MTU, by.Flags&net.FlagRunning != 0
	if path.By.Queueing, err = queueing(index); err != nil {
		return Path{}, err
	}
	for _, other := range hardware {
		if other.Name != by.Name && other.RDMA != "" && other.Up {
			path.Fabric = append(path.Fabric, other)
		}
	}
	slices.SortFunc(path.Fabric, func(a, b Interface) int { return cmp.Compare(a.Name, b.Name) })
	return path, nil
}

// readInterfaces reads the interfaces that are hardware, by name. What cannot be read of one is absent: a path is
// measured all the same.
func readInterfaces(sys hostfs.Dir) (map[string]Interface, error) {
	all := map[string]Interface{}
	interfaces, err := hostfs.ReadNetworkInterfaces(sys)
	if err != nil && len(interfaces) == 0 {
		return nil, err
	}
	ports, _ := hostfs.ReadInfiniBandPorts(sys)
	devices, _ := hostfs.ReadPCIeDevices(sys)
	for _, one := range interfaces {
		i := Interface{Name: one.Device, Up: one.Up != nil && *one.Up}
		if one.MTU != nil {
			i.MTU = int(*one.MTU)
		}
		if one.BytesPerSecond != nil {
			i.BytesPerSecond = *one.BytesPerSecond
		}
		for _, count := range []*uint64{one.Receive.Errors, one.Receive.Dropped, one.Transmit.Errors, one.Transmit.Dropped} {
			if count != nil {
				i.Errors += *count
			}
		}
		for _, port := range ports {
			if port.Interface == one.Device {
				i.RDMA = port.Device
			}
		}
		for _, device := range devices {
			if device.Device == one.Device {
				i.PCIe = device.Link
				for _, count := range device.Errors {
					i.Errors += count
				}
			}
		}
		all[one.Device] = i
	}
	return all, nil
}

// streamCounts are the numbers of streams of the two measurements. Eight of an MTU of 9000 filled a port (owners'
// iperf3, 110 Gb/s).
var streamCounts = []int{1, 8}

// Measure measures the path to a listener.
func (p *Path) Measure(ctx context.Context, sys hostfs.Dir, port uint16, lasting time.Duration) error {
	for _, streams := range streamCounts {
		rate, err := Send(ctx, netip.AddrPortFrom(p.To, port), streams, lasting)
		if err != nil {
			return unreachable(err, p.To, port)
		}
		p.Rates = append(p.Rates, rate)
	}
	after, err := readInterfaces(sys)
	if now := after[p.By.Name].Errors; err == nil && now > p.By.Errors {
		p.NewErrors = now - p.By.Errors
	}
	return nil
}

// unreachable explains why no stream began.
func unreachable(err error, to netip.Addr, port uint16) error {
	var timeout net.Error
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Errorf("%s refuses port %d: start there first: uma-exporter doctor --link-listen=:%d", to, port, port)
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return fmt.Errorf("%s cannot be reached: no machine on that network has the address, or a firewall rejects", to)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Errorf("%s does not answer on port %d: a firewall drops it, or no machine has the address", to, port)
	}
	return fmt.Errorf("%s port %d: %w", to, port, err)
}

// shapers are the queueing disciplines that hold packets back (tc(8)); others only order them.
func shapers(kinds []string) []string {
	var found []string
	for _, kind := range kinds {
		if slices.Contains([]string{"tbf", "htb", "hfsc", "cbq", "netem", "cake"}, kind) && !slices.Contains(found, kind) {
			found = append(found, kind)
		}
	}
	return found
}

// Describe is an interface in a line.
func (i Interface) Describe() string {
	parts := []string{i.Name}
	if i.RDMA != "" {
		parts = append(parts, "RDMA "+i.RDMA)
	}
	if i.BytesPerSecond > 0 {
		parts = append(parts, Gigabits(i.BytesPerSecond))
	}
	if i.MTU > 0 {
		parts = append(parts, fmt.Sprintf("MTU %d", i.MTU))
	}
	if capacity := i.PCIeBytesPerSecond(); capacity > 0 {
		pcie := fmt.Sprintf("PCIe %d x%d", *i.PCIe.Generation, *i.PCIe.Lanes)
		if i.PCIe.LanesMax != nil && i.PCIe.GenerationMax != nil {
			pcie += fmt.Sprintf(" of %d x%d", *i.PCIe.GenerationMax, *i.PCIe.LanesMax)
		}
		parts = append(parts, pcie+" ("+Gigabits(capacity)+")")
	}
	if !i.Up {
		parts = append(parts, "down")
	}
	return strings.Join(parts, ", ")
}

// Gigabits formats a rate in Gb/s, the unit of cards and cables.
func Gigabits(bytesPerSecond float64) string {
	gigabits := bytesPerSecond * 8 / 1e9
	switch {
	case gigabits >= 100:
		return fmt.Sprintf("%.0f Gb/s", gigabits)
	case gigabits >= 1:
		return fmt.Sprintf("%.1f Gb/s", gigabits)
	}
	return fmt.Sprintf("%.3f Gb/s", gigabits)
}
