package summary

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"testing"

	"github.com/umascope/umascope/loadgen/evidence"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// replayed writes a run of four prompts of 100 tokens: computed twice for the baseline, computed once and sent again. Answers are
// all the same. cached are the tokens that each answer to a prompt sent again reports as cached, -1 is none, and firstNS is
// after how many nanoseconds its first token came; those that were computed took a second.
func replayed(t *testing.T, cached int, firstNS int64) *EvidenceInput {
	t.Helper()
	r := &EvidenceInput{
		Folder: rundir.Folder(t.TempDir()), Streamed: true, Separable: true, Log: slog.New(slog.DiscardHandler),
		Verification: &evidence.Verification{
			First: "first", Again: []string{"again"}, All: []string{"first", "again"}, Baseline: [2]string{"one", "two"}, Alone: true, Pressed: true,
		},
	}
	write := func(name string, lines []any) {
		file, err := os.Create(r.Folder.Path(name))
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		buffer := bufio.NewWriter(file)
		for _, line := range lines {
			text, err := json.Marshal(line)
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintf(buffer, "%s\n", text)
		}
		if err := buffer.Flush(); err != nil {
			t.Fatal(err)
		}
	}
	var records, outputs []any
	for _, phase := range []string{"one", "two", "first", "again"} {
		for i := range 4 {
			record := openai.Record{
				Run: "r", Phase: phase, Index: i, Status: openai.StatusOK, DispatchNS: new(int64(0)), FirstTokenNS: new(int64(1e9)), ArrivalsNS: []int64{1e9},
				TokensIn: new(100), TokensOut: new(16), TokensCached: new(0),
			}
			if phase == "again" {
				record.FirstTokenNS, record.ArrivalsNS, record.TokensCached = &firstNS, []int64{firstNS}, &cached
				if cached < 0 {
					record.TokensCached = nil
				}
			}
			records = append(records, record)
			outputs = append(outputs, rundir.OutputLine{Run: "r", Phase: phase, Index: i, Output: "the same words"})
		}
	}
	write(rundir.RequestsFile, records)
	write(rundir.OutputsFile, outputs)
	r.Records = Records(r.Folder.Path(rundir.RequestsFile))
	return r
}

// Equal answers prove nothing of a cache from which they did not come: the match is at most what is known of the reuse.
func TestAMatchOfOutputsIsNoBetterThanTheEvidenceOfReuse(t *testing.T) {
	const soon, late = 1e8, 1e9
	for name, c := range map[string]struct {
		cached       int
		firstNS      int64
		reuse, match string
	}{
		"from the cache, and sooner":    {100, soon, "proven ", "proven "},
		"from the cache, and no sooner": {100, late, "proven ", "proven "},
		"a third of it":                 {30, soon, "contradicted no_matched_tokens", "not_observable no_matched_tokens"},
		"nothing of it":                 {0, soon, "contradicted no_matched_tokens", "not_observable no_matched_tokens"},
		"answers do not report it":      {-1, soon, "not_observable counters_absent", "consistent reuse_not_proven"},
	} {
		got := replayed(t, c.cached, c.firstNS).Verify().Signals
		text := func(s evidence.Signal) string { return string(s.Grade) + " " + string(s.Reason) }
		if text(got.Reuse) != c.reuse || text(got.OutputMatch) != c.match {
			t.Errorf("%s: reuse %s, match %s, want %s and %s", name, text(got.Reuse), text(got.OutputMatch), c.reuse, c.match)
		}
	}
}
