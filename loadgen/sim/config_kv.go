package sim

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// KV defines the blocks of the KV cache, its size and the tiers below it. The zero value of a tier's size turns it off.
type KV struct {
	// TokensPerBlock is the size of a block (vLLM: block_size, 16; TensorRT-LLM: 32).
	TokensPerBlock int
	// BytesPerToken is the size of a token: 2 x layers x KV heads x head size x bytes of a value.
	BytesPerToken int64
	// FreeBytes, if set, returns how much device memory is free when the engine has loaded its weights. FreeRatio of it
	// becomes the KV cache, and KVCacheTokens is ignored.
	FreeBytes func() int64
	FreeRatio float64

	// HostBytes and DiskBytes are the sizes of the tiers below the device (DYN_KVBM_CPU_CACHE_GB and
	// DYN_KVBM_DISK_CACHE_GB). Without a host tier, the disk is written from the device.
	HostBytes, DiskBytes int64
	// DiskFilter keeps blocks from the disk until they were wanted twice. It is on in KVBM unless
	// DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER is set.
	DiskFilter bool
	// Host and Disk are the links that bring blocks back. Copying blocks down takes the engine no time, since it runs
	// in parallel to the work.
	Host, Disk Link
	// Page selects the names on KVBM's page.
	Page KVBMPage
	// TellBytes adds the size of the cache to vLLM's page, as when vLLM is given its size (--kv-cache-memory-bytes).
	// Without it the page shows only tokens.
	TellBytes bool
	// NoReuse turns prefix caching off: every prompt is read whole.
	NoReuse bool
}

// Link is the path from a tier to the device. Concurrent transfers queue up.
type Link struct {
	BytesPerSecond float64 // +Inf takes no time
	Latency        time.Duration
}

// time returns how long so many bytes take, without waiting for other transfers.
func (l Link) time(bytes int64) time.Duration {
	if bytes == 0 {
		return 0
	}
	return l.Latency + time.Duration(math.Round(float64(bytes)/l.BytesPerSecond*float64(time.Second)))
}

// Memory is the engine's memory apart from the KV cache, for Use.
type Memory struct {
	// WeightBytes are read from their file at LoadBytesPerSecond while the engine starts; +Inf takes no time. They stay
	// on the device with OverheadBytes.
	WeightBytes        int64
	LoadBytesPerSecond float64
	OverheadBytes      int64
	ManagedBytes       int64
}

// loading returns how long the weights take to load.
func (m Memory) loading() time.Duration {
	return Link{BytesPerSecond: m.LoadBytesPerSecond}.time(m.WeightBytes)
}

// BlockBytes returns the size of one KV block.
func (k KV) BlockBytes() int64 { return k.BytesPerToken * int64(k.TokensPerBlock) }

// deviceBlocks returns how many blocks the device has room for, computed when the engine starts.
func (c Config) deviceBlocks() int {
	if c.KV.FreeBytes == nil {
		return c.KVCacheTokens / c.KV.TokensPerBlock
	}
	return int(max(0, c.KV.FreeRatio*float64(c.KV.FreeBytes())) / float64(c.KV.BlockBytes()))
}

// tiers returns the size of all tiers. It fails if one request of the largest size does not fit; engines refuse to
// start then.
func (c Config) tiers() (cacheConfig, error) {
	blocks := c.deviceBlocks()
	if tokens := blocks * c.KV.TokensPerBlock; tokens < c.MaxModelTokens {
		return cacheConfig{}, fmt.Errorf("simulated engine: the KV cache has room for %d tokens, less than one request of MaxModelTokens, %d", tokens, c.MaxModelTokens)
	}
	return cacheConfig{
		Device: blocks,
		Host:   int(c.KV.HostBytes / c.KV.BlockBytes()),
		Disk:   int(c.KV.DiskBytes / c.KV.BlockBytes()),
		Filter: c.KV.DiskFilter,
	}, nil
}

func (c Config) checkKV(refuse func(field string, value any, why string)) {
	k := c.KV
	if k.BytesPerToken < 1 || k.BytesPerToken > 1<<30 {
		refuse("KV.BytesPerToken", k.BytesPerToken, "must be from 1 to 2^30")
	}
	if !slices.Contains([]KVBMPage{KVBMv1, KVBMv2, DynamoPrefixed}, k.Page) {
		refuse("KV.Page", k.Page, "is no page of KVBM")
	}
	if k.FreeBytes != nil && !(k.FreeRatio > 0 && k.FreeRatio <= 1) {
		refuse("KV.FreeRatio", k.FreeRatio, "must be above 0, to 1")
	}
	for name, bytes := range map[string]int64{
		"KV.HostBytes": k.HostBytes, "KV.DiskBytes": k.DiskBytes, "Memory.WeightBytes": c.Memory.WeightBytes,
		"Memory.OverheadBytes": c.Memory.OverheadBytes, "Memory.ManagedBytes": c.Memory.ManagedBytes,
	} {
		if bytes < 0 || bytes > 1<<50 {
			refuse(name, bytes, "must be from 0 to 2^50")
		}
	}
	for name, rate := range map[string]float64{
		"KV.Host.BytesPerSecond": k.Host.BytesPerSecond, "KV.Disk.BytesPerSecond": k.Disk.BytesPerSecond,
		"Memory.LoadBytesPerSecond": c.Memory.LoadBytesPerSecond,
	} {
		if !(rate >= 1) {
			refuse(name, rate, "must be at least 1")
		}
	}
}
