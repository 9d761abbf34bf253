package summary

import (
	"slices"
	"testing"

	"github.com/umascope/umascope/loadgen/evidence"
)

func TestOutputsThatDifferFromTheModelsMakeARunInvalid(t *testing.T) {
	baseline := OutputDrift{Pairs: 8, Earliest: -1}
	for _, c := range []struct {
		replayed OutputDrift
		bad      bool
	}{
		{OutputDrift{Pairs: 32, Earliest: -1}, false},
		{OutputDrift{Pairs: 32, Diverging: 1, Earliest: 20}, false},
		{OutputDrift{Pairs: 32, Diverging: 1, Early: 1}, true},
		{OutputDrift{Pairs: 32, Diverging: 32, Earliest: 20}, true},
	} {
		signals := notObservable()
		signals.OutputMatch = MatchOutputs(baseline, c.replayed, true)
		s := graded(t, &signals)
		if got := slices.Contains(codes(s), CodeOutputMismatch); got != c.bad || !slices.Contains(s.Checked, "outputs") {
			t.Errorf("%+v: invalid for %v, checked %v", c.replayed, s.InvalidReasons, s.Checked)
		}
	}
	if s := graded(t, nil); slices.Contains(s.Checked, "outputs") {
		t.Error("outputs that nobody compared were checked")
	}
}

func TestDifferingOutputsAreReportedWithCounts(t *testing.T) {
	signals := notObservable()
	signals.OutputMatch = MatchOutputs(OutputDrift{Pairs: 8, Earliest: -1}, OutputDrift{Pairs: 32, Diverging: 6, Early: 6}, true)
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
