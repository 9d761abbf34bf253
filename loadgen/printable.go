package loadgen

import (
	"strings"
	"unicode"
)

// longestForeign bounds what is repeated of a text that others wrote.
const longestForeign = 2000

// printable makes one line of a text that others wrote: control characters, which could drive
// the reader's terminal, and invisible format characters, which could reorder what is shown,
// become spaces or vanish.
func printable(text string) string {
	line := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsControl(r):
			return ' '
		case unicode.Is(unicode.Cf, r):
			return -1
		default:
			return r
		}
	}, strings.ToValidUTF8(text, "?"))
	if len(line) > longestForeign {
		line = strings.ToValidUTF8(line[:longestForeign], "") + " ..."
	}
	return line
}
