// Package gguf reads the header of a GGUF file: metadata, and the tensors that follow it (github.com/ggml-org/ggml,
// docs/gguf.md; versions 2 and 3, little endian). The tensors themselves are not read. Libraries for this map whole files
// or bring a downloader: the exporter is to stay small.
package gguf

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
)

// Header is what a file says of itself.
type Header struct {
	// Numbers are the whole numbers and truth values of the metadata; a negative one is above math.MaxInt64. Texts longer
	// than 64 KiB, such as some chat templates, are empty.
	Numbers map[string]uint64
	Texts   map[string]string
	Lists   map[string]List
	Tensors []Tensor
	// Bytes is the length of the header, without the padding before the first tensor.
	Bytes uint64
}

// List is a list of the metadata.
type List struct {
	Count uint64
	// Largest is the largest number of a list with a whole number for each layer; nil of other lists.
	Largest *uint64
}

// Tensor is an entry for a tensor.
type Tensor struct {
	Name string
	// Values is how many it has.
	Values float64
	// Type is that of ggml.h.
	Type uint32
	// Offset is where it begins, in bytes after the header and its padding.
	Offset uint64
}

// Bounds of a header, since a foreign file must not take memory or time.
const (
	mostBytes      = 128 << 20 // a vocabulary of a million tokens is some 20 MB
	mostEntries    = 1 << 16
	mostText       = 1 << 16
	mostDimensions = 8
	mostLayers     = 1024
)

// ErrFormat is the error for a file that is not read.
var ErrFormat = errors.New("is no GGUF file, or cut off in its header")

// Read reads a header.
func Read(from io.Reader) (Header, error) {
	r := &reader{in: bufio.NewReader(io.LimitReader(from, mostBytes))}
	if magic := r.bytes(4); string(magic) != "GGUF" {
		return Header{}, ErrFormat
	}
	if version := r.number(4); r.err == nil && version != 2 && version != 3 {
		return Header{}, fmt.Errorf("is a GGUF file of version %d: 2 and 3 are read", version)
	}
	tensors, entries := r.number(8), r.number(8)
	if tensors > mostEntries || entries > mostEntries {
		return Header{}, ErrFormat
	}
	h := Header{Numbers: map[string]uint64{}, Texts: map[string]string{}, Lists: map[string]List{}}
	for range entries {
		h.entry(r)
		if r.err != nil {
			return Header{}, r.err
		}
	}
	for range tensors {
		h.Tensors = append(h.Tensors, r.tensor())
		if r.err != nil {
			return Header{}, r.err
		}
	}
	h.Bytes = r.read
	return h, r.err
}

// Types of values that are no plain numbers, see width.
const (
	typeText = 8
	typeList = 9
)

// width is the number of bytes of a number, 0 for other types, and whether it is a whole one.
func width(of uint64) (bytes uint64, whole, signed bool) {
	numbers := []struct {
		bytes         uint64
		whole, signed bool
	}{
		0: {1, true, false}, 1: {1, true, true}, 2: {2, true, false}, 3: {2, true, true}, 4: {4, true, false}, 5: {4, true, true},
		6: {bytes: 4}, 7: {1, true, false}, 10: {8, true, false}, 11: {8, true, true}, 12: {bytes: 8},
	}
	if of >= uint64(len(numbers)) {
		return 0, false, false
	}
	n := numbers[of]
	return n.bytes, n.whole, n.signed
}

// entry reads a key and its value.
func (h Header) entry(r *reader) {
	key, of := r.text(), r.number(4)
	switch of {
	case typeText:
		h.Texts[key] = r.text()
	case typeList:
		h.Lists[key] = r.list()
	default:
		if value, whole := r.value(of); whole {
			h.Numbers[key] = value
		}
	}
}

// reader reads until the first error.
type reader struct {
	in   *bufio.Reader
	read uint64
	err  error
}

func (r *reader) fail() { r.err = ErrFormat }

func (r *reader) bytes(count uint64) []byte {
	if r.err != nil || count > mostText {
		r.fail()
		return nil
	}
	data := make([]byte, count)
	if _, err := io.ReadFull(r.in, data); err != nil {
		r.fail()
	}
	r.read += count
	return data
}

// number reads an unsigned number.
func (r *reader) number(bytes uint64) uint64 {
	var data [8]byte
	copy(data[:], r.bytes(bytes))
	return binary.LittleEndian.Uint64(data[:])
}

// value reads a number of a type; whole is false for a fraction, which is passed over.
func (r *reader) value(of uint64) (value uint64, whole bool) {
	bytes, whole, signed := width(of)
	if bytes == 0 {
		r.fail()
		return 0, false
	}
	value = r.number(bytes)
	if unused := 64 - 8*bytes; signed {
		value = uint64(int64(value<<unused) >> unused)
	}
	return value, whole
}

func (r *reader) text() string {
	length := r.number(8)
	if length > mostText {
		r.skip(length)
		return ""
	}
	return string(r.bytes(length))
}

func (r *reader) skip(count uint64) {
	if r.err != nil || count > math.MaxInt32 {
		r.fail()
		return
	}
	done, err := r.in.Discard(int(count))
	r.read += uint64(done)
	if err != nil {
		r.fail()
	}
}

// list reads a list. Lists of lists are in no model.
func (r *reader) list() List {
	of, count := r.number(4), r.number(8)
	list := List{Count: count}
	bytes, whole, _ := width(of)
	switch {
	case of == typeText:
		for range count {
			if r.skip(r.number(8)); r.err != nil {
				break
			}
		}
	case bytes == 0, count > mostBytes:
		r.fail()
	case !whole || count == 0 || count > mostLayers:
		r.skip(bytes * count)
	default:
		largest := uint64(0)
		for range count {
			value, _ := r.value(of)
			largest = max(largest, value)
		}
		list.Largest = &largest
	}
	return list
}

func (r *reader) tensor() Tensor {
	t := Tensor{Name: r.text(), Values: 1}
	dimensions := r.number(4)
	if dimensions > mostDimensions {
		r.fail()
		return Tensor{}
	}
	for range dimensions {
		t.Values *= float64(r.number(8))
	}
	t.Type, t.Offset = uint32(r.number(4)), r.number(8)
	return t
}
