package roofline

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
)

// Model is what a decode step reads of a model. Nil and 0 are unknown.
type Model struct {
	// WeightsBytes are read in every step whatever the number of sequences: all weights but token embeddings, of which
	// a step reads a row, and experts.
	WeightsBytes float64 `json:"weights_bytes,omitempty"`
	// ExpertBytes are those of all experts; Experts is their number in a layer, and ExpertsUsed the number that a token
	// uses.
	ExpertBytes float64 `json:"expert_bytes,omitempty"`
	Experts     int     `json:"experts,omitempty"`
	ExpertsUsed int     `json:"experts_used,omitempty"`
	// KVBytesPerToken is what a sequence keeps of a token, in all layers.
	KVBytesPerToken float64 `json:"kv_bytes_per_token,omitempty"`
	// Windowed reports layers that attend to a part of the sequence only: they read less, by an unknown amount.
	Windowed bool `json:"windowed,omitempty"`
	// Drafted is the most tokens that speculative decoding adds to a step, 0 without it.
	Drafted int `json:"drafted,omitempty"`
}

// Shape is what config.json of a model has of its size.
type Shape struct {
	Layers   int `json:"layers"`
	KVHeads  int `json:"kv_heads"`
	HeadSize int `json:"head_size"`
	// LatentSize is the number of values of a token and layer with latent attention (DeepSeek), which has no heads in
	// its cache.
	LatentSize int `json:"latent_size,omitempty"`
	// EmbeddingBytes are of token embeddings that only a row of is read; 0 if the output layer shares them.
	EmbeddingBytes float64 `json:"embedding_bytes,omitempty"`
	Experts        int     `json:"experts,omitempty"`
	ExpertsUsed    int     `json:"experts_used,omitempty"`
	Windowed       bool    `json:"windowed,omitempty"`
	// Mixed reports layers without a KV cache, such as Mamba's: how many of them is not read.
	Mixed bool `json:"mixed,omitempty"`
}

// config are the members of config.json, by the names of transformers; those of models that also see are below
// text_config.
type config struct {
	Text   *config `json:"text_config"`
	Layers int     `json:"num_hidden_layers"`
	Heads  int     `json:"num_attention_heads"`
	// KVHeads is absent where each head has keys of its own.
	KVHeads  *int  `json:"num_key_value_heads"`
	HeadSize *int  `json:"head_dim"`
	Hidden   int   `json:"hidden_size"`
	Latent   int   `json:"kv_lora_rank"`
	Rope     int   `json:"qk_rope_head_dim"`
	Words    int   `json:"vocab_size"`
	Tied     *bool `json:"tie_word_embeddings"`

	Experts       int `json:"num_experts"`
	LocalExperts  int `json:"num_local_experts"`
	RoutedExperts int `json:"n_routed_experts"`
	Used          int `json:"num_experts_per_tok"`

	Window     *int     `json:"sliding_window"`
	UseWindow  *bool    `json:"use_sliding_window"`
	LayerTypes []string `json:"layer_types"`
	StateSize  int      `json:"ssm_state_size"`
	Mamba      int      `json:"mamba_d_state"`
}

// most bounds each number of a configuration: a foreign file must not make a figure infinite.
const most = 1 << 24

// ParseConfig reads config.json of a model.
func ParseConfig(text []byte) (Shape, error) {
	var c config
	if err := json.Unmarshal(text, &c); err != nil {
		return Shape{}, fmt.Errorf("config.json: %w", err)
	}
	if c.Text != nil && c.Text.Layers > 0 {
		tied := c.Tied
		c = *c.Text
		if c.Tied == nil {
			c.Tied = tied
		}
	}
	s := Shape{Layers: c.Layers, KVHeads: c.Heads, Experts: max(c.Experts, c.LocalExperts, c.RoutedExperts), ExpertsUsed: c.Used}
	if c.KVHeads != nil {
		s.KVHeads = *c.KVHeads
	}
	switch {
	case c.HeadSize != nil:
		s.HeadSize = *c.HeadSize
	case c.Heads > 0:
		s.HeadSize = c.Hidden / c.Heads
	}
	if c.Latent > 0 {
		s.LatentSize = c.Latent + c.Rope
	}
	for _, n := range []int{s.Layers, s.KVHeads, s.HeadSize, s.LatentSize, s.Experts, s.ExpertsUsed, c.Words, c.Hidden} {
		if n < 0 || n > most {
			return Shape{}, errors.New("config.json: a size is out of range")
		}
	}
	if s.Layers == 0 || s.KVHeads == 0 || s.HeadSize == 0 {
		return Shape{}, errors.New("config.json: it names no layers, heads and size of a head")
	}
	// Quantised checkpoints keep token embeddings at two bytes a value.
	const embeddingBytes = 2
	if c.Tied != nil && !*c.Tied {
		s.EmbeddingBytes = float64(c.Words) * float64(c.Hidden) * embeddingBytes
	}
	s.Windowed = c.Window != nil && *c.Window > 0 && (c.UseWindow == nil || *c.UseWindow)
	s.Mixed = c.StateSize > 0 || c.Mamba > 0
	for _, kind := range c.LayerTypes {
		s.Windowed = s.Windowed || kind == "sliding_attention" || kind == "chunked_attention"
		s.Mixed = s.Mixed || strings.Contains(kind, "linear") || strings.Contains(kind, "mamba") || strings.Contains(kind, "recurrent")
	}
	return s, nil
}

// WeightBytes is the size of the weights in a folder with files of these sizes, each weight counted once: model*.safetensors,
// else all .safetensors, else pytorch_model*.bin. It is 0 if there are none.
func WeightBytes(files map[string]int64) int64 {
	for _, of := range []struct{ prefix, suffix string }{{"model", ".safetensors"}, {"", ".safetensors"}, {"pytorch_model", ".bin"}} {
		sum := int64(0)
		for name, size := range files {
			if strings.HasPrefix(name, of.prefix) && strings.HasSuffix(name, of.suffix) {
				sum += size
			}
		}
		if sum > 0 {
			return sum
		}
	}
	return 0
}

// KVBytesPerToken is what a token takes in the cache, at so many bytes a value: 2 for f16, 1 for fp8, 34/32 for q8_0.
// It is 0 where layers without a cache are not counted.
func (s Shape) KVBytesPerToken(valueBytes float64) float64 {
	switch {
	case s.Mixed:
		return 0
	case s.LatentSize > 0:
		return float64(s.Layers) * float64(s.LatentSize) * valueBytes
	}
	const keysAndValues = 2
	return float64(s.Layers) * float64(s.KVHeads) * float64(s.HeadSize) * keysAndValues * valueBytes
}

// Model makes a model of files of weights and an engine's own bytes a token. Experts share the bytes of the files in a
// way that config.json does not show: such a model has no limit here, and its GGUF file has one.
func (s Shape) Model(weightsBytes, kvBytesPerToken float64) Model {
	m := Model{Experts: s.Experts, ExpertsUsed: s.ExpertsUsed, KVBytesPerToken: kvBytesPerToken, Windowed: s.Windowed || s.Mixed}
	if s.Experts == 0 {
		m.WeightsBytes = max(0, weightsBytes-s.EmbeddingBytes)
	}
	return m
}

// finite reports whether a figure can be used.
func finite(v float64) bool { return v > 0 && !math.IsInf(v, 0) }
