package gguf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math"
	"reflect"
	"strings"
	"testing"
)

// file writes a file of version 3: texts with their length, everything else as it is.
func file(values ...any) []byte {
	var b bytes.Buffer
	b.WriteString("GGUF")
	for _, v := range append([]any{uint32(3)}, values...) {
		if text, is := v.(string); is {
			_ = binary.Write(&b, binary.LittleEndian, uint64(len(text)))
			b.WriteString(text)
			continue
		}
		_ = binary.Write(&b, binary.LittleEndian, v)
	}
	return b.Bytes()
}

func whole() []byte {
	return file(uint64(1), uint64(8),
		"general.architecture", uint32(8), "llama",
		"llama.block_count", uint32(4), uint32(2),
		"signed", uint32(5), int32(-1),
		"long", uint32(10), uint64(1)<<40,
		"fraction", uint32(6), float32(10000),
		"yes", uint32(7), uint8(1),
		"heads", uint32(9), uint32(4), uint64(2), uint32(4), uint32(8),
		"tokens", uint32(9), uint32(8), uint64(2), "a", "bc",
		"blk.0.attn_q.weight", uint32(2), uint64(4096), uint64(64), uint32(8), uint64(32))
}

func TestAHeaderIsReadWhole(t *testing.T) {
	text := whole()
	got, err := Read(bytes.NewReader(append(bytes.Clone(text), "tensors"...)))
	want := Header{
		Numbers: map[string]uint64{"llama.block_count": 2, "signed": math.MaxUint64, "long": 1 << 40, "yes": 1},
		Texts:   map[string]string{"general.architecture": "llama"},
		Lists:   map[string]List{"heads": {2, new(uint64(8))}, "tokens": {Count: 2}},
		Tensors: []Tensor{{"blk.0.attn_q.weight", 4096 * 64, 8, 32}},
		Bytes:   uint64(len(text)),
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestAHeaderThatIsCutOffAnywhereIsRefused(t *testing.T) {
	text := whole()
	for n := range len(text) {
		if got, err := Read(bytes.NewReader(text[:n])); !errors.Is(err, ErrFormat) {
			t.Fatalf("%d of %d bytes: %+v, %v", n, len(text), got, err)
		}
	}
}

func TestWhatIsNoHeaderIsRefused(t *testing.T) {
	for name, test := range map[string]struct {
		file []byte
		says string
	}{
		"another format":          {[]byte("GGML\x03\x00\x00\x00"), ErrFormat.Error()},
		"another version":         {append([]byte("GGUF\x09\x00\x00\x00"), make([]byte, 64)...), "version 9"},
		"more entries than any":   {file(uint64(0), uint64(math.MaxUint64)), ErrFormat.Error()},
		"an unknown type":         {file(uint64(0), uint64(1), "a", uint32(13), uint64(0)), ErrFormat.Error()},
		"a list of lists":         {file(uint64(0), uint64(1), "a", uint32(9), uint32(9), uint64(1), uint64(0)), ErrFormat.Error()},
		"a list longer than any":  {file(uint64(0), uint64(1), "a", uint32(9), uint32(4), uint64(math.MaxUint64)), ErrFormat.Error()},
		"a text longer than any":  {file(uint64(0), uint64(1), "a", uint32(8), uint64(math.MaxUint64)), ErrFormat.Error()},
		"a tensor of nine ranges": {file(uint64(1), uint64(0), "a", uint32(9), make([]uint64, 12)), ErrFormat.Error()},
	} {
		if got, err := Read(bytes.NewReader(test.file)); err == nil || !strings.Contains(err.Error(), test.says) {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

func TestALongTextIsPassedOver(t *testing.T) {
	got, err := Read(bytes.NewReader(file(uint64(0), uint64(2), "template", uint32(8), strings.Repeat("x", mostText+1), "n", uint32(0), uint8(7))))
	if err != nil || got.Texts["template"] != "" || got.Numbers["n"] != 7 {
		t.Errorf("%+v, %v", got, err)
	}
}

func FuzzRead(f *testing.F) {
	f.Add(whole(), []byte("tensors"))
	f.Add(file(uint64(0), uint64(1), "a", uint32(9), uint32(0), uint64(3), uint16(1), uint8(2)), []byte{})
	f.Fuzz(func(t *testing.T, text, behind []byte) {
		got, err := Read(bytes.NewReader(text))
		if err != nil {
			return
		}
		if got.Bytes > uint64(len(text)) {
			t.Fatalf("a header of %d bytes in %d", got.Bytes, len(text))
		}
		for _, tensor := range got.Tensors {
			if !(tensor.Values >= 0) {
				t.Errorf("%+v", tensor)
			}
		}
		again, err := Read(bytes.NewReader(append(bytes.Clone(text[:got.Bytes]), behind...)))
		if err != nil || !reflect.DeepEqual(again, got) {
			t.Errorf("what is behind the header changes it: %+v, %+v, %v", got, again, err)
		}
	})
}
