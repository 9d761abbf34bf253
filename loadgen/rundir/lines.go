package rundir

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

// Lines appends values to a file, one JSON object a line.
//
// Add only queues: one goroutine encodes each value as it comes, and writes four times a second, so that a slow disk
// does not hold up the load. Encoding is not left to the same moment: on a client of one core, half a thousand records
// in a row would keep it from sending for milliseconds. The queue grows while the disk hangs; it holds measurements,
// which must not be dropped.
type Lines struct {
	path    string
	file    *os.File
	buffer  *bufio.Writer
	encoder *json.Encoder // into buffer
	failed  func(error)   // called once, by the writing goroutine

	mutex sync.Mutex
	queue []any
	added chan struct{} // holds one element when a value was added

	stop, done chan struct{}
	unwritten  int // lines since the last complete write
	lost       int
	err        error
}

// NewLines creates the file, which must not exist, and starts its writer. failed is called with the first error.
func NewLines(path string, failed func(error)) (*Lines, error) {
	return newLines(path, 0o640, failed)
}

// NewPrivateLines is NewLines for a file that other users cannot read.
func NewPrivateLines(path string, failed func(error)) (*Lines, error) {
	return newLines(path, 0o600, failed)
}

func newLines(path string, mode os.FileMode, failed func(error)) (*Lines, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return nil, err
	}
	return WriteLines(file, failed), nil
}

// WriteLines starts the writer of a file that is open already; Close closes the file.
func WriteLines(file *os.File, failed func(error)) *Lines {
	f := &Lines{
		path: file.Name(), file: file, buffer: bufio.NewWriterSize(file, 256<<10), failed: failed,
		added: make(chan struct{}, 1), stop: make(chan struct{}), done: make(chan struct{}),
	}
	f.encoder = json.NewEncoder(f.buffer)
	f.encoder.SetEscapeHTML(false)
	go f.run()
	return f
}

// Add queues a value. The caller must not change it afterwards.
func (f *Lines) Add(value any) {
	f.mutex.Lock()
	f.queue = append(f.queue, value)
	f.mutex.Unlock()
	select {
	case f.added <- struct{}{}:
	default: // the writer has not taken the previous signal yet
	}
}

// Close writes what is queued, makes it durable, and returns the first error of the file's life.
func (f *Lines) Close() error {
	close(f.stop)
	<-f.done
	if f.err != nil && f.lost > 0 {
		return fmt.Errorf("%w; %d lines of %s are lost", f.err, f.lost, f.path)
	}
	return f.err
}

func (f *Lines) run() {
	defer close(f.done)
	tick := time.NewTicker(flushInterval)
	defer tick.Stop()
	for {
		select {
		case <-f.added:
			f.encode()
		case <-tick.C:
			f.write()
		case <-f.stop:
			f.encode()
			f.write()
			f.fail(errors.Join(f.file.Sync(), f.file.Close()))
			return
		}
	}
}

// encode empties the queue. After an error it only counts: a file with a gap in the middle would look complete.
func (f *Lines) encode() {
	f.mutex.Lock()
	queue := f.queue
	f.queue = nil
	f.mutex.Unlock()
	for _, value := range queue {
		f.unwritten++
		if f.err != nil {
			continue
		}
		if err := f.encoder.Encode(value); err != nil {
			f.fail(fmt.Errorf("%s: %w", f.path, err))
		}
	}
}

// write writes the encoded lines to the file.
func (f *Lines) write() {
	if f.err == nil {
		f.fail(f.buffer.Flush())
	}
	if f.err != nil {
		f.lost += f.unwritten
	}
	f.unwritten = 0
}

// fail keeps and reports the first error.
func (f *Lines) fail(err error) {
	if err == nil || f.err != nil {
		return
	}
	f.err = err
	f.failed(err)
}
