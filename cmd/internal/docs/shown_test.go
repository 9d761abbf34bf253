package docs

import (
	"regexp"
	"strings"
	"testing"
)

var (
	numbers = regexp.MustCompile(`[+\-±−]?(?:\d+[.,:T_-])*\d+[a-zA-Zµ%]{0,2}\b`)
	hexes   = regexp.MustCompile(`\b[0-9a-f]{7,64}\b`)
	units   = regexp.MustCompile(`# ?(?:[KMGT]i?B|B|ns|µs|ms|s|min|m|h|%|°C|W|MHz|GHz)\b(?:/s)?|# %`)
	runIDs  = regexp.MustCompile(`\b\d{8}T\d{6}Z-([a-z0-9_-]+)-[a-z0-9]{6}\b`)
	bars    = regexp.MustCompile(`[█░▏▎▍▌▋▊▉]+`)
	blanks  = regexp.MustCompile(`[ \t]+`)
	paths   = regexp.MustCompile(`(?:/[A-Za-z0-9._#-]+){2,}`)
	colours = regexp.MustCompile("\x1b\\[[0-9;]*m")
)

// shape is a line without what differs from machine to machine: numbers, times, paths, the lengths of bars.
func shape(line string) string {
	line = colours.ReplaceAllString(line, "")
	line = runIDs.ReplaceAllString(line, "#-$1")
	line = hexes.ReplaceAllStringFunc(line, func(s string) string {
		if strings.ContainsAny(s, "0123456789") {
			return "#"
		}
		return s
	})
	line = paths.ReplaceAllString(line, "/#")
	line = numbers.ReplaceAllString(line, "#")
	line = units.ReplaceAllString(line, "#")
	line = bars.ReplaceAllString(line, "")
	return strings.TrimSpace(blanks.ReplaceAllString(line, " "))
}

// notShown is the first line of what a page shows that did not come, "" if all did: in that order, and one after the other but
// where the page has a line of …. A line that ends with … may go on.
func notShown(shown, came string) string {
	var lines []string
	for line := range strings.Lines(came) {
		if s := shape(line); s != "" {
			lines = append(lines, s)
		}
	}
	at, next := 0, false // next: the line must follow at once
	for line := range strings.Lines(shown) {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		if line == "…" {
			next = false
			continue
		}
		found := -1
		for i := at; i < len(lines) && (i == at || !next); i++ {
			if like(line, lines[i]) {
				found = i
				break
			}
		}
		if found < 0 {
			return line
		}
		at, next = found+1, true
	}
	return ""
}

func like(shown, came string) bool {
	begin, open := strings.CutSuffix(shown, "…")
	if open {
		return strings.HasPrefix(came, shape(begin))
	}
	return shape(shown) == came
}

func TestAnOutputThatDidNotComeIsFound(t *testing.T) {
	came := "Memory pool  119.71 GiB\n  free   88.1  73.6%  ███████\n  anon   1.02  0.9%\nrun 20261122-101010-native in runs/20261122-101010-native took 3.1 s\ntime=2026-11-22T20:07:37.149Z level=INFO\n\nverdict: worse\n"
	for shown, fine := range map[string]bool{
		"Memory pool  117.00 GiB\n  free  3.0  2.5%  █\n":               true,
		"Memory pool  117.00 GiB\n  anon  3.0  2.5%\n":                  false, // a line between is left out silently
		"Memory pool  117.00 GiB\n…\n  anon  3.0  2.5%\n":               true,
		"  anon  3.0  2.5%\n…\n  free  3.0  2.5%  █\n":                  false, // another order
		"run 20251010-090909-native in runs/20251010-090909-native …\n": true,
		"verdict: better\n": false,
		"verdict: …\n":      true,
		"time=2025-01-01T00:00:00.999Z level=INFO\n": true,
	} {
		if missing := notShown(shown, came); (missing == "") != fine {
			t.Errorf("%q: %q", shown, missing)
		}
	}
}

// FuzzShape: whatever came is shown by itself, and a shape has no shape but itself.
func FuzzShape(f *testing.F) {
	for _, seed := range []string{"free 20.54 GiB 87.2% ███", "2026-11-22T10:00:00Z INFO run", "±1.00 GiB", "/srv/models/x1", "0 …"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if strings.Contains(text, "…") {
			return
		}
		if missing := notShown(text, text); missing != "" {
			t.Errorf("%q does not show itself: %q", text, missing)
		}
	})
}
