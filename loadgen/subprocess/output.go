package subprocess

import (
	"bytes"
	"io"
)

// Output is one stream of a program, with several writers. A writer that fails blocks neither the others nor the
// program: a program whose output has no reader would be ended by the kernel.
type Output struct {
	writers []io.Writer
}

// NewOutput returns a stream that goes to all writers, in this order.
func NewOutput(writers ...io.Writer) *Output { return &Output{writers} }

// Write never fails. A writer that has failed receives nothing more.
func (o *Output) Write(text []byte) (int, error) {
	for i, w := range o.writers {
		if w == nil {
			continue
		}
		if _, err := w.Write(text); err != nil {
			o.writers[i] = nil
		}
	}
	return len(text), nil
}

// Bounded keeps the first bytes written to it. It does not embed the buffer, because bytes.Buffer reads from a pipe
// without a bound.
type Bounded struct {
	Kept      bytes.Buffer
	MostBytes int
}

// Write never fails.
func (b *Bounded) Write(text []byte) (int, error) {
	b.Kept.Write(text[:min(len(text), b.MostBytes-b.Kept.Len())])
	return len(text), nil
}
