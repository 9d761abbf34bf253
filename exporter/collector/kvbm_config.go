package collector

import (
	"context"
	"io/fs"
	"math"
	"slices"
	"strconv"

	"github.com/umascope/umascope/exporter/hostfs"
	"github.com/umascope/umascope/exporter/metric"
)

// cacheVariables are the sizes that an engine was started with, by tier. What KVBM makes of them: a number of
// whole blocks that have at most so many times 10^9 bytes, over all workers of a leader (ai-dynamo/dynamo,
// lib/llm/src/block_manager/distributed/leader.rs). A number of blocks can be given instead, in variables
// that are not read.
func cacheVariables() map[string]string {
	return map[string]string{metric.TierHost: "DYN_KVBM_CPU_CACHE_GB", metric.TierDisk: "DYN_KVBM_DISK_CACHE_GB"}
}

// configuredTiers reads the sizes of tiers, in bytes by tier, that a process was started with. Of one that may not
// be looked into there are none.
func configuredTiers(proc fs.FS, pid uint32) map[string]float64 {
	sizes := map[string]float64{}
	environ, _ := hostfs.ReadEnviron(proc, pid)
	for tier, variable := range cacheVariables() {
		if bytes, given := parseGigabytes(environ[variable]); given {
			sizes[tier] = bytes
		}
	}
	return sizes
}

// emitConfigured tells the sizes of the tiers from the environment of the processes that hold GPU memory. Those
// around them have inherited the same, and would only repeat it.
func emitConfigured(ctx context.Context, sample *Sample, batch *Batch, processes []kvbmProcess) (found bool) {
	reading, _ := sample.Memory(ctx) // without one there are no processes; the memory collector says why
	for _, p := range processes {
		if !slices.ContainsFunc(reading.Processes, func(holder GPUProcess) bool { return holder.PID == p.pid }) {
			continue
		}
		for tier, bytes := range p.configured {
			found = true
			batch.Gauge(metric.KVBMConfiguredCacheBytes, bytes, pidLabel(p.pid), p.comm, p.cgroup, tier)
		}
	}
	return found
}

// parseGigabytes reads a number of 10^9 bytes, such as 32 or 0.5. What KVBM does not understand it takes for
// not given.
func parseGigabytes(text string) (bytes float64, given bool) {
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(number) || number < 0 || number > math.MaxInt64/1e9 {
		return 0, false
	}
	return math.Round(number * 1e9), true
}
