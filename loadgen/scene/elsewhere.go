package scene

import (
	"net/netip"
	"net/url"
)

// Elsewhere is the first machine whose telemetry is asked for if none of those that are is this one, by its name
// or by an address that is only here: then this one sends the load, and is not what is measured. Else it is empty.
func (s Settings) Elsewhere(here string) string {
	for _, source := range s.Telemetry {
		if source.Name == here || loopback(source.URL) {
			return ""
		}
	}
	if len(s.Telemetry) == 0 {
		return ""
	}
	return s.Telemetry[0].Name
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
