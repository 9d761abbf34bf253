package main

import (
	"bytes"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"strconv"
)

// Types of values in a GGUF header, and of tensors.
const (
	ggufUint32, ggufInt32, ggufFloat32, ggufString, ggufArray = 4, 5, 6, 8, 9
	tensorFloat32                                             = 0
	ggufAlignment                                             = 32
)

// ggufWriter collects the keys of the header.
type ggufWriter struct {
	bytes.Buffer
	keys uint64
}

func (w *ggufWriter) put(values ...any) {
	for _, v := range values {
		if s, ok := v.(string); ok {
			w.put(uint64(len(s)))
			w.WriteString(s)
			continue
		}
		_ = binary.Write(w, binary.LittleEndian, v) // a buffer takes everything
	}
}

func (w *ggufWriter) key(name string, kind uint32, value ...any) {
	w.keys++
	w.put(name, kind)
	w.put(value...)
}

type tensor struct {
	name string
	dims []uint64 // the fastest first
}

// writeGGUF writes the model with random weights as 32-bit floats, about 22 MB.
func writeGGUF(path string, t tokenizer) error {
	vocabulary := uint64(len(t.tokens))
	var h ggufWriter
	h.key("general.architecture", ggufString, "llama")
	h.key("general.name", ggufString, "tiny-llama")
	h.key("general.file_type", ggufUint32, uint32(0))
	for _, one := range []struct {
		name  string
		value uint32
	}{
		{"context_length", longestContext}, {"embedding_length", width}, {"block_count", layers}, {"feed_forward_length", feedForward},
		{"vocab_size", uint32(vocabulary)}, {"rope.dimension_count", headSize}, {"attention.head_count", heads}, {"attention.head_count_kv", kvHeads},
	} {
		h.key("llama."+one.name, ggufUint32, one.value)
	}
	h.key("llama.rope.freq_base", ggufFloat32, float32(500000))
	h.key("llama.attention.layer_norm_rms_epsilon", ggufFloat32, float32(1e-5))
	h.key("tokenizer.ggml.model", ggufString, "gpt2")
	h.key("tokenizer.ggml.pre", ggufString, "gpt-2")
	h.key("tokenizer.ggml.tokens", ggufArray, uint32(ggufString), vocabulary)
	for _, token := range t.tokens {
		h.put(token)
	}
	h.key("tokenizer.ggml.merges", ggufArray, uint32(ggufString), uint64(len(t.merges)))
	for _, pair := range t.merges {
		h.put(pair)
	}
	const normal, control = int32(1), int32(3)
	h.key("tokenizer.ggml.token_type", ggufArray, uint32(ggufInt32), vocabulary)
	for i := range t.tokens {
		if i < 2 {
			h.put(control)
		} else {
			h.put(normal)
		}
	}
	h.key("tokenizer.ggml.bos_token_id", ggufUint32, uint32(0))
	h.key("tokenizer.ggml.eos_token_id", ggufUint32, uint32(1))
	h.key("tokenizer.chat_template", ggufString, chatTemplate)

	tensors := []tensor{{"token_embd", []uint64{width, vocabulary}}, {"output_norm", []uint64{width}}, {"output", []uint64{width, vocabulary}}}
	for i := range layers {
		for _, one := range []tensor{
			{"attn_norm", []uint64{width}}, {"attn_q", []uint64{width, heads * headSize}}, {"attn_k", []uint64{width, kvHeads * headSize}},
			{"attn_v", []uint64{width, kvHeads * headSize}}, {"attn_output", []uint64{heads * headSize, width}},
			{"ffn_norm", []uint64{width}}, {"ffn_gate", []uint64{width, feedForward}}, {"ffn_up", []uint64{width, feedForward}}, {"ffn_down", []uint64{feedForward, width}},
		} {
			tensors = append(tensors, tensor{"blk." + strconv.Itoa(i) + "." + one.name, one.dims})
		}
	}
	var file, index, weights ggufWriter
	random := rand.New(rand.NewPCG(7, 7))
	for _, one := range tensors {
		index.put(one.name+".weight", uint32(len(one.dims)), one.dims, uint32(tensorFloat32), uint64(weights.Len()))
		count := uint64(1)
		for _, d := range one.dims {
			count *= d
		}
		values := make([]float32, count)
		for i := range values {
			values[i] = float32(random.NormFloat64() * 0.02)
			if len(one.dims) == 1 {
				values[i] = 1
			}
		}
		weights.put(values)
		weights.Write(make([]byte, -weights.Len()&(ggufAlignment-1)))
	}
	file.WriteString("GGUF")
	file.put(uint32(3), uint64(len(tensors)), h.keys)
	file.Write(h.Bytes())
	file.Write(index.Bytes())
	file.Write(make([]byte, -file.Len()&(ggufAlignment-1)))
	file.Write(weights.Bytes())
	return os.WriteFile(path, file.Bytes(), 0o644)
}
