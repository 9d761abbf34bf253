package runner

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/telemetry"
)

// FuzzOpenRanks reads any manifest as that of a second rank: what is accepted is rank 1 of the same run.
func FuzzOpenRanks(f *testing.F) {
	good, err := json.Marshal(rankManifest(1, 2, 10))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add(bytes.Replace(good, []byte(`"rank":1`), []byte(`"rank":-1`), 1))
	f.Add([]byte(`{"schema":"umascope.manifest/1","rank":{"rank":1,"world":2},"judging":{}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		first := rankFiles(t, 0, 2, 4, nil).write(t, filepath.Join(t.TempDir(), "0"))
		second := rankFolder{rundir.ManifestFile: string(text)}.write(t, filepath.Join(t.TempDir(), "1"))
		w, err := OpenRanks([]string{second, first}, false)
		if err != nil {
			return
		}
		if len(w.Parts) != 2 || w.Parts[1].rank() != 1 || w.World != 2 || w.Parts[0].ShiftNS < 0 || w.Parts[1].ShiftNS < 0 {
			t.Fatalf("%+v", w)
		}
		// Whatever else it says must be bearable.
		_ = w.judging(w.warnings(telemetry.Merged{}, nil))
		_ = w.manifest("whole", map[string]int{"a": 1})
	})
}

// FuzzRankSchedule merges any two files: what is accepted is in strict order, and every whole line is there.
func FuzzRankSchedule(f *testing.F) {
	f.Add(scheduleLine(0)+scheduleLine(2), scheduleLine(1)+scheduleLine(3))
	f.Add(scheduleLine(0), scheduleLine(0))
	f.Add(scheduleLine(0), scheduleLine(1)[:20])
	f.Add(`{"phase":"measure"}`+"\n", `{"phase":"measure","index":1e9}`+"\n")
	f.Fuzz(func(t *testing.T, one, other string) {
		out := t.TempDir()
		w := &SharedRun{}
		for r, text := range []string{one, other} {
			path := filepath.Join(out, string(rune('0'+r)))
			if err := os.Mkdir(path, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(path, rundir.ScheduleFile), []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
			w.Parts = append(w.Parts, RankRun{Folder: rundir.Folder(path), Manifest: rankManifest(r, 2, 10)})
		}
		var got bytes.Buffer
		if err := w.schedule(t.Context(), &got); err != nil {
			return
		}
		if strings.Count(got.String(), "\n") != strings.Count(one, "\n")+strings.Count(other, "\n") {
			t.Fatalf("%q and %q make %q", one, other, got.String())
		}
		expected := 0
		for line := range strings.Lines(got.String()) {
			var l rundir.ScheduleLine
			if json.Unmarshal([]byte(line), &l) == nil && l.Index != expected {
				t.Fatalf("request %d where %d is due: %q", l.Index, expected, got.String())
			}
			expected++
		}
	})
}
