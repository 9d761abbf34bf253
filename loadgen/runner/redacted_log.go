package runner

import (
	"bytes"
	"io"

	"github.com/umascope/umascope/loadgen/openai"
)

// longestLogLine is the longest line of a log that is redacted as one, in bytes. A secret that is cut by the limit
// stays.
const longestLogLine = 1 << 20

// redactedLog removes secrets from the lines of a log before they are written: engines write keys of requests, and
// those of their own command line.
type redactedLog struct {
	to      io.Writer
	secrets *openai.Redactor
	line    []byte // begun, its end not yet written
}

// Write implements io.Writer. It writes the lines that are complete.
func (l *redactedLog) Write(text []byte) (int, error) {
	l.line = append(l.line, text...)
	end := bytes.LastIndexByte(l.line, '\n') + 1
	if end == 0 && len(l.line) >= longestLogLine {
		end = len(l.line)
	}
	if err := l.flush(end); err != nil {
		return 0, err
	}
	return len(text), nil
}

// flush writes the first bytes of what was not yet written.
func (l *redactedLog) flush(n int) error {
	if n == 0 {
		return nil
	}
	_, err := io.WriteString(l.to, l.secrets.Text(string(l.line[:n])))
	l.line = append(l.line[:0], l.line[n:]...)
	return err
}

// Close writes the last line if it has no end. It does not close the log.
func (l *redactedLog) Close() error { return l.flush(len(l.line)) }
