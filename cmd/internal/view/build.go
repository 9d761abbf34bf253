package view

import (
	"fmt"
	"runtime/debug"
	"strings"

	api "github.com/prometheus/prometheus/web/api/v1"

	"github.com/umascope/umascope/cmd/terminal"
)

// linkedVersion and linkedRevision are set by the linker for sources without version control, as in compose/native/build.
var linkedVersion, linkedRevision string

func build() terminal.Build { return terminal.ReadBuild(linkedVersion, linkedRevision) }

// program returns the version of uma-view, as --version prints it.
func program() string {
	return fmt.Sprintf("uma-view %s (Prometheus %s, %s)", version().Revision, version().Version, version().GoVersion)
}

// version returns what a data source reads: the version is that of the Prometheus whose API is served, by which Grafana
// chooses what to ask for; the revision is that of this program.
func version() api.PrometheusVersion {
	b := build()
	v := api.PrometheusVersion{Version: "unknown", Revision: b.Version, GoVersion: b.GoVersion}
	if linkedRevision != "" {
		v.Revision += " " + linkedRevision
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == "github.com/prometheus/prometheus" {
				v.Version = releaseOf(module.Version)
			}
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
