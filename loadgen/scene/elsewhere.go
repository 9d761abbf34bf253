package scene

import (
	"net/netip"
	"net/url"
	"slices"

	"github.com/umascope/umascope/loadgen/telemetry"
)

// Elsewhere is the first machine whose telemetry is asked for if none of those that are is this one, by its name
// or by an address that is only here: then this one sends the load, and is not what is measured. Else it is empty.
func (s Settings) Elsewhere(here string) string {
	if len(s.Telemetry) == 0 || slices.ContainsFunc(s.Telemetry, func(source telemetry.Source) bool { return IsOf(here, source) }) {
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
