package loadgen

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/umascope/umascope/cmd/gguf"
	"github.com/umascope/umascope/loadgen/roofline"
)

// ggufModel is what a decode step reads of a model in a GGUF file. The weights behind the header are not read.
type ggufModel struct {
	roofline.Shape
	// weightsBytes are those of a step without experts, expertBytes those of all experts.
	weightsBytes, expertBytes float64
}

// model returns it without the bytes of a token in the KV cache, which are the engine's own.
func (g ggufModel) model() roofline.Model {
	return roofline.Model{
		WeightsBytes: g.weightsBytes, ExpertBytes: g.expertBytes, Experts: g.Experts, ExpertsUsed: g.ExpertsUsed, Windowed: g.Windowed,
	}
}

// readGGUF reads the header of a GGUF file.
func readGGUF(file io.Reader) (ggufModel, error) {
	header, err := gguf.Read(file)
	if err != nil {
		return ggufModel{}, err
	}
	ownOutput := slices.ContainsFunc(header.Tensors, func(t gguf.Tensor) bool { return t.Name == "output.weight" })
	var g ggufModel
	for _, tensor := range header.Tensors {
		block, known := ggmlBlocks[tensor.Type]
		if !known {
			return ggufModel{}, fmt.Errorf("is a GGUF file with a tensor of unknown type %d", tensor.Type)
		}
		if !(tensor.Values <= mostTensor) {
			return ggufModel{}, gguf.ErrFormat
		}
		bytes := tensor.Values * block[0] / block[1]
		switch {
		case tensor.Name == "token_embd.weight" && ownOutput:
			g.EmbeddingBytes = bytes
		case strings.Contains(tensor.Name, "_exps."):
			g.expertBytes += bytes
		default:
			g.weightsBytes += bytes
		}
	}
	return g, g.shape(header)
}

// Bounds of a foreign file: the values of a tensor, and each size of a model.
const (
	mostTensor = 1 << 43
	mostSize   = 1 << 24
)

// shape reads the numbers of the model. Of a list with a number for each layer it takes the largest: models with layers of
// several kinds have such lists.
func (g *ggufModel) shape(header gguf.Header) error {
	find := func(name string) int {
		key := header.Texts["general.architecture"] + "." + name
		value := header.Numbers[key]
		if list := header.Lists[key]; list.Largest != nil {
			value = *list.Largest
		}
		return int(min(value, mostSize+1))
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
		if n > mostSize {
			return errors.New("is a GGUF file with a size out of range")
		}
	}
	if g.Layers == 0 || g.KVHeads == 0 || g.HeadSize == 0 {
		return errors.New("is a GGUF file that names no layers, heads and size of a head")
	}
	return nil
}

// ggmlBlocks are bytes and values of a block of each type of tensor (ggml.h and ggml-common.h).
var ggmlBlocks = map[uint32][2]float64{
	0: {4, 1}, 1: {2, 1}, 2: {18, 32}, 3: {20, 32}, 6: {22, 32}, 7: {24, 32}, 8: {34, 32}, 9: {36, 32},
	10: {84, 256}, 11: {110, 256}, 12: {144, 256}, 13: {176, 256}, 14: {210, 256}, 15: {292, 256},
	16: {66, 256}, 17: {74, 256}, 18: {98, 256}, 19: {50, 256}, 20: {18, 32}, 21: {110, 256}, 22: {82, 256}, 23: {136, 256},
	24: {1, 1}, 25: {2, 1}, 26: {4, 1}, 27: {8, 1}, 28: {8, 1}, 29: {56, 256}, 30: {2, 1}, 34: {54, 256}, 35: {66, 256},
	39: {17, 32},
}
