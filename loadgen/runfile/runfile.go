// Package runfile opens files of run folders. Somebody else may have written a folder: what its files lead to is
// neither read nor shown. It also has the counts of telemetry, which both the manifest and the sampler need.
package runfile

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
)

// Open opens a file of a run folder for reading. A link, also one to a file beside it, a pipe and a device are errors that
// name the file; one that is not there is fs.ErrNotExist.
func Open(path string) (*os.File, error) {
	// O_NONBLOCK: to open a pipe would wait for somebody who writes into it.
	file, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NOFOLLOW|syscall.O_NONBLOCK, 0)
	if errors.Is(err, syscall.ELOOP) {
		return nil, fmt.Errorf("%s is a link, and files of a run are not", filepath.Base(path))
	}
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = fmt.Errorf("%s is no regular file", filepath.Base(path))
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Read reads a file of at most most bytes.
func Read(path string, most int64) ([]byte, error) {
	file, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is longer than %d MiB", filepath.Base(path), most>>20)
	}
	return text, err
}

// ReadLine appends the next line of a file, with its newline, to the text. A last line without a newline comes with
// io.EOF; a line of more than most bytes is an error.
func ReadLine(lines *bufio.Reader, text []byte, most int) ([]byte, error) {
	before := len(text)
	for {
		part, err := lines.ReadSlice('\n')
		text = append(text, part...)
		if len(text)-before > most {
			return text, fmt.Errorf("longer than %d MiB", most>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, err
		}
	}
}
