package sim

import (
	"errors"
	"fmt"
	"math"
	"time"
)

// Config says what the engine is and how fast. Every figure is one that a serving engine has.
type Config struct {
	// Model is the id that /v1/models lists and requests must name.
	Model string
	// Seed decides every answer, together with the request, and the jitter of step times.
	Seed uint64
	// MeanAnswerTokens is the mean length of answers that end by themselves: each token is the
	// last one with a chance of 1 in so many.
	MeanAnswerTokens int

	// PrefillTokensPerSecond is how fast prompts are read. +Inf: in no time.
	PrefillTokensPerSecond float64
	// PrefillChunkTokens bounds the prompt tokens of one step (vLLM: max_num_batched_tokens).
	// It is what keeps a long prompt from stalling the answers that are being written.
	PrefillChunkTokens int
	// DecodeBase is the time of a step that gives a token to nobody yet: reading the weights.
	DecodeBase time.Duration
	// DecodePerSequence is what each sequence adds to a step: reading its KV cache.
	DecodePerSequence time.Duration
	// JitterRatio makes every step up to this share shorter or longer; 0 to below 1.
	JitterRatio float64

	// MaxBatch bounds the sequences that run at once (vLLM: max_num_seqs).
	MaxBatch int
	// MaxModelTokens bounds prompt and answer of one request together.
	MaxModelTokens int
	// KVCacheTokens is how many tokens the KV cache holds; at least MaxModelTokens, so that
	// every request that is accepted fits once it is alone.
	KVCacheTokens int
	// TokensPerChunk is how many tokens one event of a stream carries.
	TokensPerChunk int

	// OnUse, if set, is told what the engine uses every tenth of a second while Run runs, and
	// a last time, with nothing in use, before Run returns. Calls never overlap.
	OnUse func(Use)
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
		TokensPerChunk:         1,
	}
}

// check names every field that has no meaning, and why.
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
	if c.KVCacheTokens < c.MaxModelTokens {
		refuse("KVCacheTokens", c.KVCacheTokens, fmt.Sprintf("must hold one request of MaxModelTokens, %d", c.MaxModelTokens))
	}
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
		{"TokensPerChunk", c.TokensPerChunk, 1},
	}
}

type timeField struct {
	name  string
	value time.Duration
}

func (c Config) times() []timeField {
	return []timeField{{"DecodeBase", c.DecodeBase}, {"DecodePerSequence", c.DecodePerSequence}}
}

// stepTime is the time of one step that reads so many prompt tokens and gives one token to each
// of so many sequences, before jitter. A step that only reads prompts has no decode part.
func (c Config) stepTime(prefillTokens, decoding int) time.Duration {
	d := time.Duration(math.Round(float64(prefillTokens) / c.PrefillTokensPerSecond * float64(time.Second)))
	if decoding > 0 {
		d += c.DecodeBase + time.Duration(decoding)*c.DecodePerSequence
	}
	return d
}
