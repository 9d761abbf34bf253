package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/subprocess"
)

// ErrInterrupted is the error of a run that was interrupted before its plan ended.
var ErrInterrupted = errors.New("interrupted before its plan ended")

// InputError is bad input, or an environment in which the run cannot be made.
type InputError struct{ err error }

func (e InputError) Error() string { return e.err.Error() }

func (e InputError) Unwrap() error { return e.err }

// input marks bad input or an unusable environment.
func input(err error) error { return InputError{err} }

// inputOf marks the value of a flag, such as "--url", as bad input.
func inputOf(flag string, err error) error { return input(fmt.Errorf("%s: %w", flag, err)) }

// CommandError is the error of a recorded command that failed.
type CommandError struct {
	Program string
	Exit    subprocess.Exit
}

func (e CommandError) Error() string { return fmt.Sprintf("%s %s", e.Program, e.Exit) }

// Unusable marks the error of a request as bad input. It returns ErrInterrupted if the context is done.
func Unusable(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ErrInterrupted
	}
	return input(err)
}

// BadOut is the error of a folder that cannot be written to.
func BadOut(err error) error { return input(fmt.Errorf("--out: %w; --out names another folder", err)) }

// MakeFolder makes the folder of a run. Its error is an InputError that names the flag.
func MakeFolder(out, id string) (rundir.Folder, error) {
	made, err := rundir.New(out, id)
	switch {
	case errors.Is(err, fs.ErrExist):
		return "", input(fmt.Errorf("--run-id: %s exists; a run's folder is never written twice", filepath.Join(out, id)))
	case err != nil:
		return "", BadOut(err)
	}
	return made, nil
}

// printable makes foreign text printable as openai.Printable does, up to the length that messages of this package
// allow.
func printable(text string) string { return openai.Printable(text, openai.LongestForeign) }
