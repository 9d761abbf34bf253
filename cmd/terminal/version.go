package terminal

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// Build is what Go and the linker recorded in the binary. Version and Revision are "unknown" where neither did.
type Build struct {
	Version, Revision, GoVersion string
	// Modified reports that the checkout had changes of its own, CGO that C could be called.
	Modified, CGO bool
}

// ReadBuild returns the build of this program. The linked values are of sources without version control, whose build sets
// them by the linker; elsewhere they are empty, and go build and go install have stamped the binary.
func ReadBuild(linkedVersion, linkedRevision string) Build {
	b := Build{Version: linkedVersion, Revision: linkedRevision, GoVersion: runtime.Version()}
	if info, ok := debug.ReadBuildInfo(); ok {
		b.Version = cmp.Or(b.Version, info.Main.Version)
		for _, setting := range info.Settings {
			switch setting.Key {
			case "vcs.revision":
				b.Revision = cmp.Or(b.Revision, setting.Value)
			case "vcs.modified":
				b.Modified = setting.Value == "true"
			case "CGO_ENABLED":
				b.CGO = setting.Value == "1"
			}
		}
	}
	b.Version, b.Revision = cmp.Or(b.Version, "unknown"), cmp.Or(b.Revision, "unknown")
	return b
}

// Version returns what --version prints of a program that is built from a checkout only.
func Version(program string) string {
	b := ReadBuild("", "")
	return program + " " + b.Version + " (revision " + b.Revision + ", " + b.GoVersion + ")"
}
