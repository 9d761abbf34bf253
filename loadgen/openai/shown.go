package openai

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf16"
)

// PrintJSON prints a value as JSON without control sequences for a terminal. JSON itself leaves control characters from
// 0x7f on and text direction marks unescaped; here they are escapes, which mean the same.
func PrintJSON(w io.Writer, value any) error {
	text, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return err
	}
	var shown strings.Builder
	for _, r := range string(text) {
		switch {
		case r == '\n' || unicode.IsPrint(r):
			shown.WriteRune(r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&shown, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&shown, `\u%04x`, r)
		}
	}
	_, err = io.WriteString(w, shown.String()+"\n")
	return err
}
