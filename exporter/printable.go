package exporter

import (
	"regexp"
	"strings"
	"unicode"
)

// terminalSequence matches the sequences that a terminal obeys: control sequences (ESC [ ...), strings that end with
// BEL or ESC \ (titles, clipboard, links), and two-character escapes (ECMA-48).
var terminalSequence = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]|\x1b[\\]PX^_][^\x07\x1b]*(\x07|\x1b\\\\)?|\x1b.?|\u009b[0-?]*[ -/]*[@-~]")

// printable makes untrusted text, such as a process name, safe to print: it removes terminal sequences, control
// characters and invisible format characters (which can reorder a line).
func printable(text string) string {
	text = terminalSequence.ReplaceAllString(strings.ToValidUTF8(text, "\uFFFD"), "")
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return -1
		}
		return r
	}, text)
}
