package subprocess

import "io"

// Output is one stream of a program: passed on, kept, and read. A writer that fails holds up none of
// the others, and never the program: one whose reader has gone would be ended by it.
type Output struct {
	writers []io.Writer
}

// NewOutput returns a stream that goes to all writers, in this order.
func NewOutput(writers ...io.Writer) *Output { return &Output{writers} }

// Write never fails; a writer that has failed gets nothing more.
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
