package rundir

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/umascope/umascope/loadgen/runfile"
)

// Outputs finds the model's output in outputs.jsonl. It keeps the position of each line, not the lines: the texts of a
// run may be larger than memory.
type Outputs struct {
	file  *os.File
	lines map[requestKey]extent
}

type requestKey struct {
	phase string
	index int
}

type extent struct{ at, length int64 }

// OpenOutputs reads the file once. A missing file has no outputs; a torn last line is left out.
func OpenOutputs(path string) (*Outputs, error) {
	file, err := runfile.Open(path)
	if errors.Is(err, os.ErrNotExist) {
		return &Outputs{}, nil
	}
	if err != nil {
		return nil, err
	}
	o := &Outputs{file: file, lines: map[requestKey]extent{}}
	if err := o.index(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), file.Close())
	}
	return o, nil
}

func (o *Outputs) index() error {
	reader := bufio.NewReaderSize(o.file, 1<<20)
	var at int64
	for number := 1; ; number++ {
		text, err := reader.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		var line struct {
			Phase string `json:"phase"`
			Index int    `json:"index"`
		}
		if err := json.Unmarshal(text, &line); err != nil {
			return fmt.Errorf("line %d: %w", number, err)
		}
		o.lines[requestKey{line.Phase, line.Index}] = extent{at, int64(len(text))}
		at += int64(len(text))
	}
}

// Find reads the answer to a request; nil if it was not kept.
func (o *Outputs) Find(phase string, index int) (*string, error) {
	where, ok := o.lines[requestKey{phase, index}]
	if !ok {
		return nil, nil
	}
	text := make([]byte, where.length)
	if _, err := o.file.ReadAt(text, where.at); err != nil {
		return nil, err
	}
	var line OutputLine
	if err := json.Unmarshal(text, &line); err != nil {
		return nil, err
	}
	return &line.Output, nil
}

// Close frees the file.
func (o *Outputs) Close() {
	if o.file != nil {
		_ = o.file.Close() // it was only read
	}
}
