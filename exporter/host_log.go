package exporter

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"
)

// logFiles is the root of the machine's log files in the command line: regular files only, opened without waiting, so
// that a pipe in the place of a log does not stop a collector. They may be longer than what hostfs.Dir reads: only the
// appended part of a log is read.
type logFiles struct{}

// Open implements fs.FS.
func (logFiles) Open(name string) (fs.File, error) {
	if !fs.ValidPath(name) {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	}
	return openRegular("/" + name)
}

// openRegular opens a regular file. It refuses files that could block, such as pipes.
func openRegular(path string) (fs.File, error) {
	file, err := os.OpenFile(path, os.O_RDONLY|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		file.Close()
		return nil, err
	}
	return file, nil
}
