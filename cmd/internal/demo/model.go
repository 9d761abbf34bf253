package demo

import "github.com/umascope/umascope/loadgen/sim"

// The engine serves a simulated model of 33 billion parameters: 21.5 GiB of weights in a little less than six bits, and in
// the quick demo 8 GiB in a little more than two; 60 layers of 52 heads of 128 values, no heads shared. Its 16-bit KV
// cache takes 1560 KiB per token, so that the prompts of a short run fill the memory and push blocks out to the drive.
const (
	modelName     = "simulated-33b"
	weightBytes   = 43 * gib / 2
	quickWeights  = 8 * gib
	bytesPerToken = 2 * 2 * 60 * 52 * 128
	blockTokens   = 16
	blockBytes    = bytesPerToken * blockTokens
	contextTokens = 4096
)

// Memory that the engine takes, in any arm.
const (
	// overheadBytes are taken with the weights: CUDA's context, kernels, graphs.
	overheadBytes = 4 * gib
	// startHeap is the heap of its processes when it starts.
	startHeap = 3 * gib
	// kvShare is the share of free memory that becomes the KV cache, as in the published runs.
	kvShare = 0.9

	// workspaceBytes of the GPU and heapBytes are the growth while it serves: buffers for the shapes that come, caches
	// of allocators, heaps of its processes. They reach these sizes after grownTokens of prompts, and stay until it
	// ends.
	//
	// A tenth of the free memory is left for them, which is less. The kernel makes room by evicting the page cache that
	// was not used for longest: this is why the page cache that one arm leaves decays from run to run of the other.
	workspaceBytes = 2 * gib
	heapBytes      = 3 * gib
	grownTokens    = 2048
)

// Tiers of the KV cache. The tier in the host's memory is pinned before any other size is chosen, as by KVBM's workers.
const (
	hostTier = 8 * gib
	diskTier = 128 * gib
	tierFile = "/tmp/dynamo-kvbm-disk-cache-simulated (deleted)"
)

// Speeds.
const (
	// loadRate is the most that the drive gives, in bytes a second. Real engines take several times as long to load.
	loadRate = 12 * gib
	// A prompt is computed at 6.5 GB of KV cache a second and read back from the drive at 12.5 GB: nearly twice as
	// fast, and within the write and read rates of the drive.
	prefillRate = 4096 // tokens per second
	driveRate   = 12.5e9
)

// engineOptions are the options in which starts of an engine may differ within one arm.
type engineOptions struct {
	seed   uint64 // of the step times
	faults sim.Faults
	// kvBytes is the size of the KV cache, as of --kv-cache-memory-bytes of vLLM; 0 for kvShare of what is free.
	kvBytes int64
}

// engineConfig returns the configuration of an engine with so many bytes of weights, the same in every arm.
func engineConfig(o engineOptions, weights int64) sim.Config {
	c := sim.Default()
	c.Model, c.Seed, c.Faults = modelName, o.seed, o.faults
	c.PrefillTokensPerSecond, c.PrefillChunkTokens = prefillRate, 512
	c.MaxModelTokens = contextTokens
	c.KV.TokensPerBlock, c.KV.BytesPerToken = blockTokens, bytesPerToken
	c.KV.HostBytes, c.KV.DiskBytes, c.KV.DiskFilter = hostTier, diskTier, false
	c.KV.Disk.BytesPerSecond = driveRate
	c.KV.Page, c.KV.FreeRatio, c.KV.ReportBytes = sim.KVBMv2, kvShare, true
	c.Memory = sim.Memory{WeightBytes: weights, LoadBytesPerSecond: loadRate, OverheadBytes: overheadBytes}
	return c
}
