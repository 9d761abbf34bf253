package report

import (
	"slices"
	"testing"

	"github.com/umascope/umascope/loadgen/chart"
)

// Whether prompts came from a cache shows in how soon their answers begin: of a pass and of the one that
// repeats it, not of both together.
func TestEachPhaseHasItsTimeToFirstToken(t *testing.T) {
	in := input()
	in.Phases = []Phase{{"warm_A", 0, 5e9}, {"replay_A", 5e9, 10e9}, {"stop", 10e9, 10e9}}
	warm, again := answered(0, 100, 400, 420), answered(1, 6000, 100, 120)
	warm.Phase, again.Phase = "warm_A", "replay_A"
	table := summarize(t, in, warm, again).phaseTable()
	at := slices.Index(table.Header, "mean TTFT")
	if at < 0 {
		t.Fatal(table.Header)
	}
	for i, want := range []string{"400 ms", "100 ms", chart.None} {
		if got := table.Rows[i][at]; got != want {
			t.Errorf("%s: %s, want %s", table.Rows[i][0], got, want)
		}
	}
	in.Streaming = false
	if table := summarize(t, in, warm, again).phaseTable(); slices.Contains(table.Header, "mean TTFT") || len(table.Rows[0]) != len(table.Header) {
		t.Errorf("answers were not streamed: %v", table.Header)
	}
}

func TestALabelIsNotTakenForWhatTheServerSays(t *testing.T) {
	s := Summary{Scenario: "standard", Labels: map[string]string{"model": "llama", "scenario": "standard", "arm": "native"}}
	s.Model.ID = "meta/llama"
	want := facts{{"scenario", "standard"}, {"model", "meta/llama"}, {"arm", "native"}, {"label model", "llama"}}
	if got := s.identity(); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
