package collector

import (
	"context"
	"math"
	"slices"
	"strconv"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// cacheVariables are the environment variables of an engine with the sizes of tiers, by tier. KVBM rounds a size to
// whole blocks within that many times 10^9 bytes, over all workers of a leader (ai-dynamo/dynamo,
// lib/llm/src/block_manager/distributed/leader.rs). Other variables give a number of blocks instead; they are not read.
func cacheVariables() map[string]string {
	return map[string]string{metric.TierHost: "DYN_KVBM_CPU_CACHE_GB", metric.TierDisk: "DYN_KVBM_DISK_CACHE_GB"}
}

// configuredTiers has the settings of a process's tiers.
type configuredTiers struct {
	// bytes are the sizes, by tier.
	bytes map[string]float64
	// filter reports whether the disk filter is on; nil without a disk tier.
	filter *bool
}

// readConfiguredTiers reads the settings of a process's tiers. A process that may not be inspected has none.
func readConfiguredTiers(proc hostfs.Dir, pid uint32) configuredTiers {
	configured := configuredTiers{bytes: map[string]float64{}}
	environ, _ := hostfs.ReadEnviron(proc, pid)
	for tier, variable := range cacheVariables() {
		if bytes, given := parseGigabytes(environ[variable]); given {
			configured.bytes[tier] = bytes
		}
	}
	if configured.bytes[metric.TierDisk] > 0 {
		configured.filter = new(!disablesFilter(environ["DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER"]))
	}
	return configured
}

// disablesFilter reports whether a value of DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER turns the disk filter off. KVBM compares
// with these two texts only: "True" and "yes" leave the filter on (ai-dynamo/dynamo, lib/bindings/kvbm/src/block_manager.rs).
func disablesFilter(value string) bool { return value == "true" || value == "1" }

// emitConfigured adds the settings of the tiers from the environment of the processes that hold GPU memory. The other
// processes of their cgroups inherit the same variables and would only repeat them.
func emitConfigured(ctx context.Context, sample *Sample, batch *Batch, processes []kvbmProcess) (found bool) {
	reading, _ := sample.Memory(ctx) // without a reading there are no processes; the memory collector reports why
	for _, p := range processes {
		if !slices.ContainsFunc(reading.Processes, func(holder GPUProcess) bool { return holder.PID == p.pid }) {
			continue
		}
		for tier, bytes := range p.configured.bytes {
			found = true
			batch.Gauge(metric.KVBMConfiguredCacheBytes, bytes, pidLabel(p.pid), p.comm, p.cgroup, tier)
		}
		if filter := p.configured.filter; filter != nil {
			batch.Gauge(metric.KVBMDiskFilterEnabled, number(*filter), pidLabel(p.pid), p.comm, p.cgroup)
		}
	}
	return found
}

// parseGigabytes parses a number of 10^9 bytes, such as 32 or 0.5. Like KVBM, it takes a value that does not parse for
// not given.
func parseGigabytes(text string) (bytes float64, given bool) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) || number < 0 || number > math.MaxInt64/1e9 {
		return 0, false
	}
	return math.Round(number * 1e9), true
}
