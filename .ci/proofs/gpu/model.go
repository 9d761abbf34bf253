package main

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"strings"
)

// sizes of a Llama.
type sizes struct {
	width, layers, feedForward, heads, kvHeads, context int
}

var (
	// large has 5.29 GiB of 16-bit weights and a KV cache of 64 KiB a token.
	large = sizes{width: 4096, layers: 16, feedForward: 11008, heads: 32, kvHeads: 8, context: 65536}
	// small has 10 MiB and a KV cache of 8 KiB a token, for a rehearsal on a CPU.
	small = sizes{width: 256, layers: 8, feedForward: 512, heads: 4, kvHeads: 4, context: 65536}
)

// Types of values in a GGUF header, of tensors and of tokens.
const (
	ggufUint32, ggufInt32, ggufFloat32, ggufString, ggufArray     = 4, 5, 6, 8, 9
	tensorFloat32, tensorFloat16                                  = 0, 1
	tokenNormal, tokenUnknown, tokenControl, tokenByte, alignment = 1, 2, 3, 6, 32
)

// header collects the keys of a GGUF file and counts them.
type header struct {
	bytes.Buffer
	keys uint64
}

func (h *header) put(values ...any) {
	for _, v := range values {
		if s, ok := v.(string); ok {
			h.put(uint64(len(s)))
			h.WriteString(s)
			continue
		}
		if err := binary.Write(h, binary.LittleEndian, v); err != nil {
			panic(err) // a value of no fixed size: a mistake of this program
		}
	}
}

func (h *header) key(name string, kind uint32, values ...any) {
	h.keys++
	h.put(name, kind)
	h.put(values...)
}

func (h *header) array(name string, kind uint32, values []any) {
	h.key(name, ggufArray, kind, uint64(len(values)))
	h.put(values...)
}

// tensor is a matrix, or a norm, which has one column.
type tensor struct {
	name          string
	rows, columns int
}

func (t tensor) bytes() int {
	if t.columns == 1 {
		return 4 * t.rows
	}
	return 2 * t.rows * t.columns
}

// padding is what follows a tensor of so many bytes.
func padding(n int) int { return (alignment - n%alignment) % alignment }

// writeModel writes a Llama of random weights. Its vocabulary is the 256 bytes and a few words: any text is a prompt.
func writeModel(path string, s sizes) error {
	words := strings.Fields("the of and to in a is that for it as was with be by on not he his but at are this have from or had an they which")
	var tokens, scores, kinds []any
	add := func(token string, kind int32) {
		tokens, scores, kinds = append(tokens, token), append(scores, -float32(len(scores))), append(kinds, kind)
	}
	add("<unk>", tokenUnknown)
	add("<s>", tokenControl)
	add("</s>", tokenControl)
	for b := range 256 {
		add(fmt.Sprintf("<0x%02X>", b), tokenByte)
	}
	for _, word := range words {
		add("\u2581"+word, tokenNormal)
	}

	var keys header
	keys.key("general.architecture", ggufString, "llama")
	keys.key("general.name", ggufString, "random")
	for _, k := range []struct {
		name  string
		value int
	}{
		{"general.file_type", 1}, // mostly 16 bit
		{"llama.context_length", s.context}, {"llama.embedding_length", s.width}, {"llama.block_count", s.layers},
		{"llama.feed_forward_length", s.feedForward}, {"llama.vocab_size", len(tokens)},
		{"llama.rope.dimension_count", s.width / s.heads}, {"llama.attention.head_count", s.heads},
		{"llama.attention.head_count_kv", s.kvHeads},
		{"tokenizer.ggml.unknown_token_id", 0}, {"tokenizer.ggml.bos_token_id", 1}, {"tokenizer.ggml.eos_token_id", 2},
	} {
		keys.key(k.name, ggufUint32, uint32(k.value))
	}
	keys.key("llama.rope.freq_base", ggufFloat32, float32(10000))
	keys.key("llama.attention.layer_norm_rms_epsilon", ggufFloat32, float32(1e-5))
	keys.key("tokenizer.ggml.model", ggufString, "llama")
	keys.array("tokenizer.ggml.tokens", ggufString, tokens)
	keys.array("tokenizer.ggml.scores", ggufFloat32, scores)
	keys.array("tokenizer.ggml.token_type", ggufInt32, kinds)

	tensors := s.tensors(len(tokens))
	var list header
	offset := 0
	for _, t := range tensors {
		list.put(t.name)
		if t.columns == 1 {
			list.put(uint32(1), uint64(t.rows), uint32(tensorFloat32))
		} else {
			list.put(uint32(2), uint64(t.rows), uint64(t.columns), uint32(tensorFloat16))
		}
		list.put(uint64(offset))
		offset += t.bytes() + padding(t.bytes())
	}

	var head header
	head.WriteString("GGUF")
	head.put(uint32(3), uint64(len(tensors)), keys.keys)
	head.Write(keys.Bytes())
	head.Write(list.Bytes())
	head.Write(make([]byte, padding(head.Len())))
	return writeFile(path, head.Bytes(), tensors)
}

// tensors lists those of a Llama, the rows of a matrix being what it multiplies with.
func (s sizes) tensors(vocabulary int) []tensor {
	d, kv := s.width, s.width/s.heads*s.kvHeads
	all := []tensor{{"token_embd.weight", d, vocabulary}, {"output_norm.weight", d, 1}, {"output.weight", d, vocabulary}}
	for i := range s.layers {
		for _, t := range []tensor{
			{"attn_norm", d, 1}, {"attn_q", d, d}, {"attn_k", d, kv}, {"attn_v", d, kv}, {"attn_output", d, d},
			{"ffn_norm", d, 1}, {"ffn_gate", d, s.feedForward}, {"ffn_up", d, s.feedForward}, {"ffn_down", s.feedForward, d},
		} {
			t.name = fmt.Sprintf("blk.%d.%s.weight", i, t.name)
			all = append(all, t)
		}
	}
	return all
}

// writeFile writes the header and the weights: one block of random numbers, begun further on for every tensor.
func writeFile(path string, head []byte, tensors []tensor) error {
	file, err := os.Create(path)
	if err != nil {
		return err
	}
	defer file.Close()
	out := bufio.NewWriterSize(file, 1<<20)
	out.Write(head) // an error stays in out until Flush

	random := rand.New(rand.NewPCG(7, 7))
	block := make([]byte, 1<<24)
	for i := 0; i < len(block); i += 2 {
		binary.LittleEndian.PutUint16(block[i:], float16(0.02*random.NormFloat64()))
	}
	one := binary.LittleEndian.AppendUint32(nil, math.Float32bits(1))
	for i, t := range tensors {
		if t.columns == 1 {
			out.Write(bytes.Repeat(one, t.rows))
		} else {
			at := 2 * 7919 * i % len(block)
			for left := t.bytes(); left > 0; at = 0 {
				part := block[at:min(len(block), at+left)]
				out.Write(part)
				left -= len(part)
			}
		}
		out.Write(make([]byte, padding(t.bytes())))
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
