package demo

import "github.com/umascope/umascope/loadgen/sim"

// The engine serves a model of 33 billion parameters, simulated: 21.5 GiB of weights in a little less than six bits, 60
// layers of 52 heads of 128 values, none of them shared. Its KV cache in 16 bits takes 1560 KiB a token, so that what a
// short run asks fills the memory and pushes blocks out to the drive.
const (
	modelName     = "simulated-33b"
	weightBytes   = 43 * gib / 2
	bytesPerToken = 2 * 2 * 60 * 52 * 128
	blockTokens   = 16
	blockBytes    = bytesPerToken * blockTokens
	contextTokens = 4096
)

// What the engine takes of the machine's memory, in any arm.
const (
	// overheadBytes are there with the weights: CUDA's context, kernels, graphs.
	overheadBytes = 4 * gib
	// startHeap is that of its processes when it starts.
	startHeap = 3 * gib
	// kvShare of what CUDA calls free then becomes the KV cache, as in the published runs.
	kvShare = 0.9

	// workspaceBytes of the GPU and heapBytes are what it takes once it serves: buffers for the shapes that come, caches of
	// allocators, heaps of its processes. They have grown to that after so many tokens of prompts, and stay until it ends.
	//
	// A tenth of what was free is left for it, which is less. The kernel makes up for it with the page cache that was
	// not used for longest: that is why what one arm has left in it decays from run to run of the other.
	workspaceBytes = 2 * gib
	heapBytes      = 3 * gib
	grownTokens    = 4096
)

// Tiers of the KV cache. The one in the host's memory is pinned before anything is sized, as by KVBM's workers.
const (
	hostTier = 8 * gib
	diskTier = 128 * gib
	tierFile = "/tmp/dynamo-kvbm-disk-cache-simulated (deleted)"
)

// Speeds. Those of loading are on the machine's clock; those of requests are on the wall clock, as their latencies are.
const (
	loadRate  = 4 * gib // bytes per second
	imageRate = 5 * gib
	// A prompt is computed at 6.5 GB of KV cache a second and brought back from the drive at 12.5: nearly twice as fast,
	// and within what the drive of a machine on the wall clock can write and read.
	prefillRate = 4096 // tokens per second
	driveRate   = 12.5e9
)

// engineOptions are what may differ from one start of an engine to the next, whatever the arm.
type engineOptions struct {
	seed   uint64 // makes the times of its steps differ
	faults sim.Faults
}

// engineConfig is the engine of every arm.
func engineConfig(o engineOptions) sim.Config {
	c := sim.Default()
	c.Model, c.Seed, c.Faults = modelName, o.seed, o.faults
	c.PrefillTokensPerSecond, c.PrefillChunkTokens = prefillRate, 512
	c.MaxModelTokens = contextTokens
	c.KV.TokensPerBlock, c.KV.BytesPerToken = blockTokens, bytesPerToken
	c.KV.HostBytes, c.KV.DiskBytes, c.KV.DiskFilter = hostTier, diskTier, false
	c.KV.Disk.BytesPerSecond = driveRate
	c.KV.Page, c.KV.FreeRatio, c.KV.TellBytes = sim.KVBMv2, kvShare, true
	c.Memory = sim.Memory{WeightBytes: weightBytes, LoadBytesPerSecond: loadRate, OverheadBytes: overheadBytes}
	return c
}
