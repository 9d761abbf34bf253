package telemetry

import (
	"compress/gzip"
	"encoding/json"
	"fmt"
	"os"
	"sync"
)

// writer appends lines to the compressed file. The goroutines of all sources share it. After the first failed write it
// writes no more; close returns that error.
type writer struct {
	mutex    sync.Mutex
	file     *os.File
	compress *gzip.Writer
	encode   *json.Encoder
	err      error
}

// newWriter creates the file, which must not exist, and writes the header.
func newWriter(path string, first Header) (*writer, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o640)
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	compress := gzip.NewWriter(file)
	w := &writer{file: file, compress: compress, encode: json.NewEncoder(compress)}
	w.put(first)
	w.flush()
	if w.err != nil {
		_, _ = w.close()
		return nil, fmt.Errorf("telemetry: %w", w.err)
	}
	return w, nil
}

// put appends lines in one piece.
func (w *writer) put(lines ...any) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for _, l := range lines {
		if w.err == nil {
			w.err = w.encode.Encode(l)
		}
	}
}

// flush makes everything put so far readable, even if the process is killed right after.
func (w *writer) flush() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.err == nil {
		w.err = w.compress.Flush()
	}
}

// close ends the file and returns its size.
func (w *writer) close() (int64, error) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	keep := func(err error) {
		if w.err == nil {
			w.err = err
		}
	}
	keep(w.compress.Close())
	var size int64
	info, err := w.file.Stat()
	if keep(err); err == nil {
		size = info.Size()
	}
	keep(w.file.Close())
	return size, w.err
}
