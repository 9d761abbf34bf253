package exporter

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/collector"
	"github.com/umascope/umascope/exporter/metric"
)

// engineSocket is a listening socket of a process that may belong to an engine, and what discovery found there.
type engineSocket struct {
	// Address is where the process listens, in its own network namespace.
	Address string `json:"address"`
	PID     uint32 `json:"pid"`
	Comm    string `json:"comm"`
	// Result is one of metric.DiscoveryResults.
	Result string `json:"result"`
	// Engine and its page are absent if none was identified, or none is read.
	Engine string `json:"engine,omitempty"`
	Page   string `json:"page,omitempty"`
	// Reason is why no page is read.
	Reason string `json:"reason,omitempty"`
}

// socketsOf returns the sockets that a collector looked at, those with a page first.
func socketsOf(outcome collector.Outcome) []engineSocket {
	if outcome.Spec.Name != metric.CollectorEngine || outcome.Sample == nil {
		return nil
	}
	var sockets []engineSocket
	for _, s := range outcome.Sample.EngineSockets() {
		sockets = append(sockets, engineSocket{s.Address.String(), s.PID, s.Comm, s.Result, s.Engine, s.Source, s.Reason})
	}
	slices.SortStableFunc(sockets, func(a, b engineSocket) int {
		return cmp.Compare(slices.Index(metric.DiscoveryResults(), a.Result), slices.Index(metric.DiscoveryResults(), b.Result))
	})
	return sockets
}

// String is one line.
func (s engineSocket) String() string {
	found := strings.ReplaceAll(s.Result, "_", " ")
	if s.Page != "" {
		found = "page " + s.Page
	}
	if s.Engine != "" {
		found = s.Engine + ", " + found
	}
	if s.Reason != "" {
		found += ": " + s.Reason
	}
	return oneLine(fmt.Sprintf("%s of %s (pid %d): %s", s.Address, cmp.Or(s.Comm, "a process"), s.PID, found))
}
