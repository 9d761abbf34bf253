package hostfs

import (
	"errors"
	"fmt"
	"io"
	"io/fs"

	"github.com/prometheus/procfs"
)

// readProcfs reads a file of a proc directory with github.com/prometheus/procfs, which opens it itself. Errors name the
// file; the kernel's is in them, and errMalformed where the library cannot parse the text.
func readProcfs[T any](proc Dir, name string, read func(procfs.FS) (T, error)) (T, error) {
	var none T
	if err := proc.checkWhole(name); err != nil {
		return none, err
	}
	value, err := contained(func() (T, error) {
		tree, err := procfs.NewFS(proc.Path)
		if err != nil {
			return none, err
		}
		return read(tree)
	})
	if err != nil {
		return none, proc.readFailed(name, err)
	}
	return value, nil
}

// readProcess reads a file of a process.
func readProcess[T any](proc Dir, pid uint32, file string, read func(procfs.Proc) (T, error)) (T, error) {
	return readProcfs(proc, processFile(pid, file), func(tree procfs.FS) (T, error) {
		process, err := tree.Proc(int(pid))
		if err != nil {
			var none T
			return none, err
		}
		return read(process)
	})
}

// checkWhole is the check before procfs reads a file: it takes a number that was cut off for a whole one, waits for a pipe
// and knows nothing of Refuse. A mounted procfs has neither cut files nor pipes; a folder may.
func (d Dir) checkWhole(name string) error {
	if IsProcfs(d.Path) {
		_, err := d.open("read", name)
		return err
	}
	content, err := d.ReadFile(name)
	if err == nil && len(content) > 0 && content[len(content)-1] != '\n' {
		return d.failed("read", name, io.ErrUnexpectedEOF)
	}
	return err
}

// contained makes a panic of a parser an error. procfs panics where the parentheses of a <pid>/stat are the other way
// round.
func contained[T any](read func() (T, error)) (value T, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("%w: %v", errMalformed, cause)
		}
	}()
	return read()
}

// readFailed is the error of reading a file with procfs, whose own text may hold all that is in the file.
func (d Dir) readFailed(name string, err error) error {
	if _, refused := errors.AsType[*fs.PathError](err); refused {
		return d.failed("read", name, err)
	}
	if !errors.Is(err, errMalformed) {
		err = fmt.Errorf("%w: %s", errMalformed, excerpt(err.Error()))
	}
	return fmt.Errorf("%s: %w", d.shown(name), err)
}
