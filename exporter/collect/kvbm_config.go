package collect

import (
	"context"
	"math"
	"strconv"

	"github.com/umascope/umascope/exporter/kernelfs"
	"github.com/umascope/umascope/exporter/metric"
)

// cacheVariables are the sizes that an engine was started with, by tier. What KVBM makes of them: a number of
// whole blocks that have at most so many times 10^9 bytes, over all workers of a leader (ai-dynamo/dynamo,
// lib/llm/src/block_manager/distributed/leader.rs). A number of blocks can be given instead, in variables
// that are not read.
func cacheVariables() map[string]string {
	return map[string]string{metric.TierHost: "DYN_KVBM_CPU_CACHE_GB", metric.TierDisk: "DYN_KVBM_DISK_CACHE_GB"}
}

// emitConfigured tells the sizes of the tiers from the environment of the processes that hold GPU memory. Those
// around them have inherited the same, and would only repeat it. A process that may not be looked into
// is passed over, as for its descriptors.
func (c *kvbmCollector) emitConfigured(ctx context.Context, sample *Sample, batch *Batch) (found bool) {
	if c.host.ForeignGPU {
		return false
	}
	reading, _ := sample.Memory(ctx) // without one there are no processes; the memory collector says why
	looked := map[uint32]bool{}
	for _, p := range reading.Processes {
		if looked[p.PID] { // it uses several GPUs
			continue
		}
		looked[p.PID] = true
		environ, _ := kernelfs.ReadEnviron(c.host.Proc, p.PID)
		for tier, variable := range cacheVariables() {
			if bytes, given := parseGigabytes(environ[variable]); given {
				found = true
				batch.Gauge(metric.KVBMConfiguredCacheBytes, bytes, strconv.FormatUint(uint64(p.PID), 10), p.Comm, p.Cgroup, tier)
			}
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
