package openai

import (
	"bytes"
	"io"
	"os"
	"strings"
)

const (
	// overwritten is how much of a file is searched at once, and longestForm how much of it is searched again with the
	// next part: no form of a usual secret is longer.
	overwritten = 1 << 20
	longestForm = 16 << 10
)

// Overwrite replaces the secrets in a file by asterisks, from an offset in bytes on. The length of the file and the
// places of all other bytes stay, so that a program may go on writing to it.
func (r *Redactor) Overwrite(file *os.File, from int64) error {
	if r == nil || len(r.plain) == 0 {
		return nil
	}
	buffer := make([]byte, overwritten)
	for {
		n, err := file.ReadAt(buffer, from)
		part := buffer[:n]
		for _, hidden := range r.spans(string(part)) {
			if _, err := file.WriteAt(bytes.Repeat([]byte("*"), hidden[1]-hidden[0]), from+int64(hidden[0])); err != nil {
				return err
			}
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		from += int64(n - longestForm)
	}
}

// spans returns where a text has secrets: first byte and end of each.
func (r *Redactor) spans(text string) (all [][2]int) {
	for _, secret := range r.plain {
		for from := 0; ; {
			hit := strings.Index(text[from:], secret)
			if hit < 0 {
				break
			}
			all = append(all, [2]int{from + hit, from + hit + len(secret)})
			from += hit + len(secret)
		}
	}
	if r.holds(text) {
		for _, n := range r.needles {
			all = append(all, n.spans(text)...)
		}
	}
	return all
}
