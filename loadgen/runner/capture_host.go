package runner

import (
	"context"
	"net/netip"
	"net/url"
	"slices"

	"github.com/umascope/umascope/loadgen/telemetry"
)

// Elsewhere returns the measured machine, or "" if it is this machine. If an exporter in the settings is on this
// machine, by the machine's name or by a loopback address, the result is ""; otherwise it is the first exporter's
// machine or, without exporters, the server's.
func (s CaptureSettings) Elsewhere(here string) string {
	if len(s.Telemetry) == 0 {
		if at := s.machine(context.Background()); !at.Here {
			return machineName(at)
		}
		return ""
	}
	if slices.ContainsFunc(s.Telemetry, func(source telemetry.Source) bool { return IsExporterOf(here, source) }) {
		return ""
	}
	return s.Telemetry[0].Name
}

// IsExporterOf reports whether an exporter is on this machine, by the machine's name or by a loopback address.
func IsExporterOf(here string, source telemetry.Source) bool {
	return source.Name == here || isLoopback(source.URL)
}

// isLoopback reports whether a page is on the machine that requests it.
func isLoopback(address string) bool {
	page, err := url.Parse(address)
	if err != nil {
		return false
	}
	at, err := netip.ParseAddr(page.Hostname())
	return page.Hostname() == "localhost" || err == nil && at.Unmap().IsLoopback()
}
