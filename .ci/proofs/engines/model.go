package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strconv"
)

// sizes of a Llama.
type sizes struct {
	width, layers, feedForward, heads, kvHeads, context int
	float                                               int // bytes of a weight
}

func (s sizes) headSize() int { return s.width / s.heads }

var (
	// tiny computes a thousand tokens a second on one core, without vector instructions too.
	tiny = sizes{width: 256, layers: 2, feedForward: 512, heads: 4, kvHeads: 2, context: 32768, float: 4}
	// large has 5.4 GiB of 16-bit weights and a KV cache of 64 KiB a token.
	large = sizes{width: 4096, layers: 16, feedForward: 11008, heads: 32, kvHeads: 8, context: 65536, float: 2}
	// bySize are models of 16-bit weights: one for a CPU, of which a step takes some 10 ms, and three for a GPU, of 1.4, 5.4
	// and 25.8 GiB.
	bySize = map[string]sizes{
		"medium": {width: 768, layers: 6, feedForward: 2048, heads: 12, kvHeads: 4, context: 32768, float: 2},
		"small":  {width: 2048, layers: 16, feedForward: 5504, heads: 16, kvHeads: 8, context: 65536, float: 2},
		"large":  large,
		"huge":   {width: 8192, layers: 16, feedForward: 28672, heads: 64, kvHeads: 8, context: 65536, float: 2},
	}
)

const (
	vocabularySize       = 8000 // Dynamo's mocker answers with token numbers up to some thousands
	beginToken, endToken = "<|begin_of_text|>", "<|eot|>"
)

// tokenizer is a byte-level BPE: tokens by their number, and the pairs that are merged, in order.
type tokenizer struct{ tokens, merges []string }

// newTokenizer has a token for each of the 256 bytes, as GPT-2 writes them: printable ones as themselves, the others from U+0100 on. It
// merges next to nothing, so that texts have about as many tokens as letters.
func newTokenizer() tokenizer {
	t := tokenizer{tokens: []string{beginToken, endToken}}
	next := rune(0x100)
	for b := range rune(256) {
		if b >= '!' && b <= '~' || b >= 0xA1 && b <= 0xAC || b >= 0xAE {
			t.tokens = append(t.tokens, string(b))
			continue
		}
		t.tokens = append(t.tokens, string(next))
		next++
	}
	for _, pair := range [][2]string{{"h", "e"}, {"Ġ", "t"}, {"Ġt", "he"}} {
		t.merges = append(t.merges, pair[0]+" "+pair[1])
		t.tokens = append(t.tokens, pair[0]+pair[1])
	}
	for len(t.tokens) < vocabularySize {
		t.tokens = append(t.tokens, "Ġ"+strconv.Itoa(len(t.tokens))+"th")
	}
	return t
}

// chatTemplate is Jinja, as engines read it.
const chatTemplate = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}{% if add_generation_prompt %}assistant: {% endif %}"

// writeModel writes a folder that engines read as a Llama: configuration and tokenizer, no weights.
func writeModel(folder string, s sizes, t tokenizer) error {
	vocabulary := map[string]int{}
	for i, token := range t.tokens {
		vocabulary[token] = i
	}
	special := func(id int, content string) any {
		return map[string]any{"id": id, "content": content, "single_word": false, "lstrip": false, "rstrip": false, "normalized": false, "special": true}
	}
	byteLevel := map[string]any{"type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": true}
	files := map[string]any{
		"tokenizer.json": map[string]any{
			"version": "1.0", "truncation": nil, "padding": nil, "normalizer": nil, "post_processor": nil,
			"added_tokens":  []any{special(0, beginToken), special(1, endToken)},
			"pre_tokenizer": byteLevel, "decoder": byteLevel,
			"model": map[string]any{
				"type": "BPE", "dropout": nil, "unk_token": nil, "continuing_subword_prefix": nil, "end_of_word_suffix": nil,
				"fuse_unk": false, "byte_fallback": false, "ignore_merges": false, "vocab": vocabulary, "merges": t.merges,
			},
		},
		"tokenizer_config.json": map[string]any{
			"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": beginToken, "eos_token": endToken,
			"model_max_length": s.context, "chat_template": chatTemplate,
		},
		"generation_config.json": map[string]any{"bos_token_id": 0, "eos_token_id": 1},
		"config.json": map[string]any{
			"architectures": []string{"LlamaForCausalLM"}, "model_type": "llama", "torch_dtype": "bfloat16",
			"hidden_size": s.width, "intermediate_size": s.feedForward, "num_hidden_layers": s.layers,
			"num_attention_heads": s.heads, "num_key_value_heads": s.kvHeads, "head_dim": s.headSize(),
			"vocab_size": len(t.tokens), "max_position_embeddings": s.context,
			"rms_norm_eps": 1e-5, "rope_theta": 500000.0, "hidden_act": "silu",
			"bos_token_id": 0, "eos_token_id": 1, "tie_word_embeddings": false,
		},
	}
	errs := []error{os.MkdirAll(folder, 0o755)}
	for name, value := range files {
		text, err := json.Marshal(value)
		errs = append(errs, err, os.WriteFile(filepath.Join(folder, name), text, 0o644))
	}
	return errors.Join(errs...)
}
