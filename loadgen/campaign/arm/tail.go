package arm

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"unicode"
)

const (
	// tailLines is how many lines of a log are shown after a failure.
	tailLines = 40
	// mostTail is the most of them in bytes, longestLine the longest line.
	mostTail    = 256 << 10
	longestLine = 2000
	// mostRead is the most of a log that is read at once, in bytes.
	mostRead = 4 << 20
)

// Tail is the end of the part of a log that was written since the process's start.
type Tail struct {
	Process string
	Log     string // the path
	Lines   []string
	end     int64 // the length of the log
}

// WriteTails prints the ends of logs, each under its name.
func WriteTails(w io.Writer, tails []Tail) error {
	var b strings.Builder
	for _, tail := range tails {
		fmt.Fprintf(&b, "==> %s: %s <==\n", tail.Process, tail.Log)
		for _, line := range tail.Lines {
			b.WriteString(line + "\n")
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// tail returns the end of a process's log. A log that cannot be read again, such as a device, has none.
func (s *Started) tail(lines int) (Tail, error) {
	t := Tail{Process: s.Name, Log: s.Log}
	file, err := openRegular(s.Log)
	if file == nil || err != nil {
		return t, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return t, err
	}
	t.end = info.Size()
	from := max(min(s.LogFrom, info.Size()), info.Size()-mostTail)
	text, err := io.ReadAll(io.NewSectionReader(file, from, info.Size()-from))
	all := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	if len(text) == 0 {
		all = nil
	}
	for _, line := range all[max(0, len(all)-lines):] {
		t.Lines = append(t.Lines, clean(line))
	}
	return t, err
}

// openRegular opens a regular file. It returns nil for other kinds of files and for a missing file.
func openRegular(path string) (*os.File, error) {
	info, err := os.Stat(path)
	if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return os.Open(path)
}

// clean makes a line safe for a terminal. Unlike for messages of servers, it keeps spaces, which tracebacks need. Of a
// progress bar, which uses carriage returns, it keeps the last state.
func clean(line string) string {
	line = escapes.ReplaceAllString(strings.ToValidUTF8(line, "\uFFFD"), "")
	line = strings.TrimRight(line, "\r")
	line = line[strings.LastIndexByte(line, '\r')+1:]
	line = strings.Map(func(r rune) rune {
		if r == '\t' || unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, line)
	if len(line) > longestLine {
		line = strings.ToValidUTF8(line[:longestLine], "") + "…"
	}
	return strings.TrimRight(line, " \t")
}

// escapes matches the escape sequences of terminals: CSI, OSC and those of two characters.
var escapes = regexp.MustCompile("\x1b(?:\\[[0-?]*[ -/]*[@-~]|\\][^\x07\x1b]*(?:\x07|\x1b\\\\)?|[@-Z\\\\^_])")

// growingLog is a log that is read as it grows.
type growingLog struct {
	path string
	at   int64 // where the next line begins
}

// read returns the whole lines that were added since the last call, and the beginning of the next one. A very long
// beginning counts as a line. A log that was truncated is read again.
func (g *growingLog) read() (lines, begun []byte, err error) {
	file, err := openRegular(g.path)
	if err != nil {
		return nil, nil, err
	}
	if file == nil {
		return nil, nil, fmt.Errorf("%s: %w", g.path, fs.ErrNotExist)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() < g.at {
		g.at = 0
	}
	text, err := io.ReadAll(io.NewSectionReader(file, g.at, mostRead))
	end := bytes.LastIndexByte(text, '\n') + 1
	if end == 0 && len(text) >= mostTail {
		end = len(text)
	}
	g.at += int64(end)
	return text[:end], text[end:], err
}

// lineSearch searches for a line in a growing log.
type lineSearch struct {
	growingLog
	pattern *regexp.Regexp
	found   bool
}

// find searches the new text, even an incomplete last line: a prompt may never end its line.
func (s *lineSearch) find() (bool, error) {
	for !s.found {
		lines, begun, err := s.read()
		if err != nil {
			return false, err
		}
		for line := range bytes.Lines(lines) {
			s.found = s.found || s.pattern.Match(bytes.TrimRight(line, "\r\n"))
		}
		if s.found = s.found || len(begun) > 0 && s.pattern.Match(begun); len(lines) == 0 {
			break
		}
	}
	return s.found, nil
}
