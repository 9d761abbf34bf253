package terminal

import (
	"cmp"
	"runtime/debug"
)

// Version returns what --version prints of a program that is built from a checkout only, by what Go recorded in it.
func Version(program string) string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return program + " unknown"
	}
	revision := ""
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			revision = setting.Value
		}
	}
	return program + " " + cmp.Or(info.Main.Version, "unknown") + " (revision " + cmp.Or(revision, "unknown") + ", " + info.GoVersion + ")"
}
