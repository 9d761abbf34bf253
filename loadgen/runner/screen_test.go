package runner

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/render"
)

// terminalOf is a console on a terminal of a size that the test may change.
func terminalOf(columns, lines *int, colours bool) (*Console, *bytes.Buffer) {
	out := &bytes.Buffer{}
	return &Console{out: out, format: ProgressAuto, screen: &screen{size: func() (int, int) { return *columns, *lines }, colours: colours}}, out
}

// showing draws texts.
func showing(texts ...string) func(int) [][]render.Span {
	return func(int) (all [][]render.Span) {
		for _, text := range texts {
			all = append(all, []render.Span{render.Strong(text)})
		}
		return all
	}
}

// played returns what a terminal shows of an output that moves the cursor up and erases below, and nothing else.
func played(t *testing.T, output string) []string {
	t.Helper()
	rows := []string{""}
	for rest := output; rest != ""; {
		if m := regexp.MustCompile(`^\r\x1b\[(\d+)A\x1b\[J`).FindStringSubmatch(rest); m != nil {
			up, _ := strconv.Atoi(m[1])
			if up >= len(rows) {
				t.Fatalf("%d rows up of %d in %q", up, len(rows), output)
			}
			rows = append(rows[:len(rows)-1-up], "")
			rest = rest[len(m[0]):]
			continue
		}
		if rest[0] == '\n' {
			rows = append(rows, "")
		} else {
			rows[len(rows)-1] += rest[:1]
		}
		rest = rest[1:]
	}
	return rows
}

func TestMessagesAreAboveTheScreen(t *testing.T) {
	columns, lines := 80, 24
	c, out := terminalOf(&columns, &lines, false)
	io.WriteString(c, "before\n")
	c.draw(showing("one", "two"))
	io.WriteString(c, "a message\n")
	c.draw(showing("three", "four", "five"))
	if got := strings.Join(played(t, out.String()), "|"); got != "before|a message|three|four|five|" {
		t.Errorf("%q", got)
	}
	c.draw(nothing)
	io.WriteString(c, "after\n")
	if got := strings.Join(played(t, out.String()), "|"); got != "before|a message|after|" {
		t.Errorf("at the end: %q", got)
	}
}

func TestTheScreenIsNeverTallerThanTheTerminal(t *testing.T) {
	columns, lines := 80, 4
	c, out := terminalOf(&columns, &lines, false)
	c.draw(showing("1", "2", "3", "4", "5"))
	if got := strings.Join(played(t, out.String()), "|"); got != "1|2|3|" {
		t.Errorf("%q", got)
	}
}

// TestANarrowerTerminalHasFoldedTheLines holds that a screen of 30 columns takes three rows of 10 to be erased.
func TestANarrowerTerminalHasFoldedTheLines(t *testing.T) {
	columns, lines := 80, 24
	c, out := terminalOf(&columns, &lines, false)
	c.draw(showing(strings.Repeat("x", 30), "y"))
	columns = 10
	out.Reset()
	c.draw(nothing)
	if got := out.String(); got != "\r\x1b[4A\x1b[J" {
		t.Errorf("%q", got)
	}
}

func TestColoursEndWithTheirText(t *testing.T) {
	columns, lines := 80, 24
	for colours, want := range map[bool]string{true: "\x1b[1ma\x1b[m\n", false: "a\n"} {
		c, out := terminalOf(&columns, &lines, colours)
		c.draw(showing("a"))
		if out.String() != want {
			t.Errorf("%q, want %q", out.String(), want)
		}
	}
	for _, line := range goldenProgress().Draw(80) {
		for _, span := range line {
			if span.Style != "" && styleCode(span.Style) == "" {
				t.Errorf("style %s has no code", span.Style)
			}
		}
	}
}

func TestATerminalThatIsTooNarrowHasNoScreen(t *testing.T) {
	columns, lines := leastColumns-1, 60
	c, out := terminalOf(&columns, &lines, false)
	c.draw(goldenProgress().Draw)
	if out.Len() > 0 {
		t.Errorf("%q", out.String())
	}
}
