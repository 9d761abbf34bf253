package enginelog

import (
	"slices"
	"strings"
	"testing"
)

func lines(writes ...string) []Line {
	var all []Line
	l := NewLines(func(line Line) { all = append(all, line) })
	for _, text := range writes {
		_, _ = l.Write([]byte(text))
	}
	l.Flush()
	return all
}

func TestLinesAreCutAndCleaned(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want []Line
	}{
		"feeds":          {"a\nb\n\nc", []Line{{1, "a"}, {2, "b"}, {4, "c"}}},
		"both ends":      {"a\r\nb\r\n", []Line{{1, "a"}, {2, "b"}}},
		"a progress bar": {"0%\r50%\r100%\ndone\n", []Line{{1, "0%"}, {1, "50%"}, {1, "100%"}, {2, "done"}}},
		"colours":        {"\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07\n", []Line{{1, "red link"}}},
		"cursor":         {"\x1b[2K\x1b[1Gx\x1b7y\n", []Line{{1, "xy"}}},
		"an open escape": {"x\x1b[31", []Line{{1, "x"}}},
		"controls":       {"a\tb\x00c\x7f\n", []Line{{1, "a b c"}}},
		"no text":        {"\xff\xfe\n", []Line{{1, "??"}}},
		"nothing":        {"\n\n\r\n", nil},
	} {
		t.Run(name, func(t *testing.T) {
			if got := lines(c.text); !slices.Equal(got, c.want) {
				t.Errorf("%+v", got)
			}
		})
	}
}

func TestALineWithoutEndIsCutOff(t *testing.T) {
	var last Line
	l := NewLines(func(line Line) { last = line })
	for range 1 << 10 {
		_, _ = l.Write([]byte(strings.Repeat("x", 64<<10)))
	}
	if cap(l.buffer) > 2*longestLine {
		t.Errorf("%d bytes are held", cap(l.buffer))
	}
	l.Flush()
	if len(last.Text) != longestLine {
		t.Errorf("%d bytes", len(last.Text))
	}
}
