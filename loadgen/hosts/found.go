package hosts

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"
)

// Host is a machine that announces itself, by a name and on addresses that may be written anywhere.
type Host struct {
	// Name is without .local: the label host of its series.
	Name string `json:"name"`
	// Addresses are sorted: fabric first, IPv4 before IPv6, what the network gave before link-local.
	Addresses []Address `json:"addresses"`
	// Port is where it says that ssh listens.
	Port uint16 `json:"ssh_port"`
	// Self is this machine.
	Self bool `json:"self"`
	// Exporter is what answered at the exporter's port; nil if nobody asked.
	Exporter *Exporter `json:"exporter,omitempty"`
}

// Address is where a host is, on which link of this machine.
type Address struct {
	Addr   netip.Addr `json:"address"`
	Link   string     `json:"interface"`
	Fabric bool       `json:"fabric"`
}

// Refusal is what was heard and is not a host, and why.
type Refusal struct {
	// Name is quoted unless it is plain: it may be anything.
	Name string `json:"name"`
	Why  string `json:"why"`
}

// NotMeant is why a host is left out that is none of ours to judge.
const NotMeant = "no --match means it"

// plainName is a label that a name of a host may be (RFC 1123). Whatever is one needs no quoting in a
// shell, a hostfile or on a terminal.
var plainName = regexp.MustCompile(`^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?$`)

// nameOf takes the host's name out of a name of multicast DNS.
func nameOf(told string) (string, error) {
	name := strings.TrimSuffix(told, ".")
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

// Gather makes hosts of what the links heard: those that a pattern means, once each, sorted by name.
// Others are told with the reason; of those that only match no pattern, that is the reason.
func Gather(heard []Heard, links []Link, patterns []Pattern) ([]Host, []Refusal) {
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
			refuse("it told no address on %s", h.Link.Name)
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

// unfit is why nobody should be sent to an address that was heard on a link.
func unfit(addr netip.Addr, link Link) string {
	switch {
	case !addr.IsPrivate() && !addr.IsLinkLocalUnicast():
		return "not a private address"
	case !link.Holds(addr):
		// Else an answer could point Prometheus at machines of another network; and the bridge of the other
		// machine's containers has, here, an address of ours.
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

// first compares two truths: negative if only the second holds.
func first(b, a bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

// reachable tells whether other programs can be given an address: a zone is known to few of them, and
// means nothing in a container.
func (a Address) reachable() bool { return a.Addr.Zone() == "" }

// MPI is the address that ranks and ssh use: of the fabric, if there is one.
func (h Host) MPI() (netip.Addr, bool) {
	for _, a := range h.Addresses {
		if a.reachable() {
			return a.Addr, true
		}
	}
	return netip.Addr{}, false
}

// Target is the address that Prometheus uses: where an exporter answered, else one that is not of the
// fabric, whose traffic is measured, else any.
func (h Host) Target() (netip.Addr, bool) {
	if h.Exporter != nil && h.Exporter.Found {
		return h.Exporter.Addr, true
	}
	for _, a := range h.candidates() {
		return a.Addr, true
	}
	return netip.Addr{}, false
}

// candidates are the addresses that an exporter is looked for at, in this order.
func (h Host) candidates() []Address {
	fit := slices.DeleteFunc(slices.Clone(h.Addresses), func(a Address) bool { return !a.reachable() })
	slices.SortStableFunc(fit, func(a, b Address) int { return first(!b.Fabric, !a.Fabric) })
	return fit
}
