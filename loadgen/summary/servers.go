package summary

import (
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	"github.com/umascope/umascope/loadgen/openai"
)

// ServerFigures has the figures of the measured requests that went to one of several servers.
type ServerFigures struct {
	URL string `json:"url" pack:"url"`
	// Requests, Throughput and Latency are as those of the run. Throughput is divided by the time of the run, so that the
	// servers add up to it.
	Requests   map[openai.Status]int `json:"requests"`
	Throughput Throughput            `json:"throughput"`
	Latency    *Latency              `json:"latency"`
}

// several reports whether the load went to several servers. What an engine reports about itself is then not a figure of
// the run.
func (in inputs) several() bool { return len(in.Servers) > 1 }

// serverHosts returns the number of machines that the URLs of the servers name.
func (in inputs) serverHosts() int {
	hosts := map[string]bool{}
	for _, text := range in.Servers {
		host := text
		if u, err := url.Parse(text); err == nil {
			host = strings.ToLower(u.Hostname())
		}
		if at, err := netip.ParseAddr(host); err == nil && at.Unmap().IsLoopback() {
			host = "localhost"
		}
		hosts[host] = true
	}
	return len(hosts)
}

// newServers returns an aggregate for each server; none for a single server.
func (in inputs) newServers(s *settings) map[string]*aggregate {
	if !in.several() {
		return nil
	}
	all := map[string]*aggregate{}
	for _, url := range in.Servers {
		all[url] = newAggregate(s)
	}
	return all
}

// byServer returns the figures by server, in the order of --url.
func (p phaseAggregates) byServer(in inputs, total *aggregate) []ServerFigures {
	var all []ServerFigures
	for _, url := range in.Servers {
		a := p.servers[url]
		a.spanNS = total.duration()
		all = append(all, ServerFigures{url, a.requests, a.throughput(), in.latency(a)})
	}
	return all
}

// failures counts the requests of each server that did not end ok; empty for a single server.
func (p phaseAggregates) failures(in inputs) string {
	var parts []string
	for _, url := range in.Servers {
		a := p.servers[url]
		parts = append(parts, fmt.Sprintf("%s %d of %d", url, a.failed(), a.total()))
	}
	return strings.Join(parts, ", ")
}
