package summary

import (
	"net"
	"net/netip"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// parts returns the measured machines that an engine spans, by the processes that the exporter reports: those with a
// GPU, or with a tier of the KV cache open. A machine with two names counts once. It returns none for a single machine.
func (w counters) parts() []*telemetry.SourceLog {
	var parts []*telemetry.SourceLog
	for _, source := range w.sources() {
		if source.Foreign || !slices.Contains(w.hosts, source.Name) || slices.ContainsFunc(parts, source.SameMachine) {
			continue
		}
		if slices.ContainsFunc([]metric.Definer{metric.KVBMDiskFileBytes, metric.ProcessIOBytesTotal, metric.ProcessCPUSecondsTotal, metric.GPUProcessMemoryBytes},
			func(d metric.Definer) bool { return len(source.Find(d)) > 0 }) {
			parts = append(parts, source)
		}
	}
	if len(parts) < 2 {
		return nil
	}
	return parts
}

// withOthers adds the blocks of other machines to those of the first, where each exporter reads a page of its own: an
// engine has a page on one of its machines or on each. A page that both read reports the same blocks.
func (w counters) withOthers(m evidence.Moved, first *telemetry.SourceLog, phases []string, words vocabulary) evidence.Moved {
	if first.Foreign || !slices.Contains(w.hosts, first.Name) {
		return m
	}
	known, taken := pagesOf(first), []*telemetry.SourceLog{first}
	for _, source := range w.sources() {
		pages := pagesOf(source)
		if source == first || source.Foreign || !slices.Contains(w.hosts, source.Name) || len(pages) == 0 || slices.ContainsFunc(taken, source.SameMachine) ||
			slices.ContainsFunc(pages, func(page string) bool { return slices.Contains(known, page) }) {
			continue
		}
		known, taken = append(known, pages...), append(taken, source)
		more := w.movedBy(source, phases, words)
		m.Seen, m.Gone = m.Seen && more.Seen, m.Gone || more.Gone
		m.FromDisk, m.FromHost = m.FromDisk.Add(more.FromDisk), m.FromHost.Add(more.FromHost)
		m.ToDisk, m.ToHost, m.MatchedTokens = m.ToDisk.Add(more.ToDisk), m.ToHost.Add(more.ToHost), either(m.MatchedTokens, more.MatchedTokens)
		if more.BlockBytes != m.BlockBytes {
			m.BlockBytes = 0 // a sum of blocks of two sizes cannot be converted to bytes
		}
	}
	return m
}

// pagesOf returns the KVBM pages that an exporter reads.
func pagesOf(source *telemetry.SourceLog) []string {
	var pages []string
	for _, s := range source.Find(metric.KVBMBlocksTotal) {
		if page := pageKey(source, s.Labels[string(metric.LabelSource)]); !slices.Contains(pages, page) {
			pages = append(pages, page)
		}
	}
	return pages
}

// pageKey identifies a page. A loopback address is another page on each machine.
func pageKey(source *telemetry.SourceLog, page string) string {
	address, _, _ := strings.Cut(page, "/")
	host, _, _ := net.SplitHostPort(address)
	if at, err := netip.ParseAddr(host); host == "localhost" || err == nil && at.IsLoopback() {
		return source.Name + " " + page
	}
	return page
}
