package collector

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// defaultCgroupLimit is the default number of cgroups shown.
const defaultCgroupLimit = 200

// CgroupOptions are the settings of the cgroup collector.
type CgroupOptions struct {
	// Include adds the cgroups whose path matches to those shown by default. Nil adds none.
	Include *regexp.Regexp
	// Limit is the maximum number of cgroups shown, 200 when 0; the others are counted.
	Limit int
	// Detail shows every line of memory.stat.
	Detail bool
	// RuntimeSocket is the socket of a Docker-compatible API that names containers. NamesFile is a file that names
	// them. Both are "" when not set.
	RuntimeSocket, NamesFile string
}

// cgroupSpec is the collector of containers and slices.
func cgroupSpec() Spec {
	return Spec{
		Name:    "cgroup",
		Help:    "containers, pods and slices: memory charged, GPU memory held and not charged, limits, pressure, I/O.",
		Metrics: cgroupMetrics(),
		Needs: []Need{{
			Name: "host_cgroups",
			Cost: "no cgroup is shown",
			Fix:  "boot with cgroup v2; start the container in the host's cgroup namespace (docker run --cgroupns=host, in compose cgroup: host), or mount the host's tree (-v /sys/fs/cgroup:/host/cgroup:ro) and pass --path.cgroupfs=/host/cgroup",
			Met:  func(host Host) bool { return hostfs.CheckHostCgroups(host.Cgroup) == nil },
		}, {
			Name: "host_cgroup_namespace",
			Cost: "it is not known which cgroup holds GPU memory",
			Fix:  "start the container in the host's cgroup namespace (docker run --cgroupns=host, in compose cgroup: host)",
			Met:  seesWholeCgroupPaths,
		}},
		Open: func(host Host, options Options) Collect {
			c := &cgroupCollector{host: host, options: options.Cgroups, names: newContainerNames(host, options.Cgroups)}
			return c.collect
		},
	}
}

// seesWholeCgroupPaths applies only with a GPU. A recording may lack the answer.
func seesWholeCgroupPaths(host Host) bool {
	whole, err := hostfs.HostCgroupNamespace(host.Proc)
	return whole || errors.Is(err, fs.ErrNotExist) || !hostfs.HasNVIDIAModule(host.Sys)
}

// cgroupCollector keeps container names between collections. The runner never runs a collector twice at a time.
type cgroupCollector struct {
	host    Host
	options CgroupOptions
	names   *containerNames
}

// collect shows the cgroups that exist while it reads. Cgroups that come and go meanwhile are no error: one that is
// gone has no series.
func (c *cgroupCollector) collect(ctx context.Context, sample *Sample, batch *Batch) error {
	// Read first, because it reads process lists, meminfo and the top of the tree back to back.
	memory, memoryErr := sample.Memory(ctx)
	held := sample.gpuHeld(ctx, memory, memoryErr)
	paths, err := hostfs.WalkCgroups(c.host.Cgroup)
	if errors.Is(err, hostfs.ErrNotHostCgroups) {
		return fmt.Errorf("%w: %w", ErrAbsent, err)
	}
	if err != nil && len(paths) == 0 {
		return err
	}
	candidates := c.candidates(paths, held)
	c.names.ask(candidates)
	candidates = slices.DeleteFunc(candidates, c.isPause)
	chosen := c.within(candidates)
	batch.Gauge(metric.CgroupExcluded, float64(len(candidates)-len(chosen)))
	emitter := newCgroupEmitter(batch, c.host.Sys, held, c.options.Detail)
	var shown []candidate
	readErr := c.read(ctx, sample, chosen, func(reading cgroupReading) {
		emitter.emit(reading)
		shown = append(shown, reading.candidate)
	})
	namesErr := c.names.answer()
	for _, one := range shown {
		emitCgroupInfo(batch, one, c.names.of(one.identity.ID))
	}
	return errors.Join(err, readErr, namesErr)
}
