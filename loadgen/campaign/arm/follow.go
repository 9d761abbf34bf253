package arm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"
)

// followEvery is the pause between two reads of logs that are followed.
const followEvery = 200 * time.Millisecond

// Follow prints lines that are added to logs after their tails were taken, until the context is done. When the log
// changes, its name comes first.
func Follow(ctx context.Context, w io.Writer, tails []Tail) error {
	logs := make([]growingLog, len(tails))
	for i, tail := range tails {
		logs[i] = growingLog{tail.Log, tail.end}
	}
	for last := -1; ; {
		for i := range logs {
			lines, _, err := logs[i].read()
			if err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
			if len(lines) == 0 {
				continue
			}
			var text strings.Builder
			if last != i && len(logs) > 1 {
				fmt.Fprintf(&text, "==> %s <==\n", tails[i].Process)
			}
			last = i
			for line := range bytes.Lines(lines) {
				text.WriteString(clean(string(bytes.TrimSuffix(line, []byte("\n")))) + "\n")
			}
			if _, err := io.WriteString(w, text.String()); err != nil {
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
