package fit

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/umascope/umascope/cmd/gguf"
)

// ggufFile is what is read of a GGUF file.
type ggufFile struct {
	gguf.Header
	// tensorBytes is the size of all tensors with their padding.
	tensorBytes int64
}

// readGGUF reads the header of a GGUF file, and compares it with the size of the file.
func readGGUF(from io.Reader, size int64) (ggufFile, error) {
	header, err := gguf.Read(from)
	if err != nil {
		return ggufFile{}, err
	}
	f := ggufFile{Header: header}
	if len(header.Tensors) == 0 { // the first of several files may have only the metadata
		return f, nil
	}
	const mostAlign = 1 << 20
	align := cmp.Or(header.Numbers["general.alignment"], 32)
	if align > mostAlign {
		return ggufFile{}, gguf.ErrFormat
	}
	start, last := (header.Bytes+align-1)/align*align, uint64(0)
	for _, tensor := range header.Tensors {
		last = max(last, tensor.Offset)
	}
	if start >= uint64(size) || last >= uint64(size)-start {
		return ggufFile{}, errors.New("has fewer bytes of tensors than its header says: it was not copied whole")
	}
	f.tensorBytes = size - int64(start)
	return f, nil
}

// ggufSliding are the architectures of which all but every n-th layer look back no further than a window (load_swa_pattern
// in llama.cpp 0.5.0).
func ggufSliding() map[string]int64 { return map[string]int64{"gemma2": 2, "gemma3": 6, "gpt-oss": 2} }

// ggufHeads are architectures with a key and a value for each KV head in every layer.
func ggufHeads() string {
	return " llama mistral3 qwen2 qwen2moe qwen3 qwen3moe gemma gemma2 gemma3 gpt-oss granite olmo2 glm4 seed_oss smollm3 "
}

// describe reads what the metadata says about the KV cache into a model.
func (f ggufFile) describe(m *Model) {
	m.Kind, m.Value = f.Texts["general.architecture"], ValueType{"f16", 2, 1}
	var err error
	if m.ContextTokens, err = f.number("context_length", mostContext); err == nil {
		m.Layers, err = f.layers()
	}
	if err != nil {
		m.Layers, m.Unknown = nil, err.Error()
	}
}

func (f ggufFile) number(name string, most uint64) (int64, error) {
	key := f.Texts["general.architecture"] + "." + name
	if f.Lists[key].Count > 0 || f.Numbers[key] > most {
		return 0, fmt.Errorf("%w: its %s", errShape, cut(key))
	}
	return int64(f.Numbers[key]), nil
}

func (f ggufFile) layers() ([]Layers, error) {
	of := f.Texts["general.architecture"]
	if of == "" || !strings.Contains(ggufHeads(), " "+of+" ") {
		return nil, fmt.Errorf("%w: architecture %q is not one whose KV cache is known", errShape, cut(of))
	}
	var failed []error
	number := func(name string, most uint64) int64 {
		value, err := f.number(name, most)
		failed = append(failed, err)
		return value
	}
	count, queries, width := number("block_count", mostLayers), number("attention.head_count", mostHeads), number("embedding_length", mostHeads*mostHead)
	kv, key, value := number("attention.head_count_kv", mostHeads), number("attention.key_length", mostHead), number("attention.value_length", mostHead)
	window := number("attention.sliding_window", mostContext)
	if err := errors.Join(failed...); err != nil {
		return nil, err
	}
	if kv == 0 {
		kv = queries
	}
	if queries > 0 && width%queries == 0 && width/queries <= mostHead {
		if key == 0 {
			key = width / queries
		}
		if value == 0 {
			value = width / queries
		}
	}
	if count == 0 || kv == 0 || key == 0 || value == 0 {
		return nil, fmt.Errorf("%w: the number of layers, of KV heads or their size is missing", errShape)
	}
	each := Layers{Count: count, Values: kv * (key + value), Shape: fmt.Sprintf("%d KV heads x (%d + %d)", kv, key, value)}
	pattern := ggufSliding()[of]
	switch {
	case window == 0:
		return []Layers{each}, nil
	case pattern == 0:
		return nil, fmt.Errorf("%w: which of its layers slide is not known", errShape)
	}
	full, sliding := each, each
	full.Count = count / pattern
	sliding.Count, sliding.Window = count-full.Count, window
	return []Layers{full, sliding}, nil
}
