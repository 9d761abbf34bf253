package collector

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func factsOf(lines ...string) (f kvbmFacts) {
	for _, line := range lines {
		f.take(line)
	}
	return f
}

func TestLinesOfKVBMAreFoundInWhateverSurroundsThem(t *testing.T) {
	for name, line := range map[string]string{
		"with a worker":   hitLine,
		"without":         "INFO KVBM Cache Hit Rates - Host: 12.5% (448/3590), Disk: 77.2% (2770/3590)",
		"in colours":      "\x1b[32m INFO\x1b[0m KVBM [w] \x1b[1mCache Hit Rates\x1b[0m - Host: 12.5% (448/3590), Disk: 77.2% (2770/3590)",
		"in JSON":         `{"level":"INFO","message":"KVBM [w] Cache Hit Rates - Host: 12.5% (448/3590), Disk: 77.2% (2770/3590)","target":"x"}`,
		"with more tiers": "KVBM Cache Hit Rates - Host: 12.5% (448/3590), Disk: 77.2% (2770/3590), Object: 0.0% (0/3590)",
	} {
		f := factsOf(line)
		if f.window == nil || f.window.queried != 3590 || f.window.hits["host"] != 448 || f.window.hits["disk"] != 2770 {
			t.Errorf("%s: %+v", name, f.window)
		}
	}
	for _, line := range []string{
		"INFO disk_block_count=8192 bytes_per_block=4194304 total_gb=32 Allocating disk-backed memory for G3 layout",
		`{"message":"Allocating disk-backed memory for G3 layout","bytes_per_block":4194304}`,
	} {
		if f := factsOf(line); f.blockBytes != 4194304 {
			t.Errorf("%s: %d", line, f.blockBytes)
		}
	}
}

func TestLinesThatCannotBeTrueAreNotTaken(t *testing.T) {
	for _, line := range []string{
		"KVBM Cache Hit Rates - Host: 200.0% (2/1)",
		"KVBM Cache Hit Rates - Host: 0.0% (0/10), Disk: 0.0% (0/11)",
		"KVBM Cache Hit Rates - Host: 0.0% (0/99999999999999999999)",
		"KVBM Cache Hit Rates - none",
		"Cache Hit Rates - Host: 0.0% (0/1)",
		"bytes_per_block=7 of something else",
		"G3 layout bytes_per_block=0",
	} {
		if f := factsOf(line); f.window != nil || f.blockBytes != 0 {
			t.Errorf("%s: %+v", line, f)
		}
	}
}

func TestTheLastLineHolds(t *testing.T) {
	f := factsOf(hitLine, "KVBM Cache Hit Rates - Host: 50.0% (1/2), Disk: 0.0% (0/2)", "KVBM Cache Hit Rates - nonsense")
	if f.window.queried != 2 || f.window.hits["host"] != 1 {
		t.Errorf("%+v", f.window)
	}
}

func FuzzKVBMLog(f *testing.F) {
	f.Add(hitLine)
	f.Add("\x1b[3mbytes_per_block\x1b[0m=4194304 G3 layout\nKVBM Cache Hit Rates - A: 1% (1/1), B: 2% (0/1)")
	f.Fuzz(func(t *testing.T, text string) {
		facts := factsOf(strings.Split(text, "\n")...)
		if facts.window == nil {
			return
		}
		if len(facts.window.hits) == 0 || len(facts.window.hits) > 5 {
			t.Fatalf("%+v", facts.window)
		}
		for tier, hits := range facts.window.hits {
			if hits > facts.window.queried || !slices.Contains([]string{"device", "host", "disk", "object", "other"}, tier) {
				t.Fatalf("%+v", facts.window)
			}
		}
	})
}

// tailed reads a file of a directory again and again.
type tailed struct {
	t     *testing.T
	path  string
	tail  logTail
	lines []string
	begun int
}

func newTailed(t *testing.T) *tailed {
	return &tailed{t: t, path: filepath.Join(t.TempDir(), "log")}
}

func (l *tailed) write(text string) {
	l.t.Helper()
	file, err := os.OpenFile(l.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		l.t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.WriteString(text); err != nil {
		l.t.Fatal(err)
	}
}

// read returns what is new.
func (l *tailed) read() []string {
	l.t.Helper()
	l.lines = nil
	err := l.tail.read(l.path, func() { l.begun++ }, func(line string) { l.lines = append(l.lines, line) })
	if err != nil {
		l.t.Fatal(err)
	}
	return l.lines
}

func (l *tailed) want(begun int, lines ...string) {
	l.t.Helper()
	if got := l.read(); !slices.Equal(got, lines) || l.begun != begun {
		l.t.Errorf("%q in file %d, want %q in %d", got, l.begun, lines, begun)
	}
}

func TestALogIsReadAsItGrows(t *testing.T) {
	l := newTailed(t)
	l.write("one\ntw")
	l.want(1, "one")
	l.want(1)
	l.write("o\nthree\n")
	l.want(1, "two", "three")
}

func TestALogThatIsReplacedOrCutBeginsAnew(t *testing.T) {
	l := newTailed(t)
	l.write("one\ntwo\n")
	l.want(1, "one", "two")
	if err := os.Truncate(l.path, 0); err != nil {
		t.Fatal(err)
	}
	l.write("new\n")
	l.want(2, "new")
	if err := os.Rename(l.path, l.path+".1"); err != nil {
		t.Fatal(err)
	}
	l.write("newest, and longer than the last\n")
	l.want(3, "newest, and longer than the last")
}

func TestOfALongLogBeginningAndEndAreRead(t *testing.T) {
	l := newTailed(t)
	l.write("first\n" + strings.Repeat(strings.Repeat("x", 99)+"\n", (maxLogHead+2*maxLogTail)/100) + "last\n")
	lines := l.read()
	if lines[0] != "first" || lines[len(lines)-1] != "last" || len(lines)*100 > maxLogHead+maxLogTail+200 {
		t.Errorf("%d lines, from %.9q to %.9q", len(lines), lines[0], lines[len(lines)-1])
	}
	for i, line := range lines[1 : len(lines)-1] {
		if len(line) != 99 {
			t.Fatalf("line %d has %d bytes", i+2, len(line))
		}
	}
	l.write("more\n")
	l.want(1, "more")
}

func TestOfALogThatFitsIntoBeginningAndEndNothingIsLeftOut(t *testing.T) {
	l := newTailed(t)
	l.write("first\n" + strings.Repeat(strings.Repeat("x", 99)+"\n", (maxLogTail+maxLogHead/2)/100) + "last\n")
	if lines := l.read(); len(lines) != (maxLogTail+maxLogHead/2)/100+2 || lines[0] != "first" {
		t.Errorf("%d lines, from %.9q", len(lines), lines[0])
	}
}

func TestALineWithoutEndIsNotKeptWhole(t *testing.T) {
	l := newTailed(t)
	for range 5 {
		l.write(strings.Repeat("y", maxLogLine))
		l.want(1)
	}
	if len(l.tail.rest) > maxLogLine {
		t.Errorf("%d bytes are kept", len(l.tail.rest))
	}
}

func FuzzLogTail(f *testing.F) {
	f.Add("one\ntwo\n", "three", 3)
	f.Add("", "\n\n", 1)
	f.Fuzz(func(t *testing.T, first, second string, at int) {
		l := newTailed(t)
		whole := first + second
		var got []string
		cut := 0
		if len(whole) > 0 {
			cut = max(at, -at) % (len(whole) + 1)
		}
		if cut < 0 || cut > len(whole) || len(whole) > maxLogLine {
			return
		}
		l.write(whole[:cut])
		got = append(got, l.read()...)
		l.write(whole[cut:])
		got = append(got, l.read()...)
		want := strings.Split(whole, "\n")
		if !slices.Equal(got, want[:len(want)-1]) {
			t.Fatalf("%q cut at %d gives %q", whole, cut, got)
		}
	})
}
