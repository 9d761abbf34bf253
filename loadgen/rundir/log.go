package rundir

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// Log is a file of the folder that another program fills, truncated to a limit.
type Log struct {
	file io.WriteCloser
	left int64
	cut  bool
	err  error
}

// NewLog creates the file, by its path in the folder, with a limit of most bytes.
func (f Folder) NewLog(name string, most int64) (*Log, error) {
	path := f.Path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, err
	}
	return LogTo(file, most), nil
}

// LogTo returns a log that writes to an open file.
func LogTo(file io.WriteCloser, most int64) *Log { return &Log{file: file, left: most} }

// Write never fails, so that the writing program continues on a full disk; Close returns the error.
func (l *Log) Write(text []byte) (int, error) {
	keep := text[:min(int64(len(text)), l.left)]
	l.cut = l.cut || len(keep) < len(text)
	l.left -= int64(len(keep))
	if l.err == nil && len(keep) > 0 {
		_, l.err = l.file.Write(keep)
	}
	return len(text), nil
}

// Close completes the file. cut is true if text was dropped; the last line then reports it too.
func (l *Log) Close() (cut bool, err error) {
	if l.cut && l.err == nil {
		_, l.err = fmt.Fprint(l.file, "\n[cut off: there was no room for the rest]\n")
	}
	return l.cut, errors.Join(l.err, l.file.Close())
}
