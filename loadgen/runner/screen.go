package runner

import (
	"fmt"
	"strings"

	"github.com/umascope/umascope/loadgen/render"
)

// screen is lines at the end of what a terminal shows. It moves the cursor and erases; it changes no mode of the terminal,
// so that Ctrl-C stays a signal and a killed program leaves the terminal as it was.
type screen struct {
	size    func() (columns, lines int)
	colours bool
	// shown are the lines on the terminal, drawn for so many columns. The cursor is below them.
	shown   [][]render.Span
	columns int
}

// nothing draws no lines.
func nothing(int) [][]render.Span { return nil }

// erase returns what removes the screen. A terminal that became narrower has folded lines.
func (s *screen) erase() string {
	if len(s.shown) == 0 {
		return ""
	}
	columns, _ := s.size()
	rows := 0
	for _, line := range s.shown {
		rows += max(1, (width(line)+columns-1)/columns)
	}
	return fmt.Sprintf("\r\x1b[%dA\x1b[J", rows)
}

// replace returns what writes messages in place of the screen, and below them the lines that are drawn for its width.
// Lines that the terminal has no room for are left out. Without messages each line is written over the one before, so
// that nothing flickers.
func (s *screen) replace(messages string, draw func(columns int) [][]render.Span) string {
	var text strings.Builder
	columns, lines := s.size()
	over := messages == "" && columns == s.columns && len(s.shown) > 0
	if over {
		fmt.Fprintf(&text, "\r\x1b[%dA", len(s.shown))
	} else {
		text.WriteString(s.erase() + messages)
	}
	if s.columns, s.shown = columns, nil; columns >= leastColumns {
		s.shown = draw(columns)
		s.shown = s.shown[:min(len(s.shown), max(lines-1, 0))]
	}
	for _, line := range s.shown {
		s.write(&text, line)
		if over && width(line) < columns { // at the last column it would erase the last character
			text.WriteString("\x1b[K")
		}
		text.WriteString("\n")
	}
	if over {
		text.WriteString("\x1b[J")
	}
	return text.String()
}

func (s *screen) write(text *strings.Builder, line []render.Span) {
	for _, span := range line {
		if code := styleCode(span.Style); s.colours && code != "" {
			text.WriteString("\x1b[" + code + "m" + span.Text + "\x1b[m")
		} else {
			text.WriteString(span.Text)
		}
	}
}

// styleCode returns the parameters of SGR (ECMA-48) of a style: the colours of the user's theme, and of bands of memory
// those of the 256 colours that are nearest to the page's, which fill the cell.
func styleCode(style string) string {
	return map[string]string{
		"strong": "1", "soft": "2", "good": "32", "bad": "31", "note": "33", "c0": "34",
		"band-gpu": "38;5;32;48;5;32", "band-managed": "38;5;74;48;5;74", "band-anon": "38;5;166;48;5;166", "band-shmem": "38;5;175;48;5;175",
		"band-huge": "38;5;227;48;5;227", "band-kernel": "38;5;36;48;5;36", "band-cache": "38;5;178;48;5;178", "band-free": "2", "band-rest": "2",
	}[style]
}
