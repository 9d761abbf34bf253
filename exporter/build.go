package exporter

import (
	"cmp"
	"runtime"
	"runtime/debug"

	"github.com/umascope/umascope/exporter/collector"
)

// build is the build information that the Go linker recorded in this binary.
type build struct {
	collector.Build
	// CGO reports whether the build can load the driver library.
	CGO bool
}

// linkedVersion and linkedRevision are set by the linker for sources without version control, as in the build of an
// image (compose/exporter.Dockerfile). No code writes them.
var linkedVersion, linkedRevision string

// readBuild needs no linker flags where there is version control: go build and go install stamp version and revision.
func readBuild() build {
	b := build{Build: collector.Build{Version: "unknown", Revision: "unknown", GoVersion: runtime.Version()}}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(linkedVersion, info.Main.Version, b.Version)
	b.Revision = cmp.Or(linkedRevision, b.Revision)
	for _, setting := range info.Settings {
		switch setting.Key {
		case "vcs.revision":
			b.Revision = setting.Value
		case "CGO_ENABLED":
			b.CGO = setting.Value == "1"
		}
	}
	return b
}

func (b build) String() string {
	cgo := "with cgo"
	if !b.CGO {
		cgo = "without cgo, so without GPU driver calls"
	}
	return b.Version + " (revision " + b.Revision + ", " + b.GoVersion + ", " + cgo + ")"
}
