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

// reader searches for a line in a growing log.
type reader struct {
	path    string
	at      int64
	rest    []byte // of the last line, which is incomplete
	pattern *regexp.Regexp
	found   bool
}

// find reads the new text.
func (r *reader) find() (bool, error) {
	if r.found {
		return true, nil
	}
	file, err := openRegular(r.path)
	if err != nil {
		return false, err
	}
	if file == nil { // the file was removed
		return false, fmt.Errorf("%s: %w", r.path, fs.ErrNotExist)
	}
	defer file.Close()
	if info, err := file.Stat(); err == nil && info.Size() < r.at { // the file was truncated
		r.at, r.rest = 0, nil
	}
	for {
		text, err := io.ReadAll(io.NewSectionReader(file, r.at, mostRead))
		if err != nil || len(text) == 0 {
			return r.found, err
		}
		r.at += int64(len(text))
		r.take(text)
		if r.found {
			return true, nil
		}
	}
}

// take checks all lines, even an incomplete last one: a prompt may never end its line.
func (r *reader) take(text []byte) {
	text = append(r.rest, text...)
	end := bytes.LastIndexByte(text, '\n') + 1
	for line := range bytes.Lines(text) {
		r.found = r.found || r.pattern.Match(bytes.TrimRight(line, "\r\n"))
	}
	r.rest = bytes.Clone(text[end:][max(0, len(text)-end-mostTail):])
}
