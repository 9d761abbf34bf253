package server

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

// lookupTimeout is the longest that the resolution of a name may take.
const lookupTimeout = 2 * time.Second

// Location is where the socket of a server is, as far as this machine can see.
type Location struct {
	// Here is true if it is on this machine.
	Here bool
	// Host is the host of the address. The server is there if it is not here, unless its port is forwarded.
	Host string
	// Forwarder is the program on this machine that forwards the port to another machine; empty means none.
	Forwarder string
}

// Locate returns where the socket of a server is. It is on this machine if the host of the address resolves only to
// loopback and addresses of this machine's interfaces, and no program that forwards ports elsewhere listens there.
//
// These cases count as this machine, because Locate cannot see them: a forwarder of another user or a protected one,
// whose sockets only root may read; a program that is not a forwarder by name, such as a reverse proxy for a server on
// another machine; and kernel rules (DNAT, IPVS), which have no listener. There is no listener either if a container's
// port is published by such a rule, or if an engine has not started yet. A port that docker-proxy or another helper
// publishes belongs to a container on this machine.
func Locate(ctx context.Context, address string) Location {
	own, _ := net.InterfaceAddrs() // on failure, only loopback counts as this machine
	return locate(ctx, procfs.DefaultMountPoint, address, own)
}

func locate(ctx context.Context, procPath, address string, own []net.Addr) Location {
	u, err := parseAddress(address)
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
	at.Forwarder = findForwarder(procPath, u, addresses)
	at.Here = at.Forwarder == ""
	return at
}

// parseAddress reads an address with or without its scheme.
func parseAddress(address string) (*url.URL, error) {
	if !strings.Contains(address, "://") {
		address = "http://" + address
	}
	return url.Parse(address)
}

// ofThisMachine reports whether an address is loopback, that of any interface (0.0.0.0), or an address of an
// interface.
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

// findForwarder returns the name of the program that forwards the port of an address, or "" if none is visible.
func findForwarder(procPath string, u *url.URL, addresses []netip.Addr) string {
	port, err := strconv.ParseUint(portOf(u), 10, 16)
	if err != nil {
		return ""
	}
	proc, err := procfs.NewFS(procPath)
	if err != nil {
		return "" // not Linux
	}
	var ips []net.IP
	for _, a := range addresses {
		ips = append(ips, net.IP(a.Unmap().AsSlice()))
	}
	pid, err := listeningProcess(proc, port, ips...)
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
