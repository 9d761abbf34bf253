package report

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/evidence"
)

// graded is the summary of a run without requests that has these signals.
func graded(t *testing.T, signals *Signals) Summary {
	t.Helper()
	s, err := Summarize(Input{Run: "r", Signals: signals}, func(func(chat.Record, error) bool) {})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestOutputsThatDifferFromTheModelsMakeARunInvalid(t *testing.T) {
	baseline := evidence.Drift{Pairs: 8, Earliest: -1}
	for _, c := range []struct {
		replayed evidence.Drift
		bad      bool
	}{
		{evidence.Drift{Pairs: 32, Earliest: -1}, false},
		{evidence.Drift{Pairs: 32, Diverging: 1, Earliest: 20}, false},
		{evidence.Drift{Pairs: 32, Diverging: 1, Early: 1}, true},
		{evidence.Drift{Pairs: 32, Diverging: 32, Earliest: 20}, true},
	} {
		signals := notObservable()
		signals.OutputMatch = evidence.OutputMatch(baseline, c.replayed, true)
		s := graded(t, &signals)
		if got := slices.Contains(codes(s), CodeOutputMismatch); got != c.bad || !slices.Contains(s.Checked, "outputs") {
			t.Errorf("%+v: invalid for %v, checked %v", c.replayed, s.InvalidReasons, s.Checked)
		}
	}
	if s := graded(t, nil); slices.Contains(s.Checked, "outputs") {
		t.Error("outputs that nobody compared were checked")
	}
}

func TestHowOutputsDifferIsSaidWithWhatIsCounted(t *testing.T) {
	signals := notObservable()
	signals.OutputMatch = evidence.OutputMatch(evidence.Drift{Pairs: 8, Earliest: -1}, evidence.Drift{Pairs: 32, Diverging: 6, Early: 6}, true)
	const want = "answers from the cache are not those that were computed: replay diverging before token 8: 6 prompts, expected 0"
	if reasons := graded(t, &signals).InvalidReasons; !slices.Contains(reasons, Reason{CodeOutputMismatch, want}) {
		t.Errorf("%+v", reasons)
	}
}

func TestAResetOfACounterThatASignalRestsOnMakesARunInvalid(t *testing.T) {
	signals := notObservable()
	signals.SSDRehydrate = evidence.Unseen(evidence.CountersReset)
	if s := graded(t, &signals); !slices.Contains(codes(s), CodeCounterReset) {
		t.Errorf("invalid for %v", s.InvalidReasons)
	}
	if s := graded(t, nil); slices.Contains(codes(s), CodeCounterReset) {
		t.Errorf("invalid for %v", s.InvalidReasons)
	}
}

func TestAReportShowsEachSignalWithItsWitnesses(t *testing.T) {
	signals := notObservable()
	signals.OutputMatch = evidence.OutputMatch(evidence.Drift{Pairs: 8}, evidence.Drift{Pairs: 32, Diverging: 1, Early: 1}, true)
	var text, short bytes.Buffer
	if err := Markdown(&text, graded(t, &signals)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"## Evidence", "contradicted: outputs", "replay\\_diverging", "ssd\\_rehydrate"} {
		if !strings.Contains(text.String(), want) {
			t.Errorf("no %q in:\n%s", want, text.String())
		}
	}
	if err := Text(&short, graded(t, &signals)); err != nil || !strings.Contains(short.String(), "contradicted (outputs differ)") {
		t.Errorf("%v: %s", err, short.String())
	}
	text.Reset()
	if err := HTML(&text, Page{Summary: graded(t, &signals)}); err != nil || !strings.Contains(text.String(), "<h2>Evidence</h2>") || !strings.Contains(text.String(), "replay_diverging") {
		t.Errorf("%v: the page has no evidence", err)
	}
	text.Reset()
	if err := Markdown(&text, graded(t, nil)); err != nil || strings.Contains(text.String(), "## Evidence") {
		t.Errorf("%v: a run that nobody asked for evidence shows some", err)
	}
}
