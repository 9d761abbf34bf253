package sim

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Config describes the engine and its speed. Every figure is one that a serving engine has.
type Config struct {
	// Model is the id that /v1/models lists and requests must name.
	Model string
	// Seed decides every answer, together with the request, and the jitter of step times.
	Seed uint64
	// MeanAnswerTokens is the mean length of answers that end by themselves: each token but the first is the last one
	// with the same probability. The first never is: an answer without text is an error to most clients.
	MeanAnswerTokens int

	// PrefillTokensPerSecond is how fast prompts are read; +Inf takes no time.
	PrefillTokensPerSecond float64
	// PrefillChunkTokens bounds the prompt tokens of one step (vLLM: max_num_batched_tokens), so that a long prompt
	// does not stall the answers in progress.
	PrefillChunkTokens int
	// DecodeBase is the fixed time of a decode step: reading the weights.
	DecodeBase time.Duration
	// DecodePerSequence is the time that each sequence adds to a step: reading its KV cache.
	DecodePerSequence time.Duration
	// JitterRatio makes every step up to this share shorter or longer; 0 to below 1.
	JitterRatio float64

	// MaxBatch bounds the sequences that run at once (vLLM: max_num_seqs).
	MaxBatch int
	// MaxModelTokens bounds prompt and answer of one request together.
	MaxModelTokens int
	// MaxPromptTokens bounds the prompt alone; with 0 only MaxModelTokens does. A longer prompt is refused. With
	// DropOnLongPrompt the model then disappears, as when a worker of Dynamo gets a prompt above its max_num_tokens.
	MaxPromptTokens  int
	DropOnLongPrompt bool
	// KVCacheTokens is how many tokens the KV cache holds; at least MaxModelTokens, so that every accepted request fits
	// when it runs alone.
	KVCacheTokens int
	KV            KV
	Memory        Memory

	// Vendor selects names, fields and formats.
	Vendor Vendor
	// CachedTokens reports the prompt's cached tokens in usage (vLLM: --enable-prompt-tokens-details).
	CachedTokens bool
	// Faults are the simulated faults; SetFaults changes them while the engine runs.
	Faults Faults

	// OnUse, if set, is called with the engine's use of resources every UseInterval while Run runs, and a last time,
	// with zero use, before Run returns. Calls never overlap.
	OnUse func(Use)
	// UseInterval is a tenth of a second if it is 0.
	UseInterval time.Duration
}

// Default is an 8B model on a small unified-memory machine: about 50 tokens/s for one stream,
// about 630 for a full batch, a KV cache of 60 GiB at 128 KiB a token.
func Default() Config {
	return Config{
		Model:                  "simulated-8b",
		Seed:                   1,
		MeanAnswerTokens:       200,
		PrefillTokensPerSecond: 3000,
		PrefillChunkTokens:     512,
		DecodeBase:             19 * time.Millisecond,
		DecodePerSequence:      time.Millisecond,
		JitterRatio:            0.05,
		MaxBatch:               32,
		MaxModelTokens:         32 << 10,
		KVCacheTokens:          480 << 10,
		KV: KV{
			TokensPerBlock: 16, BytesPerToken: 128 << 10, FreeRatio: 0.9, DiskFilter: true, Page: KVBMv1,
			Host: Link{BytesPerSecond: 50e9}, Disk: Link{BytesPerSecond: 5e9, Latency: 200 * time.Microsecond},
		},
		Memory: Memory{WeightBytes: 16 << 30, LoadBytesPerSecond: math.Inf(1), OverheadBytes: 1 << 30},
		Vendor: VLLM, CachedTokens: true,
	}
}

// check returns an error that names every invalid field, with the reason.
func (c Config) check() error {
	var problems []error
	refuse := func(field string, value any, why string) {
		problems = append(problems, fmt.Errorf("%s is %v: %s", field, value, why))
	}
	if c.Model == "" {
		refuse("Model", `""`, "requests must be able to name it")
	}
	if !(c.PrefillTokensPerSecond > 0) {
		refuse("PrefillTokensPerSecond", c.PrefillTokensPerSecond, "must be above 0")
	}
	if !(c.JitterRatio >= 0 && c.JitterRatio < 1) {
		refuse("JitterRatio", c.JitterRatio, "must be from 0 to below 1")
	}
	if per := c.KV.TokensPerBlock; per > 0 && c.KV.FreeBytes == nil && c.KVCacheTokens/per*per < c.MaxModelTokens {
		refuse("KVCacheTokens", c.KVCacheTokens, fmt.Sprintf("must hold one request of MaxModelTokens, %d, in whole blocks", c.MaxModelTokens))
	}
	if _, ok := c.Vendor.find(); !ok {
		refuse("Vendor", c.Vendor, fmt.Sprintf("must be one of %v", Vendors()))
	}
	if !slices.Contains([]KVBMPage{KVBMv1, KVBMv2, DynamoPrefixed}, c.KV.Page) {
		refuse("KV.Page", c.KV.Page, "is no page of KVBM")
	}
	if c.KV.FreeBytes != nil && !(c.KV.FreeRatio > 0 && c.KV.FreeRatio <= 1) {
		refuse("KV.FreeRatio", c.KV.FreeRatio, "must be above 0, to 1")
	}
	c.Faults.check(refuse)
	for _, b := range c.bounds() {
		if !(b.value >= b.least && b.value <= b.most) {
			refuse(b.field, b.value, fmt.Sprintf("must be from %v to %v", b.least, b.most))
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("simulated engine: %w", errors.Join(problems...))
	}
	return nil
}

// bound is the range of one field: tokens, sequences, bytes, bytes per second, or nanoseconds.
type bound struct {
	field              string
	value, least, most float64
}

func (c Config) bounds() []bound {
	const mostBytes = 1 << 50
	unlimited, hour := math.Inf(1), float64(time.Hour)
	return []bound{
		{"MeanAnswerTokens", float64(c.MeanAnswerTokens), 1, math.MaxInt32},
		{"PrefillChunkTokens", float64(c.PrefillChunkTokens), 1, math.MaxInt32},
		{"MaxBatch", float64(c.MaxBatch), 1, math.MaxInt32},
		{"MaxModelTokens", float64(c.MaxModelTokens), 2, math.MaxInt32}, // one of prompt, one of answer
		{"KVCacheTokens", float64(c.KVCacheTokens), 2, math.MaxInt32},
		{"MaxPromptTokens", float64(c.MaxPromptTokens), 0, math.MaxInt32},
		{"KV.TokensPerBlock", float64(c.KV.TokensPerBlock), 1, math.MaxInt32},
		{"KV.BytesPerToken", float64(c.KV.BytesPerToken), 1, 1 << 30},
		{"KV.HostBytes", float64(c.KV.HostBytes), 0, mostBytes},
		{"KV.DiskBytes", float64(c.KV.DiskBytes), 0, mostBytes},
		{"Memory.WeightBytes", float64(c.Memory.WeightBytes), 0, mostBytes},
		{"Memory.OverheadBytes", float64(c.Memory.OverheadBytes), 0, mostBytes},
		{"KV.Host.BytesPerSecond", c.KV.Host.BytesPerSecond, 1, unlimited},
		{"KV.Disk.BytesPerSecond", c.KV.Disk.BytesPerSecond, 1, unlimited},
		{"Memory.LoadBytesPerSecond", c.Memory.LoadBytesPerSecond, 1, unlimited},
		{"DecodeBase", float64(c.DecodeBase), 0, hour},
		{"DecodePerSequence", float64(c.DecodePerSequence), 0, hour},
		{"KV.Host.Latency", float64(c.KV.Host.Latency), 0, hour},
		{"KV.Disk.Latency", float64(c.KV.Disk.Latency), 0, hour},
	}
}

// stepTime returns the time of one step that reads so many prompt tokens and gives one token to each of so many
// sequences, before jitter. A step that only reads prompts has no decode part.
func (c Config) stepTime(prefillTokens, decoding int) time.Duration {
	d := time.Duration(math.Round(float64(prefillTokens) / c.PrefillTokensPerSecond * float64(time.Second)))
	if decoding > 0 {
		d += c.DecodeBase + time.Duration(decoding)*c.DecodePerSequence
	}
	return d
}

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
	// DiskFilter keeps blocks from the disk until they were computed twice. It is on in KVBM unless
	// DYN_KVBM_DISABLE_DISK_OFFLOAD_FILTER is set.
	DiskFilter bool
	// Host and Disk are the links that bring blocks back. Copying blocks down takes the engine no time, since it runs
	// in parallel to the work.
	Host, Disk Link
	// Page selects the names on KVBM's page.
	Page KVBMPage
	// ReportBytes adds the size of the cache to vLLM's page, as when vLLM is given its size (--kv-cache-memory-bytes).
	// Without it the page shows only tokens.
	ReportBytes bool
	// CountTiers adds the cached tokens by tier to vLLM's page, as vLLM has them since 0.32.
	CountTiers bool
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
