package view

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"

	api "github.com/prometheus/prometheus/web/api/v1"
)

// linkedVersion and linkedRevision are set by the linker for sources without version control, as in compose/native/build.
var linkedVersion, linkedRevision string

// build returns the version of this program and its revision.
func build() (version, revision string) {
	version, revision = linkedVersion, linkedRevision
	if info, ok := debug.ReadBuildInfo(); ok {
		version = cmp.Or(version, info.Main.Version)
		for _, setting := range info.Settings {
			if setting.Key == "vcs.revision" {
				revision = cmp.Or(revision, setting.Value)
			}
		}
	}
	return cmp.Or(version, "unknown"), cmp.Or(revision, "unknown")
}

// program returns the version of uma-view, as --version prints it.
func program() string {
	return fmt.Sprintf("uma-view %s (Prometheus %s, %s)", version().Revision, version().Version, version().GoVersion)
}

// version returns what a data source reads: the version is that of the Prometheus whose API is served, by which Grafana
// chooses what to ask for; the revision is that of this program.
func version() api.PrometheusVersion {
	v := api.PrometheusVersion{Version: "unknown", Revision: "unknown"}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	v.GoVersion = info.GoVersion
	v.Revision = cmp.Or(linkedVersion, info.Main.Version, v.Revision)
	if linkedRevision != "" {
		v.Revision += " " + linkedRevision
	}
	for _, module := range info.Deps {
		if module.Path == "github.com/prometheus/prometheus" {
			v.Version = releaseOf(module.Version)
		}
	}
	return v
}

// releaseOf returns the release of Prometheus that a module version is: v0.315.0 is 3.15.0.
func releaseOf(module string) string {
	var major, minor, patch int
	if n, err := fmt.Sscanf(strings.TrimPrefix(module, "v0."), "%1d%2d.%d", &major, &minor, &patch); n != 3 || err != nil {
		return module
	}
	return fmt.Sprintf("%d.%d.%d", major, minor, patch)
}
