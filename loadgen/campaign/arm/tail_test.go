package arm

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestALineOfALogIsCleanAndKeepsItsBlanks(t *testing.T) {
	for line, want := range map[string]string{
		"    raise \x1b[31mError\x1b[0m":           "    raise Error",
		"loading 1%\rloading 100%\r":               "loading 100%",
		"\x1b]0;title\x07x\x1b]8;;http://h\x1b\\y": "xy",
		"a\x07b\x00":                     "a\uFFFDb\uFFFD",
		"\xff\tb  ":                      "\uFFFD\tb",
		"\u202Eevil":                     "\uFFFDevil",
		strings.Repeat("ü", longestLine): strings.Repeat("ü", longestLine/2) + "…",
	} {
		if got := clean(line); got != want {
			t.Errorf("%q: %q, want %q", line, got, want)
		}
	}
}

func FuzzALineNeverReachesTheTerminal(f *testing.F) {
	f.Add("\x1b[31mred\x1b[0m \x1b]0;t\x07 \x9b31m")
	f.Fuzz(func(t *testing.T, line string) {
		got := clean(line)
		for _, r := range got {
			if r != '\t' && !unicode.IsPrint(r) {
				t.Errorf("%q has %q", got, r)
			}
		}
		if !utf8.ValidString(got) || len(got) > longestLine*3+len("…") || clean(got) != got && len(got) <= longestLine {
			t.Errorf("%q of %q", got, line)
		}
	})
}

func TestALineIsFoundInALogThatGrows(t *testing.T) {
	path := in(t, "log")
	write := func(text string) { appendTo(path, text) }
	write("ready before we came\n")
	r := &lineSearch{growingLog: growingLog{path, int64(len("ready before we came\n"))}, pattern: regexp.MustCompile(`^server is ready$`)}
	for _, step := range []struct {
		text string
		want bool
	}{{"", false}, {"server is", false}, {" read", false}, {"y\r\n", true}, {"more\n", true}} {
		write(step.text)
		if got, err := r.find(); err != nil || got != step.want {
			t.Errorf("after %q: %t, %v", step.text, got, err)
		}
	}
	emptied := &lineSearch{growingLog: growingLog{path: path}, pattern: regexp.MustCompile("again")}
	if found, err := emptied.find(); found || err != nil {
		t.Errorf("%t, %v", found, err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	write("again\n")
	if found, err := emptied.find(); !found || err != nil {
		t.Errorf("one that was emptied: %t, %v", found, err)
	}
}

func TestATailIsOfTheLastStartOnly(t *testing.T) {
	path := in(t, "log")
	appendTo(path, "old\n")
	s := Started{Name: "p", Log: path, LogFrom: 4}
	if tail, err := s.tail(3); err != nil || len(tail.Lines) != 0 {
		t.Errorf("%q, %v", tail.Lines, err)
	}
	appendTo(path, "1\n2\n3\n4")
	if tail, err := s.tail(3); err != nil || !slices.Equal(tail.Lines, []string{"2", "3", "4"}) {
		t.Errorf("%q, %v", tail.Lines, err)
	}
	appendTo(path, strings.Repeat("x", 2*mostTail)+"\nend\n")
	if tail, err := s.tail(3); err != nil || len(tail.Lines) != 2 || tail.Lines[1] != "end" || len(tail.Lines[0]) > longestLine+len("…") {
		t.Errorf("%d lines, %v", len(tail.Lines), err)
	}
	gone := Started{Name: "p", Log: path + "not"}
	if tail, err := gone.tail(3); err != nil || tail.Lines != nil {
		t.Errorf("%v, %v", tail, err)
	}
}
