package terminal

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Output passes on the output of a program as long as it is read. Once the reader has gone, as head does after its last
// line, Output discards the text without an error: the outcome of the program is its exit code.
type Output struct {
	to   io.Writer
	gone func()
	once sync.Once
}

// Stdout returns the standard output; the end of its reader does not end the program, so that a measured run goes on.
// gone, which may be nil, is called once then, for a program whose only task is to print.
func Stdout(gone func()) *Output {
	// Caught, not ignored: child processes would inherit an ignored signal.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return NewOutput(os.Stdout, gone)
}

// NewOutput returns an Output to a writer.
func NewOutput(to io.Writer, gone func()) *Output { return &Output{to: to, gone: gone} }

// Write implements io.Writer. It returns all errors except that of a reader who has gone: a full disk is a failure.
func (o *Output) Write(text []byte) (int, error) {
	n, err := o.to.Write(text)
	if !errors.Is(err, syscall.EPIPE) {
		return n, err
	}
	if o.gone != nil {
		o.once.Do(o.gone)
	}
	return len(text), nil
}
