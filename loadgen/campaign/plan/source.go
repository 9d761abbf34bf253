package plan

import (
	"fmt"
	"strings"
)

// Error is a fault of a plan file: one line that names the file, the line and the key.
type Error struct {
	File string
	Line int    // 0 if the key is not in the file
	Key  string // such as arms[1].processes[0].argv
	Err  error
}

func (e *Error) Error() string {
	var text strings.Builder
	if e.File != "" {
		text.WriteString(e.File + ":")
		if e.Line > 0 {
			fmt.Fprintf(&text, "%d:", e.Line)
		}
		text.WriteString(" ")
	}
	if e.Key != "" {
		text.WriteString(e.Key + ": ")
	}
	return strings.Join(strings.FieldsFunc(text.String()+e.Err.Error(), lineEnd), "; ")
}

// lineEnd tells what would make two lines of one: keys may have it.
func lineEnd(r rune) bool { return r == '\n' || r == '\r' }

func (e *Error) Unwrap() error { return e.Err }

// source is where the keys of a plan stand.
type source struct {
	file  string
	lines map[string]int // by path
}

// line is that of a path, or of what it is in.
func (s *source) line(path string) int {
	for path != "" {
		if line, there := s.lines[path]; there {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 0
}

// errorAt is a fault at a path.
func (p *Plan) errorAt(path, format string, args ...any) error {
	e := &Error{Key: path, Err: fmt.Errorf(format, args...)}
	if p.from != nil {
		e.File, e.Line = p.from.file, p.from.line(path)
	}
	return e
}

// given says whether the file has the key.
func (p *Plan) given(path string) bool {
	if p.from == nil {
		return false
	}
	_, there := p.from.lines[path]
	return there
}
