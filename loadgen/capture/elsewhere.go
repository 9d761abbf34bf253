package capture

import (
	"context"
	"net/netip"
	"net/url"
	"slices"

	"github.com/umascope/umascope/loadgen/telemetry"
)

// Elsewhere returns the measured machine if it is not this one, and else an empty text: the first one whose telemetry is asked for
// if none of them is this one, by its name or by an address that is only here; where none is, that of the server.
func (s Settings) Elsewhere(here string) string {
	if len(s.Telemetry) == 0 {
		if at := s.machine(context.Background()); !at.Here {
			return nameOf(at)
		}
		return ""
	}
	if slices.ContainsFunc(s.Telemetry, func(source telemetry.Source) bool { return IsOf(here, source) }) {
		return ""
	}
	return s.Telemetry[0].Name
}

// IsOf says whether an exporter is on this machine, by the machine's name or by an address that is only here.
func IsOf(here string, source telemetry.Source) bool {
	return source.Name == here || loopback(source.URL)
}

// loopback says whether a page is on the machine that asks for it.
func loopback(address string) bool {
	page, err := url.Parse(address)
	if err != nil {
		return false
	}
	at, err := netip.ParseAddr(page.Hostname())
	return page.Hostname() == "localhost" || err == nil && at.Unmap().IsLoopback()
}
