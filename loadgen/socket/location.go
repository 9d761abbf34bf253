package socket

import (
	"context"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/procfs"
)

// lookupTimeout bounds the resolution of a name.
const lookupTimeout = 2 * time.Second

// Location is where the socket of a server is, as far as this machine shows it.
type Location struct {
	// Here: on this machine.
	Here bool
	// Host is the host of the address: where the server is if it is not here, unless its port is forwarded.
	Host string
	// Forwarder is the program on this machine that passes the port on to another machine; empty is none.
	Forwarder string
}

// Locate returns where the socket of a server is. It is on this machine if the host of the address resolves to loopback and
// addresses of this machine's interfaces only, and no program that forwards ports elsewhere listens there.
//
// What it cannot see counts as this machine: a forwarder that belongs to another user or is protected, whose sockets only root
// may read; a program that is no forwarder by name, such as a reverse proxy before a server on another machine; and rules of the
// kernel (DNAT, IPVS), behind which nothing listens. Nothing listens either where a container's port is published by such a
// rule, or where an engine has not started yet. A port that docker-proxy or another helper publishes is that of a container on this
// machine.
func Locate(ctx context.Context, address string) Location {
	own, _ := net.InterfaceAddrs() // without them, loopback is all that is known of this machine
	return locate(ctx, procfs.DefaultMountPoint, address, own)
}

func locate(ctx context.Context, procPath, address string, own []net.Addr) Location {
	u, err := parse(address)
	if err != nil {
		return Location{}
	}
	at := Location{Host: u.Hostname()}
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupNetIP(ctx, "ip", at.Host)
	if err != nil || len(addresses) == 0 || slices.ContainsFunc(addresses, func(a netip.Addr) bool { return !ofThisMachine(a, own) }) {
		return at
	}
	at.Forwarder = forwarder(procPath, u, addresses)
	at.Here = at.Forwarder == ""
	return at
}

// parse reads an address with or without its scheme.
func parse(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	return url.Parse(address)
}

// ofThisMachine reports whether an address is loopback, that of any interface (0.0.0.0), or of one of them.
func ofThisMachine(address netip.Addr, own []net.Addr) bool {
	address = address.Unmap().WithZone("")
	if address.IsLoopback() || address.IsUnspecified() {
		return true
	}
	return slices.ContainsFunc(own, func(a net.Addr) bool {
		prefix, err := netip.ParsePrefix(a.String())
		return err == nil && prefix.Addr().Unmap().WithZone("") == address
	})
}

// forwarders are programs that listen on this machine for a server on another, by their names in /proc/PID/comm.
func forwarders() []string {
	return []string{"ssh", "sshd", "sshd-session", "kubectl", "oc", "socat", "chisel", "frpc", "frps"}
}

// forwarder returns the name of the program that forwards the port of an address; empty if none is seen to.
func forwarder(procPath string, u *url.URL, addresses []netip.Addr) string {
	port, err := strconv.ParseUint(portOf(u), 10, 16)
	if err != nil {
		return ""
	}
	proc, err := procfs.NewFS(procPath)
	if err != nil {
		return "" // no Linux
	}
	var ips []net.IP
	for _, a := range addresses {
		ips = append(ips, net.IP(a.Unmap().AsSlice()))
	}
	pid, err := Listener(proc, port, ips...)
	if err != nil {
		return ""
	}
	process, err := proc.Proc(pid)
	if err != nil {
		return ""
	}
	if name, err := process.Comm(); err == nil && slices.Contains(forwarders(), name) {
		return name
	}
	return ""
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}
