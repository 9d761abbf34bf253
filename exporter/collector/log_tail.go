package collector

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"

	"github.com/umascope/umascope/exporter/hostfs"
)

// Limits of what is read of a log in one collection. Of a longer log the beginning, where programs print their
// configuration, and the end are read.
const (
	maxLogHead = 1 << 20
	maxLogTail = 4 << 20
	maxLogLine = 64 << 10
)

// logTail reads a log as it grows. It keeps no file open: a removed log must not keep its disk space because of a
// reader.
type logTail struct {
	info   fs.FileInfo // of the file as it was last, nil before
	offset int64       // what has been read of it
	rest   []byte      // a line whose end has not been written yet
}

// read hands over the lines that were added since the last call. A file that was replaced or has become shorter is a
// new file: begin is called before its lines.
func (t *logTail) read(path string, begin func(), line func(string)) error {
	file, err := hostfs.OpenRegular(path)
	if err != nil {
		return err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return err
	}
	if t.info == nil || !os.SameFile(t.info, info) || info.Size() < t.offset {
		*t = logTail{}
		begin()
	}
	t.info = info
	return t.advance(file, info.Size(), line)
}

// advance reads up to size, which the file had when it was opened: a log that grows faster than it is read must not
// hold the reader.
func (t *logTail) advance(content io.ReaderAt, size int64, line func(string)) error {
	if t.offset == 0 && size > maxLogTail {
		if err := t.take(content, maxLogHead, line); err != nil {
			return err
		}
	}
	if skipped := size - maxLogTail; t.offset < skipped {
		t.offset, t.rest = skipped, nil
		return t.take(content, size, dropFirst(line))
	}
	return t.take(content, size, line)
}

// dropFirst leaves out a line whose beginning was not read.
func dropFirst(line func(string)) func(string) {
	first := true
	return func(text string) {
		if !first {
			line(text)
		}
		first = false
	}
}

// take reads up to an offset. A last line without its end waits for the rest.
func (t *logTail) take(content io.ReaderAt, end int64, line func(string)) error {
	added := make([]byte, end-t.offset)
	n, err := content.ReadAt(added, t.offset)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	t.offset += int64(n)
	text := append(t.rest, added[:n]...)
	for {
		one, more, ended := bytes.Cut(text, []byte("\n"))
		if !ended {
			break
		}
		line(string(one))
		text = more
	}
	t.rest = bytes.Clone(text[:min(len(text), maxLogLine)])
	return nil
}
