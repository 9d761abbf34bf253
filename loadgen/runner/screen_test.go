package runner

import (
	"bytes"
	"io"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// played returns what a terminal shows of an output that moves the cursor up, writes over lines and erases to their end
// and below, and nothing else.
func played(t *testing.T, output string) []string {
	t.Helper()
	rows, row, column := []string{""}, 0, 0
	control := regexp.MustCompile(`^\x1b\[(\d*)([AJK])`)
	for rest := output; rest != ""; {
		if m := control.FindStringSubmatch(rest); m != nil {
			switch m[2] {
			case "A":
				up, _ := strconv.Atoi(m[1])
				if row -= up; row < 0 {
					t.Fatalf("%d rows above the first in %q", -row, output)
				}
			case "J":
				rows = rows[:row+1]
				rows[row] = rows[row][:column]
			case "K":
				rows[row] = rows[row][:column]
			}
			rest = rest[len(m[0]):]
			continue
		}
		switch rest[0] {
		case '\r':
			column = 0
		case '\n':
			if row, column = row+1, 0; row == len(rows) {
				rows = append(rows, "")
			}
		default:
			rows[row] = rows[row][:column] + rest[:1] + rows[row][min(column+1, len(rows[row])):]
			column++
		}
		rest = rest[1:]
	}
	return rows
}

func TestMessagesAreAboveTheScreen(t *testing.T) {
	columns, lines := 80, 24
	c, out := terminalOf(&columns, &lines, false)
	shows := func(want string) {
		t.Helper()
		if got := strings.Join(played(t, out.String()), "|"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
	io.WriteString(c, "before\n")
	c.draw(showing("one", "two"))
	io.WriteString(c, "a message\n")
	shows("before|a message|one|two|")
	c.draw(showing("three", "4", "five"))
	shows("before|a message|three|4|five|")
	c.draw(showing("six"))
	shows("before|a message|six|")
	io.WriteString(c, "two\n")
	io.WriteString(c, "one that waits\nhal")
	shows("before|a message|two|six|")
	c.draw(showing("seven"))
	shows("before|a message|two|one that waits|seven|")
	io.WriteString(c, "f a message\nand no end")
	c.draw(showing("eight"))
	shows("before|a message|two|one that waits|half a message|eight|")
	c.draw(nothing)
	shows("before|a message|two|one that waits|half a message|and no end")
	io.WriteString(c, "\nafter\n")
	shows("before|a message|two|one that waits|half a message|and no end|after|")
}

// TestTheScreenIsDrawnFourTimesASecondAtMost writes 1,000 messages a second, as --verbose does.
func TestTheScreenIsDrawnFourTimesASecondAtMost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		columns, lines := 80, 24
		c, out := terminalOf(&columns, &lines, false)
		tick := time.NewTicker(redrawInterval)
		defer tick.Stop()
		c.draw(showing("the screen"))
		for range 10_000 {
			select {
			case <-tick.C:
				c.draw(showing("the screen"))
			case <-time.After(time.Millisecond):
				io.WriteString(c, "a message\n")
			}
		}
		c.draw(nothing)
		if drawn := strings.Count(out.String(), "the screen"); drawn < 20 || drawn > 41 {
			t.Errorf("drawn %d times in 10 s", drawn)
		}
		if shown := strings.Count(strings.Join(played(t, out.String()), "|"), "a message"); shown < 9_900 {
			t.Errorf("%d messages", shown)
		}
	})
}

// TestARedrawErasesNoLineBeforeItIsWritten holds that a screen of the same size does not flicker, and that a line as wide
// as the terminal keeps its last character.
func TestARedrawErasesNoLineBeforeItIsWritten(t *testing.T) {
	columns, lines := 40, 24
	c, out := terminalOf(&columns, &lines, false)
	c.draw(showing(strings.Repeat("x", 40), "long"))
	out.Reset()
	c.draw(showing(strings.Repeat("y", 40), "y"))
	if want := "\r\x1b[2A" + strings.Repeat("y", 40) + "\ny\x1b[K\n\x1b[J"; out.String() != want {
		t.Errorf("%q, want %q", out.String(), want)
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
