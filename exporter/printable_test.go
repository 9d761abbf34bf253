package exporter

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestForeignTextLosesWhatATerminalObeys(t *testing.T) {
	for given, want := range map[string]string{
		"VLLM::Worker_TP":                             "VLLM::Worker_TP",
		"grüße 模型":                                    "grüße 模型",
		"\x1b[31mred\x1b[0m":                          "red",
		"\x1b]0;title\x07name":                        "name",
		"\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\": "link",
		"\x1bcreset":                                  "reset",
		"\u009b2Jclear":                               "clear",
		"line\nbreak\ttab\rreturn\x00\x7f":            "linebreaktabreturn",
		"\u202eright to left":                         "right to left",
		"bad \xff byte":                               "bad \uFFFD byte",
		"cut \x1b[":                                   "cut ",
		"cut \x1b":                                    "cut ",
	} {
		if got := printable(given); got != want {
			t.Errorf("%q prints as %q, want %q", given, got, want)
		}
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("\x1b[31m\x1b]0;t\x07")
	f.Add("\x1b\x1b[[0m31m")
	f.Fuzz(func(t *testing.T, given string) {
		got := printable(given)
		if !utf8.ValidString(got) || strings.ContainsFunc(got, unicode.IsControl) {
			t.Errorf("%q prints as %q", given, got)
		}
		if again := printable(got); again != got {
			t.Errorf("not stable: %q, then %q", got, again)
		}
		if plain := strings.ContainsFunc(given, func(r rune) bool { return !unicode.IsPrint(r) || r == utf8.RuneError }); !plain && got != given {
			t.Errorf("printable text %q changed to %q", given, got)
		}
	})
}
