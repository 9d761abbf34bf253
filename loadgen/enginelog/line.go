package enginelog

import (
	"bytes"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// longestLine bounds a line in bytes; longer lines are truncated.
const longestLine = 16 << 10

// Line is one line of a stream, without escapes and control characters.
type Line struct {
	// Number counts the line feeds before it, from 1: the line of the raw text. Updates of a progress bar are several
	// lines with one number.
	Number int
	Text   string
}

// Lines cuts a stream into lines, at line feeds and at carriage returns. It holds one line at a time.
type Lines struct {
	emit   func(Line)
	feeds  int
	buffer []byte
}

// NewLines returns a writer that calls emit with every line as soon as it has ended; it leaves out empty ones.
func NewLines(emit func(Line)) *Lines { return &Lines{emit: emit} }

// Write never fails.
func (l *Lines) Write(text []byte) (int, error) {
	for rest := text; len(rest) > 0; {
		end := bytes.IndexAny(rest, "\n\r")
		if end < 0 {
			l.keep(rest)
			break
		}
		l.keep(rest[:end])
		l.Flush()
		if rest[end] == '\n' {
			l.feeds++
		}
		rest = rest[end+1:]
	}
	return len(text), nil
}

// Flush emits the text after the last end of a line.
func (l *Lines) Flush() {
	if text := strings.TrimSpace(plain(string(l.buffer))); text != "" {
		l.emit(Line{l.feeds + 1, text})
	}
	l.buffer = l.buffer[:0]
}

func (l *Lines) keep(text []byte) {
	l.buffer = append(l.buffer, text[:min(len(text), longestLine-len(l.buffer))]...)
}

// plain drops terminal escapes and replaces control characters by a space.
func plain(text string) string {
	if strings.IndexFunc(text, func(c rune) bool { return c == utf8.RuneError || !unicode.IsPrint(c) }) < 0 {
		return text
	}
	var b strings.Builder
	for len(text) > 0 {
		if text[0] == escape {
			text = text[escapeLength(text):]
			continue
		}
		c, size := utf8.DecodeRuneInString(text)
		switch {
		case c == utf8.RuneError && size == 1:
			b.WriteByte('?')
		case unicode.IsPrint(c):
			b.WriteRune(c)
		default:
			b.WriteByte(' ')
		}
		text = text[size:]
	}
	return b.String()
}

const escape = 0x1b

// escapeLength returns the length of the escape sequence (ECMA-48) at the front of a text; an unterminated one extends
// to the end of the text.
func escapeLength(text string) int {
	if len(text) < 2 {
		return len(text)
	}
	switch text[1] {
	case '[': // control sequence: parameters, then a final byte
		for i := 2; i < len(text); i++ {
			if text[i] >= 0x40 && text[i] <= 0x7e {
				return i + 1
			}
		}
		return len(text)
	case ']', 'P', '_', '^': // strings: to BEL or ESC \
		for i := 2; i < len(text); i++ {
			if text[i] == 0x07 {
				return i + 1
			}
			if text[i] == escape && i+1 < len(text) && text[i+1] == '\\' {
				return i + 2
			}
		}
		return len(text)
	default:
		return 2
	}
}

// From returns the place of the line, such as stdout:12.
func (l Line) From(stream string) string { return fmt.Sprintf("%s:%d", stream, l.Number) }
