package roofline

import (
	"math"
	"reflect"
	"testing"
)

func TestShapesOfConfigurations(t *testing.T) {
	for name, test := range map[string]struct {
		config string
		want   Shape
		bytes  float64 // of a token in the cache at f16
	}{
		"Llama 3.1 8B": {
			`{"num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"hidden_size":4096,"vocab_size":128256,"tie_word_embeddings":false}`,
			Shape{Layers: 32, KVHeads: 8, HeadSize: 128, EmbeddingBytes: 128256 * 4096 * 2}, 131072,
		},
		"gpt-oss-120b": {
			`{"num_hidden_layers":36,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,"hidden_size":2880,"num_local_experts":128,"num_experts_per_tok":4,"sliding_window":128,"layer_types":["sliding_attention","full_attention"]}`,
			Shape{Layers: 36, KVHeads: 8, HeadSize: 64, Experts: 128, ExpertsUsed: 4, Windowed: true}, 73728,
		},
		"DeepSeek-V3": {
			`{"num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,"hidden_size":7168,"kv_lora_rank":512,"qk_rope_head_dim":64,"n_routed_experts":256,"num_experts_per_tok":8}`,
			Shape{Layers: 61, KVHeads: 128, HeadSize: 56, LatentSize: 576, Experts: 256, ExpertsUsed: 8}, 70272,
		},
		"Qwen2.5 with a window that is off": {
			`{"num_hidden_layers":28,"num_attention_heads":28,"num_key_value_heads":4,"hidden_size":3584,"sliding_window":131072,"use_sliding_window":false,"tie_word_embeddings":true}`,
			Shape{Layers: 28, KVHeads: 4, HeadSize: 128}, 57344,
		},
		"a model that sees": {
			`{"tie_word_embeddings":true,"text_config":{"num_hidden_layers":2,"num_attention_heads":4,"hidden_size":64}}`,
			Shape{Layers: 2, KVHeads: 4, HeadSize: 16}, 512,
		},
		"linear attention in some layers": {
			`{"num_hidden_layers":48,"num_attention_heads":16,"num_key_value_heads":2,"head_dim":256,"layer_types":["linear_attention","full_attention"]}`,
			Shape{Layers: 48, KVHeads: 2, HeadSize: 256, Mixed: true}, 0,
		},
	} {
		got, err := ParseConfig([]byte(test.config))
		if err != nil || !reflect.DeepEqual(got, test.want) || got.KVBytesPerToken(2) != test.bytes {
			t.Errorf("%s: %+v (%g bytes a token), %v", name, got, got.KVBytesPerToken(2), err)
		}
	}
	for _, bad := range []string{"", "[]", "{}", `{"num_hidden_layers":-1,"num_attention_heads":1,"hidden_size":1}`,
		`{"num_hidden_layers":1e9,"num_attention_heads":1,"hidden_size":64}`, `{"num_hidden_layers":99999999,"num_attention_heads":1,"hidden_size":64}`} {
		if shape, err := ParseConfig([]byte(bad)); err == nil {
			t.Errorf("%q: %+v", bad, shape)
		}
	}
}

// TestWeightsOfAFolderAreCountedOnce: folders of the Hub have weights a second time, in another format or under names of
// their maker's.
func TestWeightsOfAFolderAreCountedOnce(t *testing.T) {
	for name, test := range map[string]struct {
		files map[string]int64
		want  int64
	}{
		"two formats":      {map[string]int64{"model.safetensors": 7, "pytorch_model.bin": 7, "training_args.bin": 1}, 7},
		"the maker's own":  {map[string]int64{"model-00001-of-00002.safetensors": 3, "model-00002-of-00002.safetensors": 4, "consolidated.safetensors": 7}, 7},
		"only the maker's": {map[string]int64{"consolidated.safetensors": 7}, 7},
		"PyTorch's":        {map[string]int64{"pytorch_model-00001-of-00002.bin": 3, "pytorch_model-00002-of-00002.bin": 4, "optimizer.bin": 9}, 7},
		"none":             {map[string]int64{"config.json": 7, "model.gguf": 7}, 0},
	} {
		if got := WeightBytes(test.files); got != test.want {
			t.Errorf("%s: %d bytes, want %d", name, got, test.want)
		}
	}
}

func TestEmbeddingsAreNotReadInAStep(t *testing.T) {
	shape := Shape{Layers: 1, KVHeads: 1, HeadSize: 1, EmbeddingBytes: 1e9}
	if got := shape.Model(16e9, 7); got.WeightsBytes != 15e9 || got.KVBytesPerToken != 7 {
		t.Errorf("%+v", got)
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(`{"num_hidden_layers":32,"num_attention_heads":32,"hidden_size":4096,"text_config":{"num_hidden_layers":1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		shape, err := ParseConfig(text)
		if err != nil {
			return
		}
		if bytes := shape.KVBytesPerToken(2); !(bytes >= 0) || math.IsInf(bytes, 0) || shape.EmbeddingBytes < 0 || shape.Layers < 1 {
			t.Errorf("%+v", shape)
		}
	})
}
