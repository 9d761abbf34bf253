package fit

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
)

// What the header of a GGUF file can be: a vocabulary of a million tokens is some 20 MB.
const (
	mostGGUFHeader  = 512 << 20
	mostGGUFEntries = 1 << 20
)

var errGGUF = errors.New("is no GGUF file, or cut off in its header")

// ggufFile is what is read of a GGUF file.
type ggufFile struct {
	// numbers and texts are its metadata; arrays are there with the number of their elements.
	numbers map[string]uint64
	texts   map[string]string
	arrays  map[string]uint64
	// tensorBytes is the size of all tensors with their padding.
	tensorBytes int64
}

// readGGUF reads the header of a GGUF file of version 2 or 3 (ggml's docs/gguf.md), little endian.
func readGGUF(from io.Reader, size int64) (ggufFile, error) {
	r := &ggufReader{in: bufio.NewReader(io.LimitReader(from, min(size, mostGGUFHeader)))}
	f := ggufFile{map[string]uint64{}, map[string]string{}, map[string]uint64{}, 0}
	magic, version := r.bytes(4), r.uint(4)
	if string(magic) != "GGUF" {
		return ggufFile{}, errGGUF
	}
	if version != 2 && version != 3 {
		return ggufFile{}, fmt.Errorf("is a GGUF file of version %d: 2 and 3 are read", version)
	}
	tensors, entries := r.uint(8), r.uint(8)
	if tensors > mostGGUFEntries || entries > mostGGUFEntries {
		return ggufFile{}, errGGUF
	}
	for range entries {
		if r.err != nil {
			break
		}
		key := r.text()
		f.entry(r, key, r.uint(4))
	}
	last := uint64(0)
	for range tensors {
		if r.err != nil {
			break
		}
		r.skip(r.uint(8)) // its name
		r.skip(8 * r.uint(4))
		r.skip(4) // its type
		last = max(last, r.uint(8))
	}
	align := max(1, f.numbers["general.alignment"])
	if f.numbers["general.alignment"] == 0 {
		align = 32
	}
	start := (r.read + align - 1) / align * align
	switch {
	case r.err != nil, align > 1<<20:
		return ggufFile{}, errGGUF
	case tensors == 0: // the first of several files may have only the metadata
		return f, nil
	case start >= uint64(size), last >= uint64(size)-start:
		return ggufFile{}, errors.New("has fewer bytes of tensors than its header says: it was not copied whole")
	}
	f.tensorBytes = size - int64(start)
	return f, nil
}

// entry reads one value of the metadata.
func (f *ggufFile) entry(r *ggufReader, key string, kind uint64) {
	const text, array = 8, 9
	switch {
	case kind == text:
		f.texts[key] = r.text()
	case kind == array:
		of, count := r.uint(4), r.uint(8)
		f.arrays[key] = count
		switch width := ggufWidth(of); {
		case of == text:
			for range count {
				if r.err != nil {
					return
				}
				r.skip(r.uint(8))
			}
		case width == 0, count > mostGGUFHeader:
			r.err = errGGUF // arrays of arrays are in no model
		default:
			r.skip(width * count)
		}
	case ggufWidth(kind) == 0:
		r.err = errGGUF
	default:
		f.numbers[key] = r.uint(int(ggufWidth(kind)))
	}
}

// ggufWidth is the number of bytes of a number, 0 for other kinds.
func ggufWidth(kind uint64) uint64 {
	widths := []uint64{1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8}
	if kind >= uint64(len(widths)) {
		return 0
	}
	return widths[kind]
}

// ggufReader reads until the first error.
type ggufReader struct {
	in   *bufio.Reader
	read uint64
	err  error
}

func (r *ggufReader) bytes(count uint64) []byte {
	if r.err != nil || count > 1<<16 {
		r.err = errGGUF
		return nil
	}
	data := make([]byte, count)
	if _, err := io.ReadFull(r.in, data); err != nil {
		r.err = errGGUF
	}
	r.read += count
	return data
}

func (r *ggufReader) uint(width int) uint64 {
	var data [8]byte
	copy(data[:], r.bytes(uint64(width)))
	return binary.LittleEndian.Uint64(data[:])
}

// text reads a string; a long one, such as a chat template, is read and left out.
func (r *ggufReader) text() string {
	length := r.uint(8)
	if length > 1<<16 {
		r.skip(length)
		return ""
	}
	return string(r.bytes(length))
}

func (r *ggufReader) skip(count uint64) {
	if r.err != nil || count > math.MaxInt32 {
		r.err = errGGUF
		return
	}
	done, err := r.in.Discard(int(count))
	r.read += uint64(done)
	if err != nil {
		r.err = errGGUF
	}
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
	m.Kind, m.Value = f.texts["general.architecture"], ValueType{"f16", 2, 1}
	var err error
	if m.ContextTokens, err = f.number("context_length", mostContext); err == nil {
		m.Layers, err = f.layers()
	}
	if err != nil {
		m.Layers, m.Unknown = nil, err.Error()
	}
}

func (f ggufFile) number(name string, most uint64) (int64, error) {
	key := f.texts["general.architecture"] + "." + name
	if f.arrays[key] > 0 || f.numbers[key] > most {
		return 0, fmt.Errorf("%w: its %s", errShape, cut(key))
	}
	return int64(f.numbers[key]), nil
}

func (f ggufFile) layers() ([]Layers, error) {
	of := f.texts["general.architecture"]
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
