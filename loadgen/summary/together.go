package summary

import (
	"fmt"

	"github.com/umascope/umascope/loadgen/format"
)

// Together has the energy of an engine that spans several machines, summed over all of them: each machine alone shows a
// part of it. Memory stays with each machine: free memory of one is of no use on another.
type Together struct {
	// Hosts are the machines that were measured, the host of the run first.
	Hosts []string `json:"hosts" pack:"host"`
	// Joules are those of all GPUs of these machines, over the measured phases; absent unless known for every one, and if
	// two names are one machine.
	Joules               *float64 `json:"joules,omitempty"`
	JoulesPerOutputToken *float64 `json:"joules_per_output_token,omitempty"`
}

// togetherOf is nil for a single machine, whose own figures suffice. Servers is the number of machines with a server:
// where not all of them were measured, the energy of a token is unknown.
func togetherOf(machines []*reading, servers int, outputTokens int64) *Together {
	if len(machines) < 2 {
		return nil
	}
	t, known := &Together{}, len(twice(machines)) == 0
	all := Energy{}
	for _, r := range machines {
		t.Hosts = append(t.Hosts, r.Origin.Source)
		if known = known && r.Energy != nil; known {
			all.Joules += r.Energy.Joules
		}
	}
	if known {
		if len(machines) >= servers {
			all.share(outputTokens)
		}
		t.Joules, t.JoulesPerOutputToken = &all.Joules, all.JoulesPerOutputToken
	}
	return t
}

// twice returns warnings about machines that have two names in the run.
func twice(machines []*reading) []string {
	var w []string
	for i, b := range machines {
		for _, a := range machines[:i] {
			if b.source.SameMachine(a.source) {
				w = append(w, fmt.Sprintf("%s and %s show the same GPU: it is one machine that --telemetry names twice, and what machines use together is not known", a.Origin.Source, b.Origin.Source))
			}
		}
	}
	return w
}

// EnergyOfAll returns the energy of all machines that were measured: of the host of the run, or of it and the others
// together. It returns nil where it is unknown.
func (s Summary) EnergyOfAll() (joules, perOutputToken *float64) {
	if t := s.Together; t != nil {
		return t.Joules, t.JoulesPerOutputToken
	}
	if e := s.Energy; e != nil {
		return &e.Joules, e.JoulesPerOutputToken
	}
	return nil, nil
}

// unlinkedBytes is the traffic on an interface that is more than programs need to find each other.
const unlinkedBytes = 64 << 20

// unlinked warns of machines with an RDMA port that is up and had no traffic, while their interfaces had: the engine
// then uses the slow link between them.
func unlinked(machines []*reading) []string {
	var w []string
	if len(machines) < 2 {
		return nil
	}
	for _, r := range machines {
		if n := r.Network; n != nil && n.rdmaUp && n.rdmaKnown && n.rdma() == 0 && n.interfaces() > unlinkedBytes {
			w = append(w, fmt.Sprintf("telemetry of %s: %s went over network interfaces and nothing by RDMA, although a port is up: the machines of the engine may talk over the slow way (NCCL_SOCKET_IFNAME, NCCL_IB_HCA)", r.Origin.Source, format.Bytes(n.interfaces())))
		}
	}
	return w
}
