package snapshot

import (
	"fmt"
	"io/fs"
	"regexp"
	"strings"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/nvml"
)

// cgroupRows lists the cgroups to record, which are those that the collectors show by default: those that hold GPU
// memory before the others, and none without cgroup v2.
func cgroupRows(source Source, devices []nvml.Device) []allowed {
	if _, err := source.Cgroup.Stat("cgroup.controllers"); err != nil {
		return nil
	}
	rows := heldCgroupRows(source.Proc, devices)
	rows = append(rows, allowed{path: "cgroup.controllers"})
	rows = append(rows, allowedCgroup("")...)
	rows = append(rows, allowedCgroup("*/")...)
	return append(rows, containerRows(source.Cgroup)...)
}

// containerRows lists containers and pods, wherever a runtime has put them.
func containerRows(cgroups hostfs.Dir) []allowed {
	paths, _ := hostfs.WalkCgroups(cgroups) // if the tree cannot be walked, the rest is recorded
	var rows []allowed
	for _, path := range paths {
		switch hostfs.IdentifyCgroup(path).Kind {
		case hostfs.KindContainer, hostfs.KindPod:
			rows = append(rows, cgroupAt(path[1:])...)
		}
	}
	return rows
}

// unifiedLine is the line of /proc/<pid>/cgroup that names the cgroup v2 path.
var unifiedLine = regexp.MustCompile(`(?m)^0::/(.+)$`)

// heldCgroupRows lists the cgroups that hold GPU memory, and all above them.
func heldCgroupRows(proc hostfs.Dir, devices []nvml.Device) []allowed {
	var rows []allowed
	for _, pid := range gpuPIDs(devices) {
		content, err := proc.ReadFile(fmt.Sprintf("%d/cgroup", pid))
		found := unifiedLine.FindSubmatch(content)
		if err != nil || found == nil {
			continue
		}
		for path := string(found[1]); path != ""; {
			rows = append(rows, cgroupAt(path)...)
			path = path[:max(strings.LastIndex(path, "/"), 0)]
		}
	}
	return rows
}

// cgroupAt lists the files of the cgroup at a path, none if that could be read as a pattern.
func cgroupAt(path string) []allowed {
	if !fs.ValidPath(path) || strings.ContainsAny(path, patternCharacters) {
		return nil
	}
	return allowedCgroup(path + "/")
}
