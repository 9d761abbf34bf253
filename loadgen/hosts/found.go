package hosts

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Host is a machine that announces itself, by a name and on addresses that may appear in files and output.
type Host struct {
	// Name is without .local: the label host of its series.
	Name string `json:"name"`
	// Addresses are sorted: fabric first, IPv4 before IPv6, assigned before link-local.
	Addresses []Address `json:"addresses"`
	// Port is the ssh port that it announces.
	Port uint16 `json:"ssh_port"`
	// Self is true for this machine.
	Self bool `json:"self"`
	// Exporter is the answer at the exporter's port; nil if it was not probed.
	Exporter *Exporter `json:"exporter,omitempty"`
}

// Address is an address of a host and the link of this machine that leads to it.
type Address struct {
	Addr   netip.Addr `json:"address"`
	Link   string     `json:"interface"`
	Fabric bool       `json:"fabric"`
}

// Refusal is an answer that is not accepted as a host, and why.
type Refusal struct {
	// Name is quoted unless it is plain: it may hold any bytes.
	Name string `json:"name"`
	Why  string `json:"why"`
}

// NotMeant is why a host is left out that no pattern selects.
const NotMeant = "no --match means it"

// plainName matches a label that is valid as a host name (RFC 1123). Such a name needs no quoting in a shell, a
// hostfile or on a terminal.
var plainName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)

// nameOf returns the host's name from a name of multicast DNS.
func nameOf(received string) (string, error) {
	name := strings.TrimSuffix(received, ".")
	const suffix = ".local"
	if cut := len(name) - len(suffix); cut >= 0 && strings.EqualFold(name[cut:], suffix) {
		name = name[:cut]
	} else {
		return "", fmt.Errorf("it does not end in .local")
	}
	if !plainName.MatchString(name) {
		return "", fmt.Errorf("no host can be called so")
	}
	return name, nil
}

// gather makes hosts from the answers on all links: those that a pattern selects, once each, sorted by name. It returns
// the others with the reason; for hosts that only match no pattern, that is the reason.
func gather(heard []Heard, links []Link, patterns []Pattern) ([]Host, []Refusal) {
	byName := map[string]*Host{}
	var refused []Refusal
	for _, h := range heard {
		refuse := func(format string, args ...any) {
			refused = append(refused, Refusal{fmt.Sprintf("%+q", h.Name), fmt.Sprintf(format, args...)})
		}
		name, err := nameOf(h.Name)
		if err != nil {
			refuse("%s (on %s)", err, h.Link.Name)
			continue
		}
		if !slices.ContainsFunc(patterns, func(p Pattern) bool { return p.match(name) }) {
			refused = append(refused, Refusal{name, NotMeant})
			continue
		}
		host := byName[strings.ToLower(name)]
		if host == nil {
			host = &Host{Name: name, Port: h.Port}
		}
		for _, addr := range h.Addrs {
			if why := unfit(addr, h.Link); why != "" {
				refuse("%s: %s", addr, why)
				continue
			}
			host.add(addr, h.Link, links)
		}
		if len(h.Addrs) == 0 {
			refuse("it gave no address on %s", h.Link.Name)
		}
		if len(host.Addresses) > 0 {
			byName[strings.ToLower(name)] = host
		}
	}
	hosts := make([]Host, 0, len(byName))
	for _, key := range sortedKeys(byName) {
		byName[key].sort()
		hosts = append(hosts, *byName[key])
	}
	slices.SortFunc(refused, func(a, b Refusal) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Why, b.Why)) })
	return hosts, slices.Compact(refused)
}

// unfit returns why an address from a link must not be used; empty if it may.
func unfit(addr netip.Addr, link Link) string {
	switch {
	case !addr.IsPrivate() && !addr.IsLinkLocalUnicast():
		return "not a private address"
	case !link.Holds(addr):
		// Otherwise an answer could point Prometheus at machines of another network; and the bridge of the other
		// machine's containers has an address of this machine here.
		return "not of a network of " + link.Name + ", where it was heard"
	}
	return ""
}

func (h *Host) add(addr netip.Addr, link Link, links []Link) {
	if addr.Is6() && addr.IsLinkLocalUnicast() {
		addr = addr.WithZone(link.Name)
	}
	h.Self = h.Self || slices.ContainsFunc(links, func(l Link) bool { return l.Own(addr) })
	if !slices.ContainsFunc(h.Addresses, func(a Address) bool { return a.Addr == addr }) {
		h.Addresses = append(h.Addresses, Address{addr, link.Name, link.Fabric()})
	}
}

func (h *Host) sort() {
	slices.SortFunc(h.Addresses, func(a, b Address) int {
		return cmp.Or(first(b.Fabric, a.Fabric), first(b.Addr.Is4(), a.Addr.Is4()), first(!b.Addr.IsLinkLocalUnicast(), !a.Addr.IsLinkLocalUnicast()), a.Addr.Compare(b.Addr))
	})
}

// first compares two conditions: negative if only the second holds.
func first(b, a bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// reachable reports whether other programs can use an address: few of them accept a zone, and a zone has no meaning in
// a container.
func (a Address) reachable() bool { return a.Addr.Zone() == "" }

// MPI returns the address for ranks and ssh: of the fabric, if there is one.
func (h Host) MPI() (netip.Addr, bool) {
	for _, a := range h.Addresses {
		if a.reachable() {
			return a.Addr, true
		}
	}
	return netip.Addr{}, false
}

// Target returns the address for Prometheus: where an exporter answered, else one outside the fabric, whose traffic is
// measured, else any.
func (h Host) Target() (netip.Addr, bool) {
	if h.Exporter != nil && h.Exporter.Found {
		return h.Exporter.Addr, true
	}
	for _, a := range h.candidates() {
		return a.Addr, true
	}
	return netip.Addr{}, false
}

// candidates returns the addresses to probe for an exporter, in this order.
func (h Host) candidates() []Address {
	fit := slices.DeleteFunc(slices.Clone(h.Addresses), func(a Address) bool { return !a.reachable() })
	slices.SortStableFunc(fit, func(a, b Address) int { return first(!b.Fabric, !a.Fabric) })
	return fit
}
