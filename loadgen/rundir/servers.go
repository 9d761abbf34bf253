package rundir

import (
	"slices"
	"strings"
)

// servers returns all servers of the load, in the order of --url.
func (m Manifest) servers() []Server { return append([]Server{m.Server}, m.Replicas...) }

// ServerURLs returns the URLs of the servers that shared the load; nil for a single server.
func (m Manifest) ServerURLs() []string {
	if len(m.Replicas) == 0 {
		return nil
	}
	var urls []string
	for _, s := range m.servers() {
		urls = append(urls, s.URL)
	}
	return urls
}

// Simulated reports whether an engine of the run reported itself as simulated.
func (m Manifest) Simulated() bool {
	return slices.ContainsFunc(m.servers(), func(s Server) bool { return s.Simulated })
}

// EngineVersion returns the version of the engine; those of several servers where they differ.
func (m Manifest) EngineVersion() string {
	var versions []string
	for _, s := range m.servers() {
		if s.Version != "" && !slices.Contains(versions, s.Version) {
			versions = append(versions, s.Version)
		}
	}
	return strings.Join(versions, ", ")
}

// PrefixCacheReset returns whether every engine emptied its prefix cache before the load; nil if the run did not ask
// for it.
func (m Manifest) PrefixCacheReset() *bool {
	if m.Server.PrefixCacheReset == nil {
		return nil
	}
	done := !slices.ContainsFunc(m.servers(), func(s Server) bool { return s.PrefixCacheReset == nil || !s.PrefixCacheReset.Done })
	return &done
}
