package importer

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/umascope/umascope/loadgen/openai"
)

// Limits of a file: results contain every request; the files next to them are small.
const (
	mostBytes          = 512 << 20
	mostNeighbourBytes = 64 << 20
)

// file is a file of results.
type file struct {
	path   string
	name   string // without the folder that it is in, printable
	text   []byte
	sha256 string
}

func openFile(path string) (*file, error) {
	text, err := readFile(path, mostBytes)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	return &file{path, printable(filepath.Base(path), longestLabel), text, hex.EncodeToString(sum[:])}, nil
}

// base returns its unchanged name, without the folder.
func (f *file) base() string { return filepath.Base(f.path) }

// beside reads a file in the same folder; nil if it does not exist.
func (f *file) neighbour(name string) ([]byte, error) {
	text, err := readFile(filepath.Join(filepath.Dir(f.path), name), mostNeighbourBytes)
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	return text, err
}

// readFile reads a regular file up to a limit: reading a pipe could block forever.
func readFile(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, fmt.Errorf("%s: it is no regular file", path)
	case info.Size() > most:
		return nil, fmt.Errorf("%s: it is longer than %d MiB", path, most>>20)
	}
	open, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer open.Close()
	return io.ReadAll(io.LimitReader(open, most))
}

// decode reads JSON. Python's NaN and Infinity become absent.
func decode(text []byte, into any) error {
	err := json.Unmarshal(withoutNaN(text), into)
	var wrong *json.UnmarshalTypeError
	var bad *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		return fmt.Errorf("%s is %s", printable(cmp.Or(wrong.Field, "it"), longestLabel), wrong.Value)
	case errors.As(err, &bad):
		return fmt.Errorf("line %d: it is no JSON: %w", 1+bytes.Count(text[:min(len(text), int(bad.Offset))], []byte("\n")), err)
	default:
		return err
	}
}

// decodeBoth reads JSON into a struct of the expected fields, and by its members.
func decodeBoth(text []byte, known any, members *map[string]json.RawMessage) error {
	if err := decode(text, known); err != nil {
		return err
	}
	return decode(text, members)
}

// withoutNaN replaces NaN and Infinity, which Python's json.dump writes and JSON lacks, by null. Inside strings they
// stay.
func withoutNaN(text []byte) []byte {
	if !bytes.Contains(text, []byte("NaN")) && !bytes.Contains(text, []byte("Infinity")) {
		return text
	}
	clean := make([]byte, 0, len(text))
	quoted := false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\' && i+1 < len(text):
			clean = append(clean, c)
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		default:
			if word := noNumber(text[i:]); word != "" {
				clean = append(clean, "null"...)
				i += len(word) - 1
				continue
			}
		}
		clean = append(clean, text[i])
	}
	return clean
}

// noNumber returns NaN or Infinity at the beginning of a text, as the text spells it.
func noNumber(text []byte) string {
	for _, word := range []string{"-Infinity", "Infinity", "NaN"} {
		if bytes.HasPrefix(text, []byte(word)) {
			return word
		}
	}
	return ""
}

// printable makes a text from a file printable.
func printable(text string, most int) string { return strings.TrimSpace(openai.Printable(text, most)) }
