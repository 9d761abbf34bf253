package summary

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// Network is the traffic between a machine and others in the measured phases. RDMA traffic, such as that between the
// parts of an engine on two machines, is in the counters of its port and not in those of any interface.
type Network struct {
	Origin
	// Seconds is the length of the measured phases.
	Seconds float64 `json:"seconds"`
	// Ports are the interfaces and RDMA ports that had traffic or errors, RDMA first. It is empty if all were idle.
	Ports []Port `json:"ports"`

	// rdmaUp is true if an RDMA port is up; rdmaKnown is true if the traffic of all RDMA ports is known, including idle
	// ones, which are not in Ports.
	rdmaUp, rdmaKnown bool
}

// Port is an interface or a port of RDMA. Unknown bytes are absent.
type Port struct {
	Device string `json:"device" pack:"word"`
	// Port is the number of an RDMA port; absent for an interface.
	Port          string   `json:"port,omitempty" pack:"word"`
	ReceivedBytes *float64 `json:"received_bytes,omitempty"`
	SentBytes     *float64 `json:"sent_bytes,omitempty"`
	// Errors are by the driver's name of the kind; kinds without errors are left out.
	Errors map[string]float64 `json:"errors,omitempty"`
}

// network is nil where no port was seen, or not over all of the measured time. A reset of its counters does not make a
// run invalid: no verdict depends on them.
func (r *reading) network() *Network {
	if r.still() || !r.whole {
		return nil
	}
	seen := map[[2]string]*Port{}
	at := func(s *telemetry.Series) *Port {
		key := [2]string{s.Labels[string(metric.LabelDevice)], s.Labels[string(metric.LabelPort)]}
		if seen[key] == nil {
			seen[key] = &Port{Device: key[0], Port: key[1]}
		}
		return seen[key]
	}
	for _, of := range []struct {
		family metric.Definer
		enter  func(p *Port, s *telemetry.Series, grown *float64)
	}{
		{metric.InfiniBandPortDataReceivedBytesTotal, enterReceived}, {metric.NetworkReceiveBytesTotal, enterReceived},
		{metric.InfiniBandPortDataTransmittedBytesTotal, enterSent}, {metric.NetworkTransmitBytesTotal, enterSent},
		{metric.InfiniBandPortErrorsTotal, enterErrors(metric.LabelKind, "")},
		{metric.NetworkReceiveErrorsTotal, enterErrors("", "damaged")}, {metric.NetworkReceiveDroppedTotal, enterErrors("", "dropped on the way in")},
		{metric.NetworkTransmitErrorsTotal, enterErrors("", "not sent")}, {metric.NetworkTransmitDroppedTotal, enterErrors("", "dropped on the way out")},
	} {
		for _, s := range r.source.Find(of.family) {
			if grown, reset, ok := r.grown(s); ok && !reset {
				of.enter(at(s), s, &grown)
			}
		}
	}
	if len(seen) == 0 {
		return nil
	}
	n := &Network{Origin: r.Origin, Seconds: r.windowSeconds, Ports: []Port{}, rdmaUp: r.rdmaUp()}
	uncounted, counted := 0, 0 // ports of RDMA
	for _, p := range seen {
		switch {
		case p.Port == "":
		case p.ReceivedBytes == nil || p.SentBytes == nil:
			uncounted++
		default:
			counted++
		}
		if p.moved() > 0 || len(p.Errors) > 0 {
			n.Ports = append(n.Ports, *p)
		}
	}
	n.rdmaKnown = counted > 0 && uncounted == 0
	slices.SortFunc(n.Ports, func(a, b Port) int {
		return cmp.Or(-cmp.Compare(min(len(a.Port), 1), min(len(b.Port), 1)), cmp.Compare(a.Device, b.Device), cmp.Compare(a.Port, b.Port))
	})
	return n
}

func enterReceived(p *Port, _ *telemetry.Series, bytes *float64) { p.ReceivedBytes = bytes }
func enterSent(p *Port, _ *telemetry.Series, bytes *float64)     { p.SentBytes = bytes }

// enterErrors adds errors under the value of a label, or under the given name.
func enterErrors(label metric.Label, word string) func(*Port, *telemetry.Series, *float64) {
	return func(p *Port, s *telemetry.Series, count *float64) {
		if *count == 0 {
			return
		}
		if p.Errors == nil {
			p.Errors = map[string]float64{}
		}
		p.Errors[cmp.Or(s.Labels[string(label)], word)] = *count
	}
}

// grown returns the growth of a counter in the measured phases, and records no reset.
func (r *reading) grown(s *telemetry.Series) (total float64, reset, ok bool) {
	for _, w := range r.windows {
		increase, fell, known := s.Increase(w)
		if !known {
			return 0, false, false
		}
		total, reset = total+increase, reset || fell
	}
	return total, reset, len(r.windows) > 0
}

// rdmaUp reports whether an RDMA port could pass data at some moment of the measured phases.
func (r *reading) rdmaUp() bool {
	up := false
	r.over(func(ns int64) {
		most, known := r.largest(metric.InfiniBandPortUp, ns)
		up = up || known && most == 1
	})
	return up
}

func (p Port) moved() float64 {
	total := 0.0
	for _, bytes := range []*float64{p.ReceivedBytes, p.SentBytes} {
		if bytes != nil {
			total += *bytes
		}
	}
	return total
}

// Title returns the name of a port for display.
func (p Port) Title() string {
	if p.Port == "" {
		return p.Device
	}
	return "RDMA " + p.Device + "/" + p.Port
}

// Trouble lists the errors of a port by kind.
func (p Port) Trouble() string {
	var kinds []string
	for _, kind := range slices.Sorted(maps.Keys(p.Errors)) {
		kinds = append(kinds, kind+" "+format.Digits(p.Errors[kind]))
	}
	return strings.Join(kinds, ", ")
}

// rdma and interfaces return the bytes of both directions.
func (n *Network) rdma() float64 { return n.total(func(p Port) bool { return p.Port != "" }) }

func (n *Network) interfaces() float64 { return n.total(func(p Port) bool { return p.Port == "" }) }

func (n *Network) total(of func(Port) bool) float64 {
	total := 0.0
	for _, p := range n.Ports {
		if of(p) {
			total += p.moved()
		}
	}
	return total
}

// troubles describes the errors on RDMA ports: lost data is sent again, and the engine waits. Drops of an interface are
// left out: they are normal for unwanted packets.
func (n *Network) troubles() []string {
	if n == nil || !n.Live() {
		return nil
	}
	var all []string
	for _, p := range n.Ports {
		if p.Port != "" && len(p.Errors) > 0 {
			all = append(all, fmt.Sprintf("%s had trouble while it was measured: %s", p.Title(), p.Trouble()))
		}
	}
	return all
}
