package fit

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// Model is what the files of a model say about the memory that it needs.
type Model struct {
	// Kind is model_type of config.json, or the architecture of a GGUF file.
	Kind string `json:"kind,omitempty"`
	// WeightBytes is the size of all tensors in the files, those of all experts included; Files is their number.
	WeightBytes int64  `json:"weight_bytes"`
	Files       int    `json:"weight_files"`
	Format      string `json:"weight_format"`
	// ContextTokens is the longest context that the model was made for, 0 if it does not say so.
	ContextTokens int64 `json:"context_tokens,omitempty"`
	// Layers are those with a KV cache; Unknown is why there are none. Of such a model only the weights are known.
	Layers  []Layers `json:"kv_layers,omitempty"`
	Unknown string   `json:"kv_unknown,omitempty"`
	// Value is the type in which the KV cache is kept unless the engine is told otherwise.
	Value ValueType `json:"kv_type,omitzero"`
}

// Layers are layers that are alike.
type Layers struct {
	Count int64 `json:"layers"`
	// Values is the number of values that one layer keeps of a token; Shape says how they come about.
	Values int64  `json:"values"`
	Shape  string `json:"shape"`
	// Window is the number of tokens that these layers look back, 0 if they see the whole context.
	Window int64 `json:"window_tokens,omitempty"`
}

// ValueType is the type of the values of a KV cache, with its scales.
type ValueType struct {
	Name string `json:"name"`
	// Bytes is the size of Values values.
	Bytes  int64 `json:"bytes"`
	Values int64 `json:"values"`
}

// ValueTypes are those to choose from: the types of PyTorch, and the blocks of 32 values of llama.cpp.
func ValueTypes() []ValueType {
	return []ValueType{{"bf16", 2, 1}, {"f16", 2, 1}, {"fp8", 1, 1}, {"q8_0", 34, 32}, {"q4_0", 18, 32}}
}

// size is the size of a number of values.
func (v ValueType) size(values int64) int64 { return values * v.Bytes / v.Values }

// TokenBytes is what one token takes in all layers, where every layer keeps it.
func (m Model) TokenBytes() int64 {
	values := int64(0)
	for _, l := range m.Layers {
		values += l.Count * l.Values
	}
	return m.Value.size(values)
}

// Formula is TokenBytes as a product.
func (m Model) Formula() string {
	var parts []string
	for _, l := range m.Layers {
		parts = append(parts, fmt.Sprintf("%d layers x %s", l.Count, l.Shape))
	}
	text := strings.Join(parts, " + ")
	if len(parts) > 1 {
		text = "(" + text + ")"
	}
	bytes := fmt.Sprint(m.Value.Bytes)
	if m.Value.Values > 1 {
		bytes += fmt.Sprintf("/%d", m.Value.Values)
	}
	return fmt.Sprintf("%s x %s bytes (%s)", text, bytes, m.Value.Name)
}

// SequenceBytes is what one sequence takes. Layers with a window keep at least its tokens, if the engine drops the
// others, and at most all.
func (m Model) SequenceBytes(tokens int64) spec.Interval {
	low := int64(0)
	for _, l := range m.Layers {
		kept := tokens
		if l.Window > 0 {
			kept = min(kept, l.Window)
		}
		low += m.Value.size(l.Count*l.Values) * kept
	}
	return spec.Interval{Low: low, High: m.TokenBytes() * tokens}
}

// Tokens is how many tokens a KV cache holds, in sequences of this length.
func (m Model) Tokens(kv spec.Interval, context int64) spec.Interval {
	sequence := m.SequenceBytes(context)
	if sequence.Low <= 0 || sequence.High <= 0 {
		return spec.Interval{}
	}
	return spec.Interval{
		Low:  int64(float64(kv.Low) / float64(sequence.High) * float64(context)),
		High: int64(float64(kv.High) / float64(sequence.Low) * float64(context)),
	}
}
