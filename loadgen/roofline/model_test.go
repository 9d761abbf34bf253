package roofline

import (
	"bytes"
	"encoding/binary"
	"math"
	"reflect"
	"strings"
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

func TestEmbeddingsAreNotReadInAStep(t *testing.T) {
	shape := Shape{Layers: 1, KVHeads: 1, HeadSize: 1, EmbeddingBytes: 1e9}
	if got := shape.Model(16e9, 7); got.WeightsBytes != 15e9 || got.KVBytesPerToken != 7 {
		t.Errorf("%+v", got)
	}
}

// gguf writes a header of a model with two layers: f16, with experts at MXFP4 if there are any.
func gguf(experts uint32) []byte {
	var b bytes.Buffer
	var put func(values ...any)
	put = func(values ...any) {
		for _, v := range values {
			if text, is := v.(string); is {
				put(uint64(len(text)))
				b.WriteString(text)
				continue
			}
			_ = binary.Write(&b, binary.LittleEndian, v)
		}
	}
	b.WriteString("GGUF")
	tensors, pairs := uint64(3), uint64(7)
	if experts > 0 {
		tensors, pairs = 4, 9
	}
	put(uint32(3), tensors, pairs)
	put("general.architecture", uint32(ggufString), "llama")
	put("llama.block_count", uint32(ggufUint32), uint32(2))
	put("llama.attention.head_count", uint32(ggufUint32), uint32(32))
	put("llama.attention.head_count_kv", uint32(ggufArray), uint32(ggufUint32), uint64(2), uint32(4), uint32(8))
	put("llama.embedding_length", uint32(ggufUint64), uint64(4096))
	put("llama.rope.freq_base", uint32(6), float32(10000))
	put("tokenizer.ggml.tokens", uint32(ggufArray), uint32(ggufString), uint64(2), "a", "b")
	if experts > 0 {
		put("llama.expert_count", uint32(ggufUint32), experts, "llama.expert_used_count", uint32(ggufUint32), uint32(2))
	}
	put("token_embd.weight", uint32(2), uint64(4096), uint64(1000), uint32(1), uint64(0))
	put("output.weight", uint32(2), uint64(4096), uint64(1000), uint32(1), uint64(0))
	put("blk.0.attn_q.weight", uint32(2), uint64(4096), uint64(4096), uint32(8), uint64(0))
	if experts > 0 {
		put("blk.0.ffn_up_exps.weight", uint32(3), uint64(4096), uint64(64), uint64(experts), uint32(39), uint64(0))
	}
	return b.Bytes()
}

func TestHeaderOfAGGUFFile(t *testing.T) {
	const output, query = 4096 * 1000 * 2, 4096 * 4096 * 34 / 32
	got, err := ReadGGUF(bytes.NewReader(gguf(0)))
	want := GGUF{Shape: Shape{Layers: 2, KVHeads: 8, HeadSize: 128, EmbeddingBytes: output}, WeightsBytes: output + query}
	if err != nil || got != want || got.Model(2).KVBytesPerToken != 8192 {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = ReadGGUF(bytes.NewReader(gguf(16)))
	if err != nil || got.ExpertBytes != 4096*64*16*17/32 || got.WeightsBytes != output+query || got.Experts != 16 || got.ExpertsUsed != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	for name, bad := range map[string][]byte{
		"empty": nil, "another": []byte("GGML\x03"), "version 1": []byte("GGUF\x01\x00\x00\x00"), "cut": gguf(0)[:200],
		"many entries": append([]byte("GGUF\x03\x00\x00\x00"), bytes.Repeat([]byte{0xff}, 16)...),
	} {
		if got, err := ReadGGUF(bytes.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "GGUF") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzGGUF(f *testing.F) {
	f.Add(gguf(0), uint16(60))
	f.Add(gguf(4), uint16(300))
	f.Fuzz(func(t *testing.T, file []byte, cut uint16) {
		got, err := ReadGGUF(bytes.NewReader(file))
		if err != nil {
			return
		}
		for _, size := range []float64{got.WeightsBytes, got.ExpertBytes, got.KVBytesPerToken(2)} {
			if !(size >= 0) || math.IsInf(size, 0) {
				t.Errorf("%+v", got)
			}
		}
		if again, err := ReadGGUF(bytes.NewReader(append(bytes.Clone(file), make([]byte, cut)...))); err != nil || again != got {
			t.Errorf("weights behind the header change it: %+v, %+v, %v", got, again, err)
		}
	})
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
