package exporter

import (
	"github.com/umascope/umascope/cmd/terminal"
	"github.com/umascope/umascope/exporter/collector"
)

// build is the build information that is recorded in this binary.
type build struct {
	collector.Build
	// CGO reports whether the build can load the driver library.
	CGO bool
}

// linkedVersion and linkedRevision are set by the linker for sources without version control, as in the build of an
// image (compose/exporter.Dockerfile). No code writes them.
var linkedVersion, linkedRevision string

func readBuild() build {
	b := terminal.ReadBuild(linkedVersion, linkedRevision)
	return build{Build: collector.Build{Version: b.Version, Revision: b.Revision, GoVersion: b.GoVersion}, CGO: b.CGO}
}

func (b build) String() string {
	cgo := "with cgo"
	if !b.CGO {
		cgo = "without cgo, so without GPU driver calls"
	}
	return b.Version + " (revision " + b.Revision + ", " + b.GoVersion + ", " + cgo + ")"
}
