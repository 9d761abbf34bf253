package roofline

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"
)

// GGUF is what the header of a GGUF file has of a model (github.com/ggml-org/ggml, docs/gguf.md). The weights behind it
// are not read.
type GGUF struct {
	Shape
	// WeightsBytes are those of a step without experts, ExpertBytes those of all experts.
	WeightsBytes, ExpertBytes float64
}

// Model makes a model of the file, with a cache of so many bytes a value.
func (g GGUF) Model(valueBytes float64) Model {
	return Model{
		WeightsBytes: g.WeightsBytes, ExpertBytes: g.ExpertBytes, Experts: g.Experts, ExpertsUsed: g.ExpertsUsed,
		KVBytesPerToken: g.KVBytesPerToken(valueBytes), Windowed: g.Windowed,
	}
}

// Bounds of a header: a foreign file must not take memory or time.
const (
	mostEntries = 1 << 16
	mostText    = 1 << 20
	mostHeader  = 256 << 20 // vocabularies have some MB
	mostTensor  = 1 << 43
)

var errGGUF = errors.New("not a GGUF file that can be read")

// ReadGGUF reads the header of a GGUF file of version 2 or 3.
func ReadGGUF(file io.Reader) (GGUF, error) {
	r := ggufReader{in: bufio.NewReader(io.LimitReader(file, mostHeader))}
	if r.text(4) != "GGUF" {
		return GGUF{}, errGGUF
	}
	if version := r.uint32(); version != 2 && version != 3 {
		return GGUF{}, fmt.Errorf("%w: version %d", errGGUF, version)
	}
	tensors, pairs := r.count(), r.count()
	numbers := map[string]int{}
	for range pairs {
		key := r.string()
		if value, is := r.value(r.uint32(), 0); is {
			numbers[key] = value
		}
		if r.err != nil {
			return GGUF{}, r.failed()
		}
	}
	var g GGUF
	sizes := map[string]float64{}
	for range tensors {
		name, bytes := r.tensor()
		if r.err != nil {
			return GGUF{}, r.failed()
		}
		sizes[name] = bytes
	}
	_, ownOutput := sizes["output.weight"]
	for name, bytes := range sizes {
		switch {
		case name == "token_embd.weight" && ownOutput:
			g.EmbeddingBytes = bytes
		case strings.Contains(name, "_exps."):
			g.ExpertBytes += bytes
		default:
			g.WeightsBytes += bytes
		}
	}
	return g, g.shape(numbers)
}

// shape reads the numbers of the model: their keys begin with its architecture, such as llama.block_count.
func (g *GGUF) shape(numbers map[string]int) error {
	find := func(name string) int {
		for key, value := range numbers {
			if _, of, _ := strings.Cut(key, "."); of == name {
				return value
			}
		}
		return 0
	}
	heads := find("attention.head_count")
	g.Layers, g.KVHeads, g.HeadSize = find("block_count"), find("attention.head_count_kv"), find("attention.key_length")
	if g.KVHeads == 0 {
		g.KVHeads = heads
	}
	if g.HeadSize == 0 && heads > 0 {
		g.HeadSize = find("embedding_length") / heads
	}
	if latent := find("attention.kv_lora_rank"); latent > 0 {
		g.LatentSize = latent + find("rope.dimension_count")
	}
	g.Experts, g.ExpertsUsed = find("expert_count"), find("expert_used_count")
	g.Windowed = find("attention.sliding_window") > 0
	g.Mixed = find("ssm.state_size") > 0
	for _, n := range []int{g.Layers, g.KVHeads, g.HeadSize, g.LatentSize, g.Experts, g.ExpertsUsed} {
		if n < 0 || n > most {
			return fmt.Errorf("%w: a size is out of range", errGGUF)
		}
	}
	if g.Layers == 0 || g.KVHeads == 0 || g.HeadSize == 0 {
		return fmt.Errorf("%w: it names no layers, heads and size of a head", errGGUF)
	}
	return nil
}

// ggufReader reads the parts of a header, and keeps the first error.
type ggufReader struct {
	in  *bufio.Reader
	err error
}

func (r *ggufReader) failed() error { return fmt.Errorf("%w: %w", errGGUF, r.err) }

func (r *ggufReader) text(n int) string {
	if r.err != nil {
		return ""
	}
	bytes := make([]byte, n)
	_, r.err = io.ReadFull(r.in, bytes)
	return string(bytes)
}

func (r *ggufReader) uint32() uint32 {
	text := r.text(4)
	if r.err != nil {
		return 0
	}
	return binary.LittleEndian.Uint32([]byte(text))
}

func (r *ggufReader) uint64() uint64 {
	text := r.text(8)
	if r.err != nil {
		return 0
	}
	return binary.LittleEndian.Uint64([]byte(text))
}

// count reads a number of entries.
func (r *ggufReader) count() int {
	n := r.uint64()
	if n > mostEntries && r.err == nil {
		r.err = errors.New("too many entries")
	}
	return int(min(n, mostEntries))
}

func (r *ggufReader) string() string {
	n := r.uint64()
	if n > mostText && r.err == nil {
		r.err = errors.New("a text is too long")
	}
	if r.err != nil {
		return ""
	}
	return r.text(int(n))
}

func (r *ggufReader) skip(n uint64) {
	if n > mostHeader && r.err == nil {
		r.err = errors.New("a list is too long")
	}
	if r.err == nil {
		_, r.err = r.in.Discard(int(n))
	}
}

// Kinds of values of the format.
const (
	ggufUint32, ggufInt32, ggufString, ggufArray, ggufUint64, ggufInt64 = 4, 5, 8, 9, 10, 11
)

// widths of the kinds of values that are numbers, by their kind; 0 is none.
func ggufWidth(kind uint32) uint64 {
	return map[uint32]uint64{0: 1, 1: 1, 2: 2, 3: 2, ggufUint32: 4, ggufInt32: 4, 6: 4, 7: 1, ggufUint64: 8, ggufInt64: 8, 12: 8}[kind]
}

// value reads a value and returns it if it is a whole number. Of a list with a number for each layer it returns the
// largest: models with layers of several kinds have such lists.
func (r *ggufReader) value(kind uint32, depth int) (int, bool) {
	switch kind {
	case ggufUint32, ggufInt32:
		return int(int32(r.uint32())), true
	case ggufUint64, ggufInt64:
		return int(r.uint64()), true
	case ggufString:
		r.skip(r.uint64())
		return 0, false
	case ggufArray:
		return r.array(depth)
	}
	width := ggufWidth(kind)
	if width == 0 && r.err == nil {
		r.err = fmt.Errorf("unknown kind %d of a value", kind)
	}
	r.skip(width)
	return 0, false
}

func (r *ggufReader) array(depth int) (largest int, numbers bool) {
	kind, n := r.uint32(), r.uint64()
	const deepest, layers = 2, 1024
	switch width := ggufWidth(kind); {
	case r.err != nil:
		return 0, false
	case depth >= deepest || n > mostHeader:
		r.err = errors.New("a list is too long or too deep")
	case width > 0 && (n > layers || kind != ggufUint32 && kind != ggufInt32):
		r.skip(n * width)
	default:
		for range n {
			value, is := r.value(kind, depth+1)
			if r.err != nil {
				return 0, false
			}
			largest, numbers = max(largest, value), is
		}
	}
	return largest, numbers
}

// ggmlBlocks are bytes and values of a block of each type of tensor (ggml.h and ggml-common.h).
var ggmlBlocks = map[uint32][2]float64{
	0: {4, 1}, 1: {2, 1}, 2: {18, 32}, 3: {20, 32}, 6: {22, 32}, 7: {24, 32}, 8: {34, 32}, 9: {36, 32},
	10: {84, 256}, 11: {110, 256}, 12: {144, 256}, 13: {176, 256}, 14: {210, 256}, 15: {292, 256},
	16: {66, 256}, 17: {74, 256}, 18: {98, 256}, 19: {50, 256}, 20: {18, 32}, 21: {110, 256}, 22: {82, 256}, 23: {136, 256},
	24: {1, 1}, 25: {2, 1}, 26: {4, 1}, 27: {8, 1}, 28: {8, 1}, 29: {56, 256}, 30: {2, 1}, 34: {54, 256}, 35: {66, 256},
	39: {17, 32},
}

// tensor reads the entry of a tensor.
func (r *ggufReader) tensor() (name string, bytes float64) {
	name = r.string()
	dimensions := r.uint32()
	if dimensions > 8 && r.err == nil {
		r.err = errors.New("a tensor has too many dimensions")
	}
	values := 1.0
	for range min(dimensions, 8) {
		values *= float64(r.uint64())
	}
	kind := r.uint32()
	block, known := ggmlBlocks[kind]
	if !known && r.err == nil {
		r.err = fmt.Errorf("unknown type %d of a tensor", kind)
	}
	if !(values <= mostTensor) && r.err == nil {
		r.err = errors.New("a tensor is too large")
	}
	r.uint64() // where it is in the file
	if r.err != nil {
		return "", 0
	}
	return name, values * block[0] / block[1]
}
