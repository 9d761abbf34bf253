package plan

import (
	"fmt"
	"strings"
)

// Error is an error in a plan file: one line that names the file, the line and the key.
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

// lineEnd reports whether a character ends a line: keys may contain it, and an error is one line.
func lineEnd(r rune) bool { return r == '\n' || r == '\r' }

func (e *Error) Unwrap() error { return e.Err }

// source holds the positions of the keys of a plan.
type source struct {
	file  string
	lines map[string]int // by path
}

// line returns the line of a path, or of its nearest parent.
func (s *source) line(path string) int {
	for path != "" {
		if line, there := s.lines[path]; there {
			return line
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
	return 0
}

// errorAt returns an error at a path.
func (p *Plan) errorAt(path, format string, args ...any) error {
	e := &Error{Key: path, Err: fmt.Errorf(format, args...)}
	if p.from != nil {
		e.File, e.Line = p.from.file, p.from.line(path)
	}
	return e
}

// given reports whether the file has the key.
func (p *Plan) given(path string) bool {
	if p.from == nil {
		return false
	}
	_, there := p.from.lines[path]
	return there
}
