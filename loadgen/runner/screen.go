package runner

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/ledger"
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
// those of the ledger, which fill the cell where the band occupies memory.
func styleCode(style string) string {
	if name, isBand := strings.CutPrefix(style, "band-"); isBand {
		return bandCode(name)
	}
	return map[string]string{"strong": "1", "soft": "2", "good": "32", "bad": "31", "note": "33", "c0": "34"}[style]
}

func bandCode(name string) string {
	for _, band := range ledger.Bands() {
		switch colour := nearestOf256(band.Colour); {
		case band.Name != name:
		case slices.Contains(band.Lines, ledger.Free), slices.Contains(band.Lines, ledger.Unattributed):
			return fmt.Sprintf("38;5;%d", colour)
		default:
			return fmt.Sprintf("38;5;%d;48;5;%d", colour, colour)
		}
	}
	return ""
}

// nearestOf256 returns the number of the colour that is nearest to #rrggbb, among the 6 x 6 x 6 colours and 24 greys that
// xterm's 256 colours add to those of the theme.
func nearestOf256(colour string) int {
	var rgb [3]int
	fmt.Sscanf(colour, "#%02x%02x%02x", &rgb[0], &rgb[1], &rgb[2])
	nearest, least := 0, math.MaxInt
	try := func(number int, of [3]int) {
		distance := 0
		for i := range rgb {
			distance += (rgb[i] - of[i]) * (rgb[i] - of[i])
		}
		if distance < least {
			nearest, least = number, distance
		}
	}
	levels := [...]int{0, 95, 135, 175, 215, 255}
	for i := range 216 {
		try(16+i, [3]int{levels[i/36], levels[i/6%6], levels[i%6]})
	}
	for i := range 24 {
		try(232+i, [3]int{8 + 10*i, 8 + 10*i, 8 + 10*i})
	}
	return nearest
}
