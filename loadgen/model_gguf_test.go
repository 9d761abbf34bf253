package loadgen

import (
	"bytes"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/roofline"
)

// ggufHeader is the GGUF header of a model with two layers: f16, with experts at MXFP4 if there are any.
func ggufHeader(experts uint32) []byte {
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
	put("general.architecture", uint32(8), "llama")
	put("llama.block_count", uint32(4), uint32(2))
	put("llama.attention.head_count", uint32(4), uint32(32))
	put("llama.attention.head_count_kv", uint32(9), uint32(4), uint64(2), uint32(4), uint32(8))
	put("llama.embedding_length", uint32(10), uint64(4096))
	put("llama.rope.freq_base", uint32(6), float32(10000))
	put("tokenizer.ggml.tokens", uint32(9), uint32(8), uint64(2), "a", "b")
	if experts > 0 {
		put("llama.expert_count", uint32(4), experts, "llama.expert_used_count", uint32(4), uint32(2))
	}
	put("token_embd.weight", uint32(2), uint64(4096), uint64(1000), uint32(1), uint64(0))
	put("output.weight", uint32(2), uint64(4096), uint64(1000), uint32(1), uint64(0))
	put("blk.0.attn_q.weight", uint32(2), uint64(4096), uint64(4096), uint32(8), uint64(0))
	if experts > 0 {
		put("blk.0.ffn_up_exps.weight", uint32(3), uint64(4096), uint64(64), uint64(experts), uint32(39), uint64(0))
	}
	return b.Bytes()
}

func TestWhatAStepReadsOfAGGUFFile(t *testing.T) {
	const output, query = 4096 * 1000 * 2, 4096 * 4096 * 34 / 32
	got, err := readGGUF(bytes.NewReader(ggufHeader(0)))
	want := ggufModel{Shape: roofline.Shape{Layers: 2, KVHeads: 8, HeadSize: 128, EmbeddingBytes: output}, weightsBytes: output + query}
	if err != nil || got != want || got.KVBytesPerToken(2) != 8192 || got.model().WeightsBytes != got.weightsBytes {
		t.Errorf("%+v, %v", got, err)
	}
	got, err = readGGUF(bytes.NewReader(ggufHeader(16)))
	if err != nil || got.expertBytes != 4096*64*16*17/32 || got.weightsBytes != output+query || got.Experts != 16 || got.ExpertsUsed != 2 {
		t.Errorf("%+v, %v", got, err)
	}
	unknown := bytes.Replace(ggufHeader(0), []byte{8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, []byte{99, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, 1)
	for name, bad := range map[string][]byte{"cut off": ggufHeader(0)[:200], "a tensor of another type": unknown, "no model": []byte("GGUF\x03" + strings.Repeat("\x00", 19))} {
		if got, err := readGGUF(bytes.NewReader(bad)); err == nil || !strings.Contains(err.Error(), "GGUF") {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func FuzzModelGGUF(f *testing.F) {
	f.Add(ggufHeader(0), uint16(60))
	f.Add(ggufHeader(4), uint16(300))
	f.Fuzz(func(t *testing.T, file []byte, cut uint16) {
		got, err := readGGUF(bytes.NewReader(file))
		if err != nil {
			return
		}
		for _, size := range []float64{got.weightsBytes, got.expertBytes, got.KVBytesPerToken(2)} {
			if !(size >= 0) || math.IsInf(size, 0) {
				t.Errorf("%+v", got)
			}
		}
		if again, err := readGGUF(bytes.NewReader(append(bytes.Clone(file), make([]byte, cut)...))); err != nil || again != got {
			t.Errorf("weights behind the header change it: %+v, %+v, %v", got, again, err)
		}
	})
}
