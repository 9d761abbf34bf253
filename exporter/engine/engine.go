// Package engine reads what inference engines publish about themselves, in the terms of package spec: pages of metrics and
// the answers beside them. It finds out which engine a server is and where a process serves HTTP.
//
// The series names on its page identify an engine, never its address or a name from its operator. A value that a page
// lacks is nil, never zero, and only the engine's own figures are used to derive values. Each engine's names are in a
// package of its own, with origin and version.
package engine

import "github.com/umascope/umascope/exporter/engine/spec"

// Reading is what one engine reports at one moment.
type Reading struct {
	spec.Translation
	// Version is the engine's own, "" if it does not report it.
	Version string

	// identified reports that the engine has returned its version, or has none.
	identified bool
	// statePools are the pools, by model and kind, that were in use since the engine started.
	statePools [][2]string
	// facts are what the engine has returned about itself.
	facts spec.Facts
	// latest completes a model from the latest statistics entry, nil if there was none.
	latest func(*spec.Model)
	// drains reports that the page's own address serves its content to one reader only.
	drains bool
	// pageless reports that there is no page, only the draining statistics.
	pageless bool
}

// ErrUnknown is wrapped when a page or a server is not one of a known engine.
var ErrUnknown = spec.ErrUnknown
