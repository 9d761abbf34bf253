package enginelog

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/supported"
)

func addLogs(f *testing.F, pattern string) {
	paths, err := filepath.Glob(pattern)
	if err != nil || len(paths) == 0 {
		f.Fatal(err, pattern)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(text), uint(7))
	}
}

// FuzzLines: wherever a stream is cut into writes, its lines are the same; they are text that prints,
// and bounded.
func FuzzLines(f *testing.F) {
	addLogs(f, "testdata/*constructed.log")
	f.Add("\x1b[31mred\x1b]0;t\x07\r\xff\x00x\x1b", uint(3))
	f.Fuzz(func(t *testing.T, text string, size uint) {
		whole := lines(text)
		var parts []string
		for rest := text; rest != ""; {
			n := min(len(rest), int(size%1000)+1)
			parts, rest = append(parts, rest[:n]), rest[n:]
		}
		if got := lines(parts...); !slices.Equal(got, whole) {
			t.Errorf("%v in parts, %v whole", got, whole)
		}
		feeds := 1
		for _, l := range whole {
			if l.Number < feeds || l.Number > strings.Count(text, "\n")+1 || len(l.Text) > longestLine*utf8.UTFMax || l.Text == "" {
				t.Errorf("%d after %d: %q", l.Number, feeds, l.Text)
			}
			feeds = l.Number
			if !utf8.ValidString(l.Text) || strings.ContainsFunc(l.Text, func(c rune) bool { return !unicode.IsPrint(c) }) {
				t.Errorf("%q", l.Text)
			}
		}
	})
}

// FuzzReading: for any output, figures are finite, not negative and unique; phases only go forward; and a log's figures
// do not depend on later lines.
func FuzzReading(f *testing.F) {
	addLogs(f, "testdata/*.log")
	f.Fuzz(func(t *testing.T, text string, cut uint) {
		for _, tool := range Tools(supported.Engines()) {
			whole, entered := readText(t, tool.Name, []byte(text))
			last := slices.Index(spec.Phases(), tool.First)
			for _, phase := range entered {
				at := slices.Index(spec.Phases(), phase)
				if at <= last {
					t.Errorf("%s: %q", tool.Name, entered)
				}
				last = at
			}
			once := map[string]bool{}
			for _, v := range whole.Values() {
				key := string(v.Name) + " " + v.Statistic
				if once[key] || v.Value < 0 || math.IsNaN(v.Value) || math.IsInf(v.Value, 0) || v.Unit == "" || v.From == "" || len(v.Text) > longestText+len("…") {
					t.Errorf("%s: %+v", tool.Name, v)
				}
				once[key] = true
			}
			if len(whole.parts) > mostParts {
				t.Errorf("%s: %d parts", tool.Name, len(whole.parts))
			}
			if whole.Ranks() < 1 || len(whole.Version) > longestVersion {
				t.Errorf("%s: %d ranks, version %q", tool.Name, whole.Ranks(), whole.Version)
			}
			// Whole lines only: of a part of one, less may be a figure than of all of it.
			part := text[:strings.LastIndexByte(text[:cut%uint(len(text)+1)], '\n')+1]
			front, before := readText(t, tool.Name, []byte(part))
			if len(before) > len(entered) || !slices.Equal(before, entered[:len(before)]) {
				t.Errorf("%s: %q of %q", tool.Name, before, entered)
			}
			for _, v := range front.Values() {
				if len(tool.Restarts) == 0 && !once[string(v.Name)+" "+v.Statistic] {
					t.Errorf("%s: %+v is gone", tool.Name, v)
				}
			}
		}
	})
}

// FuzzResults: a file gives figures or an error, and a file that is cut off gives no figure.
func FuzzResults(f *testing.F) {
	addLogs(f, "testdata/*.json")
	f.Add(`{"aggregated_metrics":{"scenario":"\u001b[31m","requests_per_second":-1,"stats":{"ttft":{"p50":1e308}}},"_time_unit":"ms"}`, uint(3))
	f.Fuzz(func(t *testing.T, text string, cut uint) {
		values, err := results(t, text)
		for _, v := range values {
			if v.Value < 0 || v.Value > spec.Largest || math.IsNaN(v.Value) || v.Unit == "" || strings.ContainsFunc(v.Of, func(c rune) bool { return !unicode.IsPrint(c) }) {
				t.Errorf("%+v", v)
			}
		}
		if trimmed := strings.TrimSpace(text); err == nil && trimmed != "" {
			if values, err := results(t, trimmed[:cut%uint(len(trimmed))]); err == nil {
				t.Errorf("of a part: %+v", values)
			}
		}
	})
}
