package server

import (
	"strings"
	"testing"
)

// FuzzParseHeader: what is accepted is one header, and what is refused is not repeated.
func FuzzParseHeader(f *testing.F) {
	for _, seed := range []string{"a:b", "a: b ", "a", ":b", "a b:c", "Authorization: Bearer x", "a:b\r\nc:d", "X-Key:"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		h, err := parseHeader(text)
		if err == nil && (h.Name == "" || strings.ContainsAny(h.Name, " :\r\n") || strings.ContainsAny(h.Value, "\r\n") || !strings.HasPrefix(text, h.Name+":")) {
			t.Errorf("%q became %+v", text, h)
		}
		_, value, _ := strings.Cut(text, ":")
		if err != nil && len(value) > 20 && strings.Contains(err.Error(), value) {
			t.Errorf("%q is repeated: %v", text, err)
		}
	})
}
