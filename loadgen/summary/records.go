package summary

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"runtime"
	"sync"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/runfile"
)

// maxRecordBytes bounds one line of requests.jsonl. The longest answer fits: an arrival takes some 25 bytes, and a
// single long answer must not make the other records unreadable.
const maxRecordBytes = 32 * openai.MaxEvents

// ErrTorn is returned with the last line of a file that ends within the line, as after a kill.
var ErrTorn = errors.New("the last line is torn")

// Records reads requests.jsonl, one openai.Record a line. A torn last line yields ErrTorn, any other line that is not a
// record yields an error that names it; both end the sequence.
func Records(path string) iter.Seq2[openai.Record, error] {
	return RecordsBy(path, runtime.GOMAXPROCS(0))
}

// RecordsBy is Records with a number of decoders, for a caller who reads many files at once: each decoder holds some
// batches.
func RecordsBy(path string, decoders int) iter.Seq2[openai.Record, error] {
	return func(yield func(openai.Record, error) bool) {
		file, err := runfile.Open(path)
		if err != nil {
			yield(openai.Record{}, err)
			return
		}
		defer file.Close()
		for record, err := range decodeRecords(file, decoders) {
			if err != nil {
				err = fmt.Errorf("%s: %w", path, err)
			}
			if !yield(record, err) {
				return
			}
		}
	}
}

// decodeRecords yields the records of a file in its order. It decodes batches of lines on several cores: decoding JSON
// is nearly all of the work of a summary. The channel of batches bounds how much of the file is in memory.
func decodeRecords(file io.Reader, decoders int) iter.Seq2[openai.Record, error] {
	return func(yield func(openai.Record, error) bool) {
		ordered, stop := make(chan *batch, decoders), make(chan struct{})
		var running sync.WaitGroup
		defer running.Wait() // until no goroutine reads the file any more
		defer close(stop)
		running.Go(func() {
			defer close(ordered)
			for b := range batches(bufio.NewReaderSize(file, 1<<16)) {
				running.Go(b.decode)
				select {
				case ordered <- b:
				case <-stop:
					return
				}
			}
		})
		for b := range ordered {
			<-b.decoded
			for _, record := range b.records {
				if !yield(record, nil) {
					return
				}
			}
			if b.err != nil {
				yield(openai.Record{}, b.err)
				return
			}
		}
	}
}

// batchBytes is the approximate amount of text in a batch: enough to make the hand-over cheap.
const batchBytes = 256 << 10

// batch is a piece of the file: whole lines, and after decoding their records.
type batch struct {
	first   int // number of its first line
	text    []byte
	ends    []int // of each line in text
	records []openai.Record
	err     error // after the records
	decoded chan struct{}
}

// decode decodes the lines into records, up to the first that is not one. An error of reading comes after them.
func (b *batch) decode() {
	defer close(b.decoded)
	b.records = make([]openai.Record, len(b.ends))
	start := 0
	for i, end := range b.ends {
		var err error
		if b.records[i], err = decodeRecord(b.text[start:end]); err != nil {
			b.records, b.err = b.records[:i], lineError(b.first+i, err)
			return
		}
		start = end
	}
}

func lineError(number int, err error) error { return fmt.Errorf("line %d: %w", number, err) }

// batches cuts the file into batches until it ends or a line cannot be read.
func batches(lines *bufio.Reader) iter.Seq[*batch] {
	return func(yield func(*batch) bool) {
		var err error
		for number := 1; err == nil; {
			b := &batch{first: number, text: make([]byte, 0, batchBytes+batchBytes/8), decoded: make(chan struct{})}
			whole := 0 // bytes of whole lines
			for err == nil && len(b.text) < batchBytes {
				if b.text, err = runfile.ReadLine(lines, b.text, maxRecordBytes); err == nil {
					whole = len(b.text)
					b.ends = append(b.ends, whole)
					number++
				}
			}
			if errors.Is(err, io.EOF) && len(b.text) > whole {
				b.err = lineError(number, ErrTorn)
			} else if err != nil && !errors.Is(err, io.EOF) {
				b.err = lineError(number, err)
			}
			if !yield(b) {
				return
			}
		}
	}
}
