package evidence

import (
	"fmt"
	"slices"
	"testing"
)

func TestAMatchIsLimitedByWhereTheAnswersCameFrom(t *testing.T) {
	grades := []Grade{Proven, Consistent, Contradicted, NotObservable}
	strength := func(g Grade) int { return slices.Index([]Grade{Contradicted, NotObservable, Consistent, Proven}, g) }
	for _, match := range grades {
		for _, reuse := range grades {
			for _, rehydrate := range grades {
				name := fmt.Sprintf("match %s, reuse %s, rehydrate %s", match, reuse, rehydrate)
				given := NewSignal(match, "", NewFigure("w", 1, "x", Range{0, 1}))
				got := LimitMatch(given, NewSignal(reuse, NoMatchedTokens), NewSignal(rehydrate, ServedFromHost))
				if strength(got.Grade) > strength(match) || len(got.Figures) != 1 {
					t.Errorf("%s: became %+v", name, got)
				}
				if got.Grade == Proven && (reuse == Contradicted || reuse != Proven && rehydrate != Proven) {
					t.Errorf("%s: proven", name)
				}
				if got.Grade == Consistent && reuse == Contradicted {
					t.Errorf("%s: consistent", name)
				}
				if (got.Grade == Contradicted) != (match == Contradicted) {
					t.Errorf("%s: %+v", name, got)
				}
				if got.Grade != match && got.Reason == "" {
					t.Errorf("%s: no reason why it is %s", name, got.Grade)
				}
			}
		}
	}
	if got := LimitMatch(NewSignal(Proven, ""), Unseen(CountersAbsent), NewSignal(Proven, "")); got.Grade != Proven {
		t.Errorf("blocks that came back from the SSD are a cache too: %+v", got)
	}
}
