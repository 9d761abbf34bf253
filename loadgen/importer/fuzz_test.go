package importer

import (
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// FuzzRead: any file is refused in one line, or its runs have names and times that can be written, figures that are
// numbers, and texts that are printable and bounded.
func FuzzRead(f *testing.F) {
	for i, format := range Formats() {
		paths, err := filepath.Glob("testdata/" + format.Name + "-*")
		if err != nil {
			f.Fatal(err)
		}
		for _, path := range append(paths, "../enginelog/testdata/genai-bench.json", "../enginelog/testdata/trtllm-bench-constructed.log") {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(uint(i), string(text))
		}
		f.Add(uint(i), sparkJSON)
		f.Add(uint(i), harnessJSON)
		f.Add(uint(i), `[{"ttft_ms":1e308,"latency_ms":1e308,"start_time_ms":-1e308,"input_num_tokens":1,"output_num_tokens":2}]`)
	}
	path := filepath.Join(f.TempDir(), "file")
	f.Fuzz(func(t *testing.T, which uint, text string) {
		format := Formats()[which%uint(len(Formats()))]
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		all, err := results(t, format.Name, path)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\x1b") {
				t.Errorf("%s: %q", format.Name, err)
			}
			return
		}
		if len(all) == 0 {
			t.Errorf("%s: neither a run nor an error", format.Name)
		}
		for _, r := range all {
			checkResult(t, format, r)
		}
	})
}

func checkResult(t *testing.T, format Format, r Result) {
	t.Helper()
	if r.StartedAt.IsZero() || r.StartedAt.Year() > 9999 || r.Program == "" {
		t.Errorf("%s: %+v", format.Name, r)
	}
	texts := append([]string{r.Key, r.Model, r.Engine, r.EngineVersion, r.Version, r.URL, r.Stopped}, r.Warnings...)
	for _, values := range []map[string]string{r.Labels, r.Settings} {
		for name, value := range values {
			texts = append(texts, name, value)
			if len(value) > longestLabel || value == "" {
				t.Errorf("%s: %s=%q", format.Name, name, value)
			}
		}
	}
	for _, text := range texts {
		if len(text) > 4*longestLabel || strings.ContainsFunc(text, func(c rune) bool { return !unicode.IsPrint(c) }) {
			t.Errorf("%s: %q", format.Name, text)
		}
	}
	seen := map[string]bool{}
	for _, v := range r.Values {
		key := string(v.Name) + " " + v.Statistic
		if seen[key] || math.IsNaN(v.Value) || v.Value < 0 || v.Value > largest || v.Unit == "" {
			t.Errorf("%s: %+v", format.Name, v)
		}
		seen[key] = true
	}
	checkRequests(t, format, r)
	one := found{"id", &file{name: "f"}, r}
	if _, err := (Order{Format: format, Now: time.Unix(0, 0)}).writeRun(t.TempDir(), one); err != nil {
		t.Errorf("%s: %v", format.Name, err)
	}
}

// checkRequests: a run has figures of the tool or requests, and the moments of each request are in their order and in
// its phase.
func checkRequests(t *testing.T, format Format, r Result) {
	t.Helper()
	if len(r.Requests) > 0 && len(r.Values) > 0 {
		t.Errorf("%s: requests beside figures of the tool", format.Name)
	}
	phases := map[string]rundir.Span{}
	for _, p := range r.Phases {
		phases[p.Name] = p
	}
	for i, record := range r.Requests {
		phase, known := phases[record.Phase]
		if !known || record.Index != i || record.DispatchNS == nil || *record.DispatchNS < phase.StartNS || phase.StartNS < 0 || (record.EndNS == nil) == (record.BrokenOffNS == nil) {
			t.Errorf("%s: %+v in %+v", format.Name, record, phase)
		}
		before := *record.DispatchNS
		for _, moment := range []*int64{record.FirstEventNS, record.FirstTokenNS} {
			if moment != nil && *moment < before {
				t.Errorf("%s: %+v", format.Name, record)
			}
		}
		if ttft, ok := record.TTFT(openai.FromSend); ok && ttft < 0 {
			t.Errorf("%s: %+v", format.Name, record)
		}
		for gap := range record.ChunkGaps() {
			if gap < 0 {
				t.Errorf("%s: %+v", format.Name, record)
			}
		}
	}
}
