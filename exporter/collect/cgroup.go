package collect

import (
	"context"
	"fmt"
	"regexp"
)

// CgroupOptions are the settings of the cgroup collector.
type CgroupOptions struct {
	// Include adds the cgroups whose path matches to those shown by default. Nil adds none.
	Include *regexp.Regexp
	// Limit is how many cgroups are shown, 200 when 0; what is left out is counted.
	Limit int
	// Detail shows every line of memory.stat.
	Detail bool
	// RuntimeSocket is the socket of a Docker-compatible API that knows containers by name, NamesFile
	// a file that does; both "" when nobody has given one.
	RuntimeSocket, NamesFile string
}

// cgroupSpec is the collector of containers and slices.
func cgroupSpec() Spec {
	return Spec{
		Name: "cgroup",
		Help: "containers, pods and slices: memory charged, GPU memory held and not charged, limits, pressure, I/O.",
		Open: func(Host, Options) Collect {
			return func(context.Context, *Sample, *Batch) error { return fmt.Errorf("%w: not written yet", ErrAbsent) }
		},
	}
}
