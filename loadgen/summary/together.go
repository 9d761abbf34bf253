package summary

import (
	"fmt"

	"github.com/umascope/umascope/loadgen/render/chart"
)

// Together is what an engine that lies on several machines used of all of them, where one of them alone would tell half of
// it. Memory is of each machine by itself: what is free on one is no room on the other.
type Together struct {
	// Hosts are the machines that were measured, the one that the run is filed under first.
	Hosts []string `json:"hosts"`
	// Joules are of all GPUs of these, over the measured phases; absent unless known of every one, and if two are one
	// machine under two names.
	Joules               *float64 `json:"joules,omitempty"`
	JoulesPerOutputToken *float64 `json:"joules_per_output_token,omitempty"`
}

// togetherOf is nil of one machine: it is what its figures say.
func togetherOf(machines []*reading, outputTokens int64) *Together {
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
		all.share(outputTokens)
		t.Joules, t.JoulesPerOutputToken = &all.Joules, all.JoulesPerOutputToken
	}
	return t
}

// twice are warnings of machines that were named by two names.
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

// EnergyOfAll is that of all machines that were measured: of the host of the run, or of it and the others together. Nil is not
// known.
func (s Summary) EnergyOfAll() (joules, perOutputToken *float64) {
	if t := s.Together; t != nil {
		return t.Joules, t.JoulesPerOutputToken
	}
	if e := s.Energy; e != nil {
		return &e.Joules, e.JoulesPerOutputToken
	}
	return nil, nil
}

// unlinkedBytes is from how much traffic on an interface on it is no longer what programs say to find each other.
const unlinkedBytes = 64 << 20

// unlinked warns of machines with an RDMA port that is up and moved nothing, while their interfaces did: the
// engine then takes the slow way between them.
func unlinked(machines []*reading) []string {
	var w []string
	if len(machines) < 2 {
		return nil
	}
	for _, r := range machines {
		if n := r.Network; n != nil && n.rdmaUp && n.rdmaKnown && n.rdma() == 0 && n.interfaces() > unlinkedBytes {
			w = append(w, fmt.Sprintf("telemetry of %s: %s went over network interfaces and nothing by RDMA, although a port is up: the machines of the engine may talk over the slow way (NCCL_SOCKET_IFNAME, NCCL_IB_HCA)", r.Origin.Source, chart.FormatBytes(n.interfaces())))
		}
	}
	return w
}
