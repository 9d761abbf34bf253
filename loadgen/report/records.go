package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"os"

	"github.com/umascope/umascope/loadgen/chat"
)

// maxRecordBytes bounds one line of requests.jsonl: a million arrivals fit.
const maxRecordBytes = 64 << 20

// ErrTorn comes with the last line of a file that ends in the middle of it, as after a kill.
var ErrTorn = errors.New("the last line is torn")

// Records reads requests.jsonl, one chat.Record a line. A torn last line comes as ErrTorn, any
// other line that is no record as an error that names it; both end the sequence.
func Records(path string) iter.Seq2[chat.Record, error] {
	return func(yield func(chat.Record, error) bool) {
		file, err := os.Open(path)
		if err != nil {
			yield(chat.Record{}, err)
			return
		}
		defer file.Close()
		for record, err := range decodeRecords(file) {
			if err != nil {
				err = fmt.Errorf("%s: %w", path, err)
			}
			if !yield(record, err) {
				return
			}
		}
	}
}

func decodeRecords(file io.Reader) iter.Seq2[chat.Record, error] {
	return func(yield func(chat.Record, error) bool) {
		lines := bufio.NewReaderSize(file, 1<<16)
		var buffer []byte
		for number := 1; ; number++ {
			text, err := readLine(lines, buffer[:0])
			buffer = text
			if errors.Is(err, io.EOF) && len(text) == 0 {
				return
			}
			var record chat.Record
			if err == nil {
				err = json.Unmarshal(text, &record)
			} else if errors.Is(err, io.EOF) {
				err = ErrTorn
			}
			if err != nil {
				err = fmt.Errorf("line %d: %w", number, err)
			}
			if !yield(record, err) || err != nil {
				return
			}
		}
	}
}

// readLine appends a line to the buffer. The error is io.EOF for text without a newline.
func readLine(lines *bufio.Reader, buffer []byte) ([]byte, error) {
	for {
		part, err := lines.ReadSlice('\n')
		buffer = append(buffer, part...)
		if len(buffer) > maxRecordBytes {
			return buffer, fmt.Errorf("longer than %d MiB", maxRecordBytes>>20)
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return buffer, err
		}
	}
}
