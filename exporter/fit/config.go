package fit

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// What a config.json can say: far more than any model has. The products of all stay below 2^63.
const (
	mostLayers  = 1 << 10
	mostHeads   = 1 << 10
	mostHead    = 1 << 13
	mostContext = 1 << 26
)

// kind is how models of one model_type keep a token.
type kind int

const (
	unknownKind kind = iota
	// heads keep a key and a value for each KV head: the grouped attention of most models.
	heads
	// alternating is heads of which every sliding_window_pattern-th layer sees all (Gemma).
	alternating
	// latent keeps one compressed vector for all heads (MLA of DeepSeek V2 and V3).
	latent
)

// kinds are the shapes that are known by model_type of the language model, from the modelling code of transformers 5. A
// model with a state of its own (Mamba, linear attention), with heads that differ by layer, with shared caches or with an
// indexer is not here.
func kinds() map[string]kind {
	known := map[string]kind{
		"gemma2": alternating, "gemma3": alternating, "gemma3_text": alternating,
		"deepseek_v2": latent, "deepseek_v3": latent, "kimi_k2": latent, "glm4_moe_lite": latent,
	}
	for _, name := range []string{
		"llama", "llama4_text", "mistral", "ministral", "ministral3", "mixtral", "qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "qwen2_5_vl_text",
		"qwen3", "qwen3_moe", "qwen3_vl_text", "qwen3_vl_moe_text", "gemma", "phi3", "gpt_oss", "granite", "olmo2", "olmo3", "glm4", "glm4_moe", "seed_oss", "smollm3",
	} {
		known[name] = heads
	}
	return known
}

// fields are those of config.json, or of the part of it that describes the language model.
type fields map[string]json.RawMessage

// errShape is wrapped by what a config.json says that is not known here: no damage.
var errShape = errors.New("unknown shape")

// number returns a positive whole number, or 0 if there is none or it is null.
func (f fields) number(name string, most int64) (int64, error) {
	raw := f[name]
	if raw == nil || string(raw) == "null" {
		return 0, nil
	}
	var value int64
	if err := json.Unmarshal(raw, &value); err != nil || value <= 0 || value > most {
		return 0, fmt.Errorf("%w: its %s is %.40s", errShape, name, raw)
	}
	return value, nil
}

// text returns a string, "" if there is none.
func (f fields) text(name string) string {
	var value string
	_ = json.Unmarshal(f[name], &value)
	return value
}

// ParseConfig reads what config.json says about the KV cache into a model. An error means that it is damaged. What it
// says that is not known here is in Unknown.
func (m *Model) ParseConfig(data []byte) error {
	var f fields
	if err := json.Unmarshal(data, &f); err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	outer := f
	var inner fields
	if json.Unmarshal(f["text_config"], &inner) == nil && len(inner) > 0 { // of a model that also sees or hears
		f = inner
	}
	m.Kind = cmp.Or(f.text("model_type"), outer.text("model_type"))
	m.Value = valueOf(cmp.Or(f.text("dtype"), f.text("torch_dtype"), outer.text("dtype"), outer.text("torch_dtype")))
	var err error
	if m.ContextTokens, err = f.number("max_position_embeddings", mostContext); err == nil {
		m.Layers, err = f.layers(kinds()[m.Kind], m.Kind)
	}
	if err == nil {
		err = m.quantised(outer)
	}
	if err != nil {
		m.Layers, m.Unknown = nil, err.Error()
	}
	return nil
}

// valueOf is the type of the KV cache of a model of this type: engines compute a model of float32 in 16 bits.
func valueOf(dtype string) ValueType {
	if dtype == "float16" {
		return ValueType{"f16", 2, 1}
	}
	return ValueType{"bf16", 2, 1}
}

// quantised takes the type of the KV cache that a quantised model was calibrated for: engines use it unless told
// otherwise (get_kv_cache_quant_algo_string of vLLM 0.32.0).
func (m *Model) quantised(outer fields) error {
	var config struct {
		Scheme *struct {
			Bits int    `json:"num_bits"`
			Type string `json:"type"`
		} `json:"kv_cache_scheme"`
		Algorithm string `json:"kv_cache_quant_algo"`
	}
	raw := outer["quantization_config"]
	if raw == nil || json.Unmarshal(raw, &config) != nil {
		return nil
	}
	switch {
	case config.Scheme == nil && config.Algorithm == "":
	case config.Scheme != nil && config.Scheme.Bits == 8 && config.Scheme.Type == "float", strings.EqualFold(config.Algorithm, "fp8"):
		m.Value = ValueType{"fp8", 1, 1}
	default:
		return fmt.Errorf("%w: its KV cache is quantised in a way that is not known", errShape)
	}
	return nil
}

// layers are those of a model_type.
func (f fields) layers(of kind, name string) ([]Layers, error) {
	count, err := f.number("num_hidden_layers", mostLayers)
	switch {
	case of == unknownKind:
		return nil, fmt.Errorf("%w: model_type %q is not one whose KV cache is known", errShape, cut(name))
	case err != nil:
		return nil, err
	case count == 0:
		return nil, fmt.Errorf("%w: it has no num_hidden_layers", errShape)
	case of == latent:
		return f.latent(count)
	}
	each, err := f.heads()
	if err != nil {
		return nil, err
	}
	window, sliding, err := f.sliding(of, count)
	if err != nil {
		return nil, err
	}
	var all []Layers
	if full := count - sliding; full > 0 {
		each.Count = full
		all = append(all, each)
	}
	if sliding > 0 {
		each.Count, each.Window = sliding, window
		all = append(all, each)
	}
	return all, nil
}

// latent is one vector of a layer, which stands for keys and values of all heads, and the part of the key that turns
// with the position. With a key for an indexer beside it (DeepSeek V3.2) it is not known.
func (f fields) latent(count int64) ([]Layers, error) {
	rank, err := f.number("kv_lora_rank", mostHead)
	turned, err2 := f.number("qk_rope_head_dim", mostHead)
	if err := errors.Join(err, err2); err != nil {
		return nil, err
	}
	if rank == 0 || turned == 0 || f["index_head_dim"] != nil || f["index_topk"] != nil {
		return nil, fmt.Errorf("%w: a latent KV cache needs kv_lora_rank and qk_rope_head_dim, without an indexer", errShape)
	}
	return []Layers{{Count: count, Values: rank + turned, Shape: fmt.Sprintf("(%d + %d)", rank, turned)}}, nil
}

// heads is a layer with a key and a value for each of its KV heads.
func (f fields) heads() (Layers, error) {
	queries, err1 := f.number("num_attention_heads", mostHeads)
	kv, err2 := f.number("num_key_value_heads", mostHeads)
	size, err3 := f.number("head_dim", mostHead)
	width, err4 := f.number("hidden_size", mostHeads*mostHead)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return Layers{}, err
	}
	if kv == 0 {
		kv = queries // every query has its own
	}
	if size == 0 && queries > 0 && width%queries == 0 {
		size = width / queries
	}
	if kv == 0 || size == 0 || size > mostHead {
		return Layers{}, fmt.Errorf("%w: the number of KV heads or their size is missing", errShape)
	}
	return Layers{Values: 2 * kv * size, Shape: fmt.Sprintf("2 x %d KV heads x %d", kv, size)}, nil
}

// sliding returns how many layers look back no further than a window.
func (f fields) sliding(of kind, count int64) (window, sliding int64, err error) {
	window, err = f.number("sliding_window", mostContext)
	if err != nil {
		return 0, 0, err
	}
	var types []string
	if raw := f["layer_types"]; raw != nil && string(raw) != "null" {
		if json.Unmarshal(raw, &types) != nil || int64(len(types)) != count {
			return 0, 0, fmt.Errorf("%w: layer_types does not have %d layers", errShape, count)
		}
		return f.slidingByType(types, window)
	}
	if f.text("model_type") == "llama4_text" {
		return 0, 0, fmt.Errorf("%w: it has no layer_types", errShape)
	}
	switch used := string(f["use_sliding_window"]); {
	case window == 0 || used == "false":
		return 0, 0, nil
	case of == alternating:
		pattern, err := f.number("sliding_window_pattern", mostLayers)
		if pattern == 0 && f.text("model_type") == "gemma2" {
			pattern = 2
		}
		if err != nil || pattern == 0 {
			return 0, 0, fmt.Errorf("%w: which layers slide is not said", errShape)
		}
		return window, count - count/pattern, nil
	case used == "true": // Qwen 2: those from max_window_layers on
		first, err := f.number("max_window_layers", mostLayers)
		return window, max(0, count-first), err
	}
	return window, count, nil // Mistral 7B
}

func (f fields) slidingByType(types []string, window int64) (int64, int64, error) {
	sliding := int64(0)
	for _, name := range types {
		switch {
		case name == "full_attention":
		case name == "sliding_attention" && window > 0:
			sliding++
		default:
			return 0, 0, fmt.Errorf("%w: layers of type %q", errShape, cut(name))
		}
	}
	return window, sliding, nil
}

// cut shortens a text of a file for an error.
func cut(text string) string { return text[:min(len(text), 40)] }
