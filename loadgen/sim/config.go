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
	// Preempt admits requests as soon as there is room for their prompt. When the KV cache is then full, the request
	// admitted last loses its place and is computed again later (vLLM, SGLang). Without it, a request is admitted only
	// with room for the longest answer it may get (TensorRT-LLM: GUARANTEED_NO_EVICT).
	Preempt bool
	KV      KV
	Memory  Memory

	// Vendor selects names, fields and formats.
	Vendor Vendor
	Answer Answer
	// Faults are the simulated faults; SetFaults changes them while the engine runs.
	Faults Faults

	// OnUse, if set, is called with the engine's use of resources every UseInterval while Run runs, and a last time,
	// with zero use, before Run returns. Calls never overlap.
	OnUse func(Use)
	// UseInterval is a tenth of a second if it is 0.
	UseInterval time.Duration
	// OnLog, if set, gets the lines that KVBM would log about its tiers, without line ends. It must
	// return at once, and must not call the engine.
	OnLog func(line string)
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
		Preempt:                true,
		KV: KV{
			TokensPerBlock: 16, BytesPerToken: 128 << 10, FreeRatio: 0.9, DiskFilter: true, Page: KVBMv1,
			Host: Link{BytesPerSecond: 50e9}, Disk: Link{BytesPerSecond: 5e9, Latency: 200 * time.Microsecond},
		},
		Memory: Memory{WeightBytes: 16 << 30, LoadBytesPerSecond: math.Inf(1), OverheadBytes: 1 << 30},
		Vendor: VLLM,
		Answer: Answer{TokensPerChunk: 1, CachedTokens: true, Usage: UsageOnRequest},
	}
}

// Answer defines how answers are cut and their parts.
type Answer struct {
	// TokensPerChunk is how many tokens one event of a stream carries. With MostTokensPerChunk above it the number is
	// drawn for each event, as speculative decoding accepts varying numbers.
	TokensPerChunk, MostTokensPerChunk int
	// ReasoningTokens is how many tokens of a chat's answer are reasoning, at most the whole answer.
	ReasoningTokens int
	// ToolCalls answers a chat that offers tools with a call of the first one.
	ToolCalls bool
	// CachedTokens reports the prompt's cached tokens in usage (vLLM: --enable-prompt-tokens-details,
	// SGLang: --enable-cache-report).
	CachedTokens bool
	Usage        UsageForm
}

// UsageForm is the place of the usage in a stream.
type UsageForm string

// The forms.
const (
	UsageOnRequest  UsageForm = "on_request"  // its own event before [DONE], if requested
	UsageInLast     UsageForm = "in_last"     // in the last event with a choice (SGLang 0.4.3 to 0.4.7)
	UsageZeroAlways UsageForm = "zero_always" // zeros in every event and the figures in the last (Ollama)
	UsageNever      UsageForm = "never"
)

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
	if !slices.Contains([]UsageForm{UsageOnRequest, UsageInLast, UsageZeroAlways, UsageNever}, c.Answer.Usage) {
		refuse("Answer.Usage", c.Answer.Usage, "is no form of usage")
	}
	c.checkKV(refuse)
	c.Faults.check(refuse)
	for _, f := range c.counts() {
		if f.value < f.least || f.value > math.MaxInt32 {
			refuse(f.name, f.value, fmt.Sprintf("must be from %d to %d", f.least, math.MaxInt32))
		}
	}
	for _, f := range c.times() {
		if f.value < 0 || f.value > time.Hour {
			refuse(f.name, f.value, "must be from 0 to 1h")
		}
	}
	if len(problems) > 0 {
		return fmt.Errorf("simulated engine: %w", errors.Join(problems...))
	}
	return nil
}

type countField struct {
	name         string
	value, least int
}

func (c Config) counts() []countField {
	return []countField{
		{"MeanAnswerTokens", c.MeanAnswerTokens, 1},
		{"PrefillChunkTokens", c.PrefillChunkTokens, 1},
		{"MaxBatch", c.MaxBatch, 1},
		{"MaxModelTokens", c.MaxModelTokens, 2}, // one of prompt, one of answer
		{"KVCacheTokens", c.KVCacheTokens, 2},
		{"MaxPromptTokens", c.MaxPromptTokens, 0},
		{"KV.TokensPerBlock", c.KV.TokensPerBlock, 1},
		{"Answer.TokensPerChunk", c.Answer.TokensPerChunk, 1},
		{"Answer.MostTokensPerChunk", c.Answer.MostTokensPerChunk, 0},
		{"Answer.ReasoningTokens", c.Answer.ReasoningTokens, 0},
	}
}

type timeField struct {
	name  string
	value time.Duration
}

func (c Config) times() []timeField {
	return []timeField{
		{"DecodeBase", c.DecodeBase}, {"DecodePerSequence", c.DecodePerSequence},
		{"KV.Host.Latency", c.KV.Host.Latency}, {"KV.Disk.Latency", c.KV.Disk.Latency},
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
