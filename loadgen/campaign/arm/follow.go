package arm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"time"
)

// followEvery is the pause between two reads of logs that are followed.
const followEvery = 200 * time.Millisecond

// Follow prints lines that are added to logs after their tails were taken, until the context is done. When the log
// changes, its name comes first.
func Follow(ctx context.Context, w io.Writer, tails []Tail) error {
	var all []*followed
	for _, tail := range tails {
		all = append(all, &followed{tail, tail.end})
	}
	for last := ""; ; {
		for _, f := range all {
			text, err := f.next()
			if err != nil {
				return err
			}
			if len(text) == 0 {
				continue
			}
			if last != f.Log && len(all) > 1 {
				text = fmt.Sprintf("==> %s <==\n%s", f.Process, text)
			}
			last = f.Log
			if _, err := io.WriteString(w, text); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followEvery):
		}
	}
}

// followed is a log that is read as it grows.
type followed struct {
	Tail
	at int64
}

// next returns the new text, up to the last whole line or the end of a very long one.
func (f *followed) next() (string, error) {
	file, err := openRegular(f.Log)
	if file == nil || err != nil {
		return "", err
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() < f.at { // the file was truncated
		f.at = 0
	}
	text, err := io.ReadAll(io.NewSectionReader(file, f.at, mostRead))
	if end := bytes.LastIndexByte(text, '\n') + 1; end > 0 || len(text) < mostTail {
		text = text[:end]
	}
	f.at += int64(len(text))
	var out bytes.Buffer
	for line := range bytes.Lines(text) {
		out.WriteString(clean(string(bytes.TrimSuffix(line, []byte("\n")))) + "\n")
	}
	return out.String(), err
}
