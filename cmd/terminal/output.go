package terminal

import (
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
)

// Output passes on what a program prints for as long as somebody reads it. Once the reader has gone, as head does when
// it has seen enough, what is printed goes nowhere and that is no failure: the program's own outcome is its exit code.
type Output struct {
	to   io.Writer
	gone func()
	once sync.Once
}

// Stdout is the standard output, which no longer ends the program when its reader goes: a run that is measured goes on.
// Gone, which may be nil, is called once then, for a program that has nothing to do but to print.
func Stdout(gone func()) *Output {
	// Caught, not ignored: commands that the program runs would inherit that.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE)
	return NewOutput(os.Stdout, gone)
}

// NewOutput is an Output to a writer.
func NewOutput(to io.Writer, gone func()) *Output { return &Output{to: to, gone: gone} }

// Write implements io.Writer. Errors other than that of a reader who has gone are passed on: a full disk is a failure.
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
