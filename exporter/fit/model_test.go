package fit

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// TestBytesOfATokenByShape: figures worked out by hand from the config.json of these models, in their short form.
func TestBytesOfATokenByShape(t *testing.T) {
	for _, test := range []struct {
		name, config string
		token        int64
		context      int64
		shortest     int64 // of a sequence of the whole context, if layers drop what they no longer see
	}{
		{"Llama 3.3 70B", `{"model_type":"llama","num_hidden_layers":80,"num_attention_heads":64,"num_key_value_heads":8,"hidden_size":8192,"max_position_embeddings":131072,"torch_dtype":"bfloat16"}`,
			327680, 131072, 327680 * 131072},
		{"Qwen2.5 7B, whose window is off", `{"model_type":"qwen2","num_hidden_layers":28,"num_attention_heads":28,"num_key_value_heads":4,"hidden_size":3584,"max_position_embeddings":32768,"sliding_window":131072,"use_sliding_window":false,"max_window_layers":28}`,
			57344, 32768, 57344 * 32768},
		{"Qwen3 30B-A3B, whose heads are not hidden_size / heads", `{"model_type":"qwen3_moe","num_hidden_layers":48,"num_attention_heads":32,"num_key_value_heads":4,"head_dim":128,"hidden_size":2048,"max_position_embeddings":40960,"sliding_window":null}`,
			98304, 40960, 98304 * 40960},
		{"Mistral 7B v0.1, all of whose layers slide", `{"model_type":"mistral","num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"hidden_size":4096,"max_position_embeddings":32768,"sliding_window":4096}`,
			131072, 32768, 131072 * 4096},
		{"Gemma 3 27B, in the text part", `{"model_type":"gemma3","torch_dtype":"bfloat16","text_config":{"model_type":"gemma3_text","num_hidden_layers":62,"num_attention_heads":32,"num_key_value_heads":16,"head_dim":128,"hidden_size":5376,"max_position_embeddings":131072,"sliding_window":1024,"sliding_window_pattern":6}}`,
			62 * 2 * 16 * 128 * 2, 131072, 2 * 16 * 128 * 2 * (10*131072 + 52*1024)},
		{"GPT-OSS 20B, by layer_types", `{"model_type":"gpt_oss","num_hidden_layers":4,"num_attention_heads":64,"num_key_value_heads":8,"head_dim":64,"hidden_size":2880,"max_position_embeddings":131072,"sliding_window":128,"layer_types":["sliding_attention","full_attention","sliding_attention","full_attention"]}`,
			4 * 2 * 8 * 64 * 2, 131072, 2 * 8 * 64 * 2 * (2*131072 + 2*128)},
		{"DeepSeek V3", `{"model_type":"deepseek_v3","num_hidden_layers":61,"num_attention_heads":128,"num_key_value_heads":128,"kv_lora_rank":512,"qk_rope_head_dim":64,"v_head_dim":128,"hidden_size":7168,"max_position_embeddings":163840}`,
			61 * 576 * 2, 163840, 61 * 576 * 2 * 163840},
		{"a KV cache in 8 bits, by the checkpoint", `{"model_type":"llama","num_hidden_layers":32,"num_attention_heads":32,"num_key_value_heads":8,"hidden_size":4096,"max_position_embeddings":8192,"quantization_config":{"quant_method":"modelopt","kv_cache_scheme":{"num_bits":8,"type":"float","dynamic":false}}}`,
			65536, 8192, 65536 * 8192},
	} {
		t.Run(test.name, func(t *testing.T) {
			var m Model
			if err := m.ParseConfig([]byte(test.config)); err != nil || m.Unknown != "" {
				t.Fatal(err, m.Unknown)
			}
			if got := m.TokenBytes(); got != test.token || m.ContextTokens != test.context {
				t.Errorf("%d bytes a token, context %d, want %d and %d: %s", got, m.ContextTokens, test.token, test.context, m.Formula())
			}
			if got := m.SequenceBytes(m.ContextTokens); got != (spec.Interval{Low: test.shortest, High: test.token * test.context}) {
				t.Errorf("a sequence takes %+v, want %d to %d", got, test.shortest, test.token*test.context)
			}
		})
	}
}

// TestTokensOfAnEnginesLog: vLLM 0.24.0 logged 11.92 GiB and 223,152 tokens of Qwen2.5 7B.
func TestTokensOfAnEnginesLog(t *testing.T) {
	m := Model{Layers: []Layers{{Count: 28, Values: 1024}}, Value: ValueType{"bf16", 2, 1}}
	kv := ofGiB(11.92)
	if got := m.Tokens(spec.Exactly(kv), 8192); got.Low != got.High || got.Low < 223100 || got.Low > 223200 {
		t.Errorf("%+v", got)
	}
	m.Value = ValueType{"q8_0", 34, 32} // 8 bits and a scale of 16 bits for every 32 values
	if got := m.TokenBytes(); got != 28*1024*34/32 {
		t.Errorf("%d bytes a token", got)
	}
}

func TestAnUnknownShapeIsNoGuess(t *testing.T) {
	heads := `"num_hidden_layers":2,"num_attention_heads":8,"num_key_value_heads":8,"head_dim":64`
	for _, test := range []struct{ name, config, says string }{
		{"state space", `{"model_type":"mamba2","num_hidden_layers":64,"state_size":128}`, `model_type "mamba2" is not one`},
		{"no type", `{}`, `model_type ""`},
		{"linear attention", `{"model_type":"qwen3",` + heads + `,"layer_types":["linear_attention","full_attention"]}`, `layers of type "linear_attention"`},
		{"more types than layers", `{"model_type":"qwen3",` + heads + `,"layer_types":["full_attention"]}`, "layer_types does not have 2 layers"},
		{"window without a size", `{"model_type":"gpt_oss",` + heads + `,"layer_types":["sliding_attention","full_attention"]}`, `layers of type "sliding_attention"`},
		{"pattern that is not said", `{"model_type":"gemma3_text",` + heads + `,"sliding_window":1024}`, "which layers slide"},
		{"indexer", `{"model_type":"deepseek_v3","num_hidden_layers":61,"kv_lora_rank":512,"qk_rope_head_dim":64,"index_head_dim":128}`, "without an indexer"},
		{"heads by layer", `{"model_type":"llama","num_hidden_layers":2,"num_attention_heads":8,"num_key_value_heads":[1,8],"head_dim":64}`, "its num_key_value_heads is [1,8]"},
		{"no heads", `{"model_type":"llama","num_hidden_layers":2}`, "the number of KV heads or their size is missing"},
		{"too many layers", `{"model_type":"llama","num_hidden_layers":1000000}`, "its num_hidden_layers is 1000000"},
		{"KV cache in 4 bits", `{"model_type":"llama",` + heads + `,"quantization_config":{"kv_cache_scheme":{"num_bits":4,"type":"float"}}}`, "quantised in a way"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var m Model
			if err := m.ParseConfig([]byte(test.config)); err != nil {
				t.Fatal(err)
			}
			if !strings.Contains(m.Unknown, test.says) || m.Layers != nil || m.TokenBytes() != 0 {
				t.Errorf("%q, layers %v, want %q", m.Unknown, m.Layers, test.says)
			}
		})
	}
}

// tensors is a file of safetensors with this many bytes of them.
func tensors(size int) []byte {
	header := fmt.Sprintf(`{"__metadata__":{"format":"pt"},"a":{"dtype":"BF16","shape":[1],"data_offsets":[0,2]},"b":{"dtype":"BF16","shape":[1],"data_offsets":[2,%d]}}`, size)
	file := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	return append(append(file, header...), make([]byte, size)...)
}

// ggufOf is a GGUF file of a small Llama with this many bytes of tensors; more is metadata beside that.
func ggufOf(architecture string, size int, more map[string]uint32) []byte {
	le := binary.LittleEndian
	text := func(b []byte, s string) []byte { return append(le.AppendUint64(b, uint64(len(s))), s...) }
	numbers := map[string]uint32{"context_length": 4096, "block_count": 4, "attention.head_count": 8, "attention.head_count_kv": 2, "embedding_length": 512}
	for name, value := range more {
		numbers[name] = value
	}
	b := le.AppendUint32([]byte("GGUF"), 3)
	b = le.AppendUint64(le.AppendUint64(b, 2), uint64(2+len(numbers))) // tensors, metadata
	b = text(le.AppendUint32(text(b, "general.architecture"), 8), architecture)
	b = le.AppendUint64(le.AppendUint32(le.AppendUint32(text(b, "tokenizer.ggml.tokens"), 9), 8), 2)
	b = text(text(b, "a"), "bc")
	for name, value := range numbers {
		b = le.AppendUint32(le.AppendUint32(text(b, architecture+"."+name), 4), value)
	}
	for i, offset := range []int{0, size / 2} {
		b = le.AppendUint64(le.AppendUint32(text(b, fmt.Sprint("t", i)), 1), uint64(size/4))
		b = le.AppendUint64(le.AppendUint32(b, 1), uint64(offset))
	}
	b = append(b, make([]byte, -len(b)&31)...)
	return append(b, make([]byte, size)...)
}

func folderOf(files map[string][]byte) ([]string, Open) {
	folder := fstest.MapFS{}
	var names []string
	for name, data := range files {
		folder[name] = &fstest.MapFile{Data: data}
		names = append(names, name)
	}
	return names, func(name string) (fs.File, error) { return folder.Open(name) }
}

const smallLlama = `{"model_type":"llama","num_hidden_layers":4,"num_attention_heads":8,"num_key_value_heads":2,"hidden_size":512,"max_position_embeddings":4096}`

// TestWeightsAreCountedOnce: folders hold weights a second time, in another format or under another name.
func TestWeightsAreCountedOnce(t *testing.T) {
	config := []byte(smallLlama)
	index := []byte(`{"metadata":{"total_size":300},"weight_map":{"a":"model-1.safetensors","b":"model-2.safetensors","c":"model-1.safetensors"}}`)
	for _, test := range []struct {
		name    string
		files   map[string][]byte
		weights int64
		format  string
		count   int
	}{
		{"one file", map[string][]byte{"config.json": config, "model.safetensors": tensors(100)}, 100, "safetensors", 1},
		{"beside the maker's own", map[string][]byte{"config.json": config, "model.safetensors": tensors(100), "consolidated.safetensors": tensors(100), "pytorch_model.bin": make([]byte, 50)}, 100, "safetensors", 1},
		{"by the index", map[string][]byte{"config.json": config, "model.safetensors.index.json": index, "model-1.safetensors": tensors(100), "model-2.safetensors": tensors(200), "consolidated.safetensors": tensors(300)}, 300, "safetensors", 2},
		{"only the maker's own", map[string][]byte{"config.json": config, "consolidated.safetensors": tensors(40)}, 40, "safetensors", 1},
		{"PyTorch", map[string][]byte{"config.json": config, "pytorch_model-1.bin": make([]byte, 50), "pytorch_model-2.bin": make([]byte, 60), "training_args.bin": make([]byte, 9)}, 110, "PyTorch", 2},
		{"GGUF", map[string][]byte{"m.gguf": ggufOf("llama", 4096, nil), "mmproj-m.gguf": ggufOf("clip", 64, nil)}, 4096, "GGUF", 1},
		{"GGUF in parts", map[string][]byte{"m-00001-of-00002.gguf": ggufOf("llama", 4096, nil), "m-00002-of-00002.gguf": ggufOf("llama", 1024, nil)}, 5120, "GGUF", 2},
	} {
		t.Run(test.name, func(t *testing.T) {
			m, err := ReadModel(folderOf(test.files))
			if err != nil || m.WeightBytes != test.weights || m.Format != test.format || m.Files != test.count || m.Unknown != "" {
				t.Fatalf("%+v, %v", m, err)
			}
			if m.ContextTokens != 4096 || m.TokenBytes() != 4*2*2*64*2 {
				t.Errorf("%d bytes a token, context %d", m.TokenBytes(), m.ContextTokens)
			}
		})
	}
}

func TestGGUFThatSlides(t *testing.T) {
	m, err := ReadModel(folderOf(map[string][]byte{"m.gguf": ggufOf("gemma3", 64, map[string]uint32{"block_count": 12, "attention.sliding_window": 1024, "attention.key_length": 256, "attention.value_length": 256})}))
	if err != nil || m.Unknown != "" {
		t.Fatal(err, m.Unknown)
	}
	// 12 layers of 2 heads x 512 values x 2 bytes, 2 of which see all
	if got := m.SequenceBytes(4096); got != (spec.Interval{Low: 2048 * (2*4096 + 10*1024), High: 2048 * 12 * 4096}) {
		t.Errorf("%+v", got)
	}
	for architecture, more := range map[string]map[string]uint32{"mamba": nil, "llama": {"attention.sliding_window": 4096}, "deepseek2": {"attention.kv_lora_rank": 512}} {
		m, err := ReadModel(folderOf(map[string][]byte{"m.gguf": ggufOf(architecture, 64, more)}))
		if err != nil || m.Unknown == "" || m.TokenBytes() != 0 || m.WeightBytes != 64 {
			t.Errorf("%s: %+v, %v", architecture, m, err)
		}
	}
}

func TestADamagedFolderIsOneLineThatNamesTheFile(t *testing.T) {
	config := []byte(smallLlama)
	for _, test := range []struct {
		name  string
		files map[string][]byte
		says  string
	}{
		{"empty", nil, "has no weights"},
		{"no weights", map[string][]byte{"config.json": config}, "has no weights"},
		{"config that is cut", map[string][]byte{"config.json": config[:20], "model.safetensors": tensors(10)}, "config.json: unexpected end"},
		{"config that is a list", map[string][]byte{"config.json": []byte("[1]"), "model.safetensors": tensors(10)}, "config.json: json: cannot unmarshal"},
		{"weights that are cut", map[string][]byte{"config.json": config, "model.safetensors": tensors(100)[:200]}, "model.safetensors: has "},
		{"weights without a header", map[string][]byte{"config.json": config, "model.safetensors": []byte("<html>")}, "model.safetensors: is too short"},
		{"a page instead of weights", map[string][]byte{"config.json": config, "model.safetensors": []byte("<html>not found, sorry")}, "model.safetensors: is no file of safetensors"},
		{"a part that is missing", map[string][]byte{"config.json": config, "model.safetensors.index.json": []byte(`{"weight_map":{"a":"model-2.safetensors"}}`)}, `"model-2.safetensors", which model.safetensors.index.json lists, is not there`},
		{"a part elsewhere", map[string][]byte{"config.json": config, "model.safetensors.index.json": []byte(`{"weight_map":{"a":"../x.safetensors"}}`)}, "is not there"},
		{"index that is none", map[string][]byte{"config.json": config, "model.safetensors.index.json": []byte(`{}`)}, "model.safetensors.index.json: is no index"},
		{"GGUF that is cut in its header", map[string][]byte{"m.gguf": ggufOf("llama", 64, nil)[:90]}, "m.gguf: is no GGUF file, or cut off"},
		{"GGUF that is cut in its tensors", map[string][]byte{"m.gguf": ggufOf("llama", 4096, nil)[:len(ggufOf("llama", 4096, nil))-2048]}, "m.gguf: has fewer bytes of tensors"},
		{"GGUF of another version", map[string][]byte{"m.gguf": append([]byte("GGUF\x09\x00\x00\x00"), make([]byte, 64)...)}, "version 9"},
		{"a part of a GGUF that is missing", map[string][]byte{"m-00001-of-00002.gguf": ggufOf("llama", 64, nil)}, "m-00001-of-00002.gguf: 1 of its parts"},
		{"two models", map[string][]byte{"a.gguf": ggufOf("llama", 64, nil), "b.gguf": ggufOf("llama", 64, nil)}, "has 2 GGUF models"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := ReadModel(folderOf(test.files))
			if err == nil || !strings.Contains(err.Error(), test.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%v, want %q", err, test.says)
			}
		})
	}
}

func FuzzConfig(f *testing.F) {
	f.Add([]byte(smallLlama))
	f.Add([]byte(`{"model_type":"gemma3","text_config":{"model_type":"gemma3_text","num_hidden_layers":1024,"num_attention_heads":1024,"head_dim":8192,"max_position_embeddings":67108864,"sliding_window":1024,"sliding_window_pattern":6}}`))
	f.Add([]byte(`{"model_type":"deepseek_v3","num_hidden_layers":61,"kv_lora_rank":512,"qk_rope_head_dim":64}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var m Model
		if m.ParseConfig(data) != nil {
			return
		}
		token := m.TokenBytes()
		if (token > 0) == (m.Unknown != "") || token < 0 {
			t.Fatalf("%d bytes a token, unknown %q", token, m.Unknown)
		}
		sequence := m.SequenceBytes(m.ContextTokens)
		if sequence.Low < 0 || sequence.Low > sequence.High || sequence.High != token*m.ContextTokens {
			t.Fatalf("%+v of %d tokens", sequence, m.ContextTokens)
		}
		if tokens := m.Tokens(spec.Interval{Low: gib, High: 2 * gib}, m.ContextTokens); tokens.Low < 0 || tokens.Low > tokens.High {
			t.Fatalf("%+v", tokens)
		}
	})
}

func FuzzSafetensors(f *testing.F) {
	f.Add(tensors(10))
	f.Add(tensors(10)[:30])
	f.Fuzz(func(t *testing.T, data []byte) {
		size, err := safetensorsBytes(bytes.NewReader(data), int64(len(data)))
		if err == nil && (size < 0 || size > int64(len(data))-8) {
			t.Fatalf("%d bytes of tensors in %d", size, len(data))
		}
	})
}

func FuzzGGUF(f *testing.F) {
	f.Add(ggufOf("llama", 64, nil))
	f.Add(ggufOf("gemma3", 64, map[string]uint32{"attention.sliding_window": 1024}))
	f.Fuzz(func(t *testing.T, data []byte) {
		file, err := readGGUF(bytes.NewReader(data), int64(len(data)))
		if err != nil {
			return
		}
		if file.tensorBytes < 0 || file.tensorBytes > int64(len(data)) {
			t.Fatalf("%d bytes of tensors in %d", file.tensorBytes, len(data))
		}
		var m Model
		file.describe(&m)
		if (m.TokenBytes() > 0) == (m.Unknown != "") || slices.ContainsFunc(m.Layers, func(l Layers) bool { return l.Count < 0 }) {
			t.Fatalf("%+v", m)
		}
	})
}
