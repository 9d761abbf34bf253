package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
)

// Types of values in a GGUF header, and of tensors.
const (
	ggufUint32, ggufInt32, ggufFloat32, ggufString, ggufArray = 4, 5, 6, 8, 9
	tensorFloat32                                             = 0 // and 1 is of 16 bits
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

// tensor is a matrix of floats of 2 or 4 bytes, or a norm, which has one column, of 4.
type tensor struct {
	name          string
	rows, columns int
	float         int // bytes of a value
}

func (t tensor) bytes() int {
	if t.columns == 1 {
		return 4 * t.rows
	}
	return t.float * t.rows * t.columns
}

// padding is what follows so many bytes.
func padding(n int) []byte { return make([]byte, -n&(ggufAlignment-1)) }

// tensors lists those of a Llama, the rows of a matrix being what it multiplies with.
func (s sizes) tensors(vocabulary int) []tensor {
	d, kv := s.width, s.headSize()*s.kvHeads
	all := []tensor{{"token_embd", d, vocabulary, s.float}, {"output_norm", d, 1, 4}, {"output", d, vocabulary, s.float}}
	for i := range s.layers {
		for _, t := range []tensor{
			{"attn_norm", d, 1, 4}, {"attn_q", d, d, s.float}, {"attn_k", d, kv, s.float}, {"attn_v", d, kv, s.float}, {"attn_output", d, d, s.float},
			{"ffn_norm", d, 1, 4}, {"ffn_gate", d, s.feedForward, s.float}, {"ffn_up", d, s.feedForward, s.float}, {"ffn_down", s.feedForward, d, s.float},
		} {
			t.name = "blk." + strconv.Itoa(i) + "." + t.name
			all = append(all, t)
		}
	}
	return all
}

// writeGGUF writes the model with random weights.
func writeGGUF(path string, s sizes, t tokenizer) error {
	var h ggufWriter
	h.key("general.architecture", ggufString, "llama")
	h.key("general.name", ggufString, "random-llama")
	for _, one := range []struct {
		name  string
		value int
	}{
		{"general.file_type", 2 - s.float/2}, // 0 is of 32 bits, 1 mostly of 16
		{"llama.context_length", s.context}, {"llama.embedding_length", s.width}, {"llama.block_count", s.layers},
		{"llama.feed_forward_length", s.feedForward}, {"llama.vocab_size", len(t.tokens)}, {"llama.rope.dimension_count", s.headSize()},
		{"llama.attention.head_count", s.heads}, {"llama.attention.head_count_kv", s.kvHeads},
		{"tokenizer.ggml.bos_token_id", 0}, {"tokenizer.ggml.eos_token_id", 1},
	} {
		h.key(one.name, ggufUint32, uint32(one.value))
	}
	h.key("llama.rope.freq_base", ggufFloat32, float32(500000))
	h.key("llama.attention.layer_norm_rms_epsilon", ggufFloat32, float32(1e-5))
	h.key("tokenizer.ggml.model", ggufString, "gpt2")
	h.key("tokenizer.ggml.pre", ggufString, "gpt-2")
	h.key("tokenizer.ggml.tokens", ggufArray, uint32(ggufString), uint64(len(t.tokens)))
	for _, token := range t.tokens {
		h.put(token)
	}
	h.key("tokenizer.ggml.merges", ggufArray, uint32(ggufString), uint64(len(t.merges)))
	for _, pair := range t.merges {
		h.put(pair)
	}
	h.key("tokenizer.ggml.token_type", ggufArray, uint32(ggufInt32), uint64(len(t.tokens)))
	for i := range t.tokens {
		const normal, control = int32(1), int32(3)
		if i < 2 {
			h.put(control)
		} else {
			h.put(normal)
		}
	}
	h.key("tokenizer.chat_template", ggufString, chatTemplate)

	tensors := s.tensors(len(t.tokens))
	var index ggufWriter
	offset := 0
	for _, one := range tensors {
		if one.columns == 1 {
			index.put(one.name+".weight", uint32(1), uint64(one.rows), uint32(tensorFloat32), uint64(offset))
		} else {
			index.put(one.name+".weight", uint32(2), uint64(one.rows), uint64(one.columns), uint32(2-one.float/2), uint64(offset))
		}
		offset += one.bytes() + len(padding(one.bytes()))
	}
	var head ggufWriter
	head.WriteString("GGUF")
	head.put(uint32(3), uint64(len(tensors)), h.keys)
	head.Write(h.Bytes())
	head.Write(index.Bytes())
	head.Write(padding(head.Len()))
	return writeWeights(path, head.Bytes(), tensors)
}

// writeWeights writes the header and the weights: one block of random numbers, begun further on for every tensor.
func writeWeights(path string, head []byte, tensors []tensor) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	out.Write(head) // an error stays in out until Flush

	random := rand.New(rand.NewPCG(7, 7))
	block := make([]byte, 1<<24)
	float := tensors[0].float
	for i := 0; i < len(block); i += float {
		if value := 0.02 * random.NormFloat64(); float == 2 {
			binary.LittleEndian.PutUint16(block[i:], float16(value))
		} else {
			binary.LittleEndian.PutUint32(block[i:], math.Float32bits(float32(value)))
		}
	}
	one := binary.LittleEndian.AppendUint32(nil, math.Float32bits(1))
	for i, t := range tensors {
		if t.columns == 1 {
			out.Write(bytes.Repeat(one, t.rows))
		} else {
			at := 4 * 7919 * i % len(block)
			for left := t.bytes(); left > 0; at = 0 {
				part := block[at:min(len(block), at+left)]
				out.Write(part)
				left -= len(part)
			}
		}
		out.Write(padding(t.bytes()))
	}
	if err := out.Flush(); err != nil {
		return err
	}
	return file.Close()
}

// float16 is a number in half precision, cut; what is too small for a normal one is 0.
func float16(f float64) uint16 {
	bits := math.Float32bits(float32(f))
	sign, exponent := uint16(bits>>16&0x8000), int(bits>>23&0xff)-127+15
	if exponent <= 0 {
		return sign
	}
	return sign | uint16(exponent)<<10 | uint16(bits>>13&0x3ff)
}
