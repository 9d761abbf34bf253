// Package hosts finds machines that announce ssh by multicast DNS on the networks of this machine, and writes them in
// formats that other programs read: an MPI hostfile, targets for Prometheus, JSON. Answers are untrusted: a name that
// is not a plain host name is refused, an address must be private and of the network that it came from, and only the
// requested hosts are written.
//
// DGX OS announces _ssh._tcp through Avahi, and NVIDIA's own script looks for that service.
//
// The wire format and the sockets are golang.org/x/net's. Libraries that also browse were examined and not used (Nov
// 2026): brutella/dnssd asks once and reports the addresses of the first packet only, hashicorp/mdns keeps one address
// of a host and listens on one interface, libp2p/zeroconf does not report interfaces, and pion/mdns asks from a port of
// its own, whose answers are dropped by a firewall that lets multicast DNS pass.
package hosts

import (
	"cmp"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"path"
	"slices"
	"strings"
)

// Interface has the kernel's data of a network interface.
type Interface struct {
	Name     string
	Index    int
	Flags    net.Flags
	Prefixes []netip.Prefix // its addresses, each with the network it is in
}

// Link is an interface with data from sysfs, and whether it leads to other machines.
type Link struct {
	Interface
	// Driver and RDMA devices are those of the hardware; both are empty without hardware, as for a bridge.
	Driver string
	RDMA   []string
	// Idle is why the link is not asked; empty if it is.
	Idle string
	// Minor is true if skipping the link needs no message: it leads only to this machine.
	Minor bool
}

// Fabric reports whether this is a ConnectX or another RDMA port: on a Spark, the link to the next Spark.
func (l Link) Fabric() bool { return strings.HasPrefix(l.Driver, "mlx5") || len(l.RDMA) > 0 }

// String names the link, and its hardware if it matters.
func (l Link) String() string {
	if !l.Fabric() {
		return l.Name
	}
	return fmt.Sprintf("%s (%s)", l.Name, strings.Join(slices.DeleteFunc(append([]string{l.Driver}, l.RDMA...), func(s string) bool { return s == "" }), ", "))
}

// Holds reports whether an address belongs to a network of the link.
func (l Link) Holds(addr netip.Addr) bool {
	addr = addr.WithZone("")
	if addr.Is6() && addr.IsLinkLocalUnicast() {
		return true // every IPv6 link has that network
	}
	return slices.ContainsFunc(l.Prefixes, func(p netip.Prefix) bool { return p.Contains(addr) })
}

// Own reports whether an address is this machine's.
func (l Link) Own(addr netip.Addr) bool {
	return slices.ContainsFunc(l.Prefixes, func(p netip.Prefix) bool { return p.Addr() == addr.WithZone("") })
}

// System returns the interfaces of this machine.
func System() ([]Interface, error) {
	found, err := net.Interfaces()
	if err != nil {
		return nil, fmt.Errorf("network interfaces: %w", err)
	}
	all := make([]Interface, 0, len(found))
	for _, i := range found {
		addrs, err := i.Addrs()
		if err != nil {
			continue // it was removed between the two reads
		}
		one := Interface{Name: i.Name, Index: i.Index, Flags: i.Flags}
		for _, addr := range addrs {
			if p, err := netip.ParsePrefix(addr.String()); err == nil {
				one.Prefixes = append(one.Prefixes, p)
			}
		}
		all = append(all, one)
	}
	return all, nil
}

// Links adds data from sysfs, rooted at sys, to each interface, and sorts them: fabric first, then hardware, then the
// rest.
func Links(sys fs.FS, interfaces []Interface) []Link {
	links := make([]Link, 0, len(interfaces))
	for _, i := range interfaces {
		l := Link{Interface: i}
		dir := path.Join("class/net", i.Name)
		l.Driver = driver(sys, path.Join(dir, "device/uevent"))
		l.RDMA = children(sys, path.Join(dir, "device/infiniband"))
		l.Idle, l.Minor = idle(sys, dir, l)
		links = append(links, l)
	}
	rank := func(l Link) int {
		switch {
		case l.Fabric():
			return 0
		case l.Driver != "":
			return 1
		}
		return 2
	}
	slices.SortStableFunc(links, func(a, b Link) int { return cmp.Or(rank(a)-rank(b), cmp.Compare(a.Name, b.Name)) })
	return links
}

// idle returns why a link is not asked, and whether that needs no message.
func idle(sys fs.FS, dir string, l Link) (why string, minor bool) {
	hardware := l.Driver != ""
	switch {
	case l.Flags&net.FlagLoopback != 0:
		return "loopback", true
	case exists(sys, path.Join(dir, "master")):
		return "part of a bridge or a bond, which is asked itself", true
	case exists(sys, path.Join(dir, "bridge")) && !reachesHardware(sys, dir):
		return "a bridge of containers or guests", true
	case l.Flags&net.FlagUp == 0:
		return "down", !hardware
	case l.Flags&net.FlagRunning == 0:
		return "up but without a link: no cable, or nothing awake at the other end", !hardware
	case l.Flags&net.FlagMulticast == 0 || l.Flags&net.FlagPointToPoint != 0:
		return "cannot multicast", true
	case len(l.Prefixes) == 0:
		return "up but without an address", !hardware
	}
	return "", false
}

// reachesHardware reports whether a bridge has a port that is a network card.
func reachesHardware(sys fs.FS, dir string) bool {
	return slices.ContainsFunc(children(sys, path.Join(dir, "brif")), func(port string) bool {
		return driver(sys, path.Join("class/net", port, "device/uevent")) != ""
	})
}

// driver reads the name of the driver in a device's uevent, such as
//
//	DRIVER=mlx5_core
//
// An interface without hardware has no such file.
func driver(sys fs.FS, name string) string {
	text, err := fs.ReadFile(sys, name)
	if err != nil {
		return ""
	}
	for line := range strings.Lines(string(text)) {
		if name, is := strings.CutPrefix(line, "DRIVER="); is {
			return strings.TrimSpace(name)
		}
	}
	return ""
}

func children(sys fs.FS, dir string) []string {
	entries, err := fs.ReadDir(sys, dir)
	if err != nil {
		return nil
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func exists(sys fs.FS, name string) bool {
	_, err := fs.Stat(sys, name)
	return err == nil
}
