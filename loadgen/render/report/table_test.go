package report

import (
	"slices"
	"testing"

	"github.com/umascope/umascope/loadgen/format"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/render"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

// Whether prompts came from a cache shows in how soon their answers begin: of a pass and of the one that
// repeats it, not of both together.
func TestEachPhaseHasItsTimeToFirstToken(t *testing.T) {
	run := testrun.New()
	run.Phases = []rundir.Span{{Name: "warm_A", EndNS: 5e9}, {Name: "replay_A", StartNS: 5e9, EndNS: 10e9}, {Name: "stop", StartNS: 10e9, EndNS: 10e9}}
	warm, again := testrun.Answered(0, 100, 400, 420), testrun.Answered(1, 6000, 100, 120)
	warm.Phase, again.Phase = "warm_A", "replay_A"
	run.Records = []openai.Record{warm, again}
	table := phaseTable(summarize(t, run))
	at := slices.Index(table.Header, "mean TTFT")
	if at < 0 {
		t.Fatal(table.Header)
	}
	for i, want := range []string{"400 ms", "100 ms", format.None} {
		if got := table.Rows[i].Cells[at]; got != want {
			t.Errorf("%s: %s, want %s", table.Rows[i].Cells[0], got, want)
		}
	}
	run.Manifest.Judging.Streaming = false
	if table := phaseTable(summarize(t, run)); slices.Contains(table.Header, "mean TTFT") || len(table.Rows[0].Cells) != len(table.Header) {
		t.Errorf("answers were not streamed: %v", table.Header)
	}
}

func TestALabelIsNotShownAsTheModelOfTheServer(t *testing.T) {
	s := summary.Summary{Scenario: "standard", Labels: map[string]string{"model": "llama", "scenario": "standard", "arm": "native"}}
	s.Model.ID = "meta/llama"
	want := []render.Fact{fact("scenario", "standard"), fact("model", "meta/llama"), fact("arm", "native"), fact("label model", "llama")}
	if got := runIdentity(s); !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}
