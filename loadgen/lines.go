package loadgen

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"
)

// flushInterval bounds what a killed run loses.
const flushInterval = 250 * time.Millisecond

// lineFile appends values to a file, one JSON object a line.
//
// Add only queues: one goroutine encodes and writes, four times a second, so that neither
// encoding nor a slow disk holds up the load. The queue grows while the disk stands still; what
// it holds is what the run measured, and dropping that is not an option.
type lineFile struct {
	path   string
	file   *os.File
	buffer *bufio.Writer
	failed func(error) // called once, by the writing goroutine

	mutex sync.Mutex
	queue []any

	stop, done chan struct{}
	lost       int
	err        error
}

// newLineFile creates the file, which must not exist, and starts its writer. failed is told the
// first error.
func newLineFile(path string, failed func(error)) (*lineFile, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	return writeLines(file, failed), nil
}

func writeLines(file *os.File, failed func(error)) *lineFile {
	f := &lineFile{
		path: file.Name(), file: file, buffer: bufio.NewWriterSize(file, 256<<10), failed: failed,
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go f.run()
	return f
}

// Add queues a value. It must not be changed afterwards.
func (f *lineFile) Add(value any) {
	f.mutex.Lock()
	f.queue = append(f.queue, value)
	f.mutex.Unlock()
}

// Close writes what is queued, makes it durable, and returns the first error of the file's life.
func (f *lineFile) Close() error {
	close(f.stop)
	<-f.done
	if f.err != nil && f.lost > 0 {
		return fmt.Errorf("%w; %d lines of %s are lost", f.err, f.lost, f.path)
	}
	return f.err
}

func (f *lineFile) run() {
	defer close(f.done)
	tick := time.NewTicker(flushInterval)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			f.write()
		case <-f.stop:
			f.write()
			f.fail(errors.Join(f.file.Sync(), f.file.Close()))
			return
		}
	}
}

// write encodes and flushes the queue. After an error it only counts: a file with a hole in the
// middle would pass for a whole one.
func (f *lineFile) write() {
	f.mutex.Lock()
	queue := f.queue
	f.queue = nil
	f.mutex.Unlock()
	if len(queue) == 0 {
		return
	}
	if f.err == nil {
		f.fail(f.encode(queue))
	}
	if f.err != nil {
		f.lost += len(queue)
	}
}

func (f *lineFile) encode(queue []any) error {
	encoder := json.NewEncoder(f.buffer)
	encoder.SetEscapeHTML(false)
	for _, value := range queue {
		if err := encoder.Encode(value); err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
	}
	return f.buffer.Flush()
}

// fail keeps and reports the first error.
func (f *lineFile) fail(err error) {
	if err == nil || f.err != nil {
		return
	}
	f.err = err
	f.failed(err)
}
