package summary

import (
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"

	"github.com/umascope/umascope/loadgen/openai"
)

// A request that was sent again is no failure, but it must not pass for one that went smoothly.
func TestRequestsThatWereSentAgainAreWarnedAbout(t *testing.T) {
	in := input(t)
	in.Phases = []rundir.Span{{Name: "a", EndNS: 1e9}, {Name: "b", StartNS: 1e9, EndNS: 9e9}}
	records := testrun.Altered(9, 2, func(r *openai.Record) { r.StaleConnections = 1 })
	for i := range records {
		records[i].Phase = []string{"a", "b"}[i%2]
	}
	if w := summarize(t, in, records...).Warnings; !slices.ContainsFunc(w, func(w string) bool { return strings.HasPrefix(w, "2 of 9 requests met a kept connection") }) {
		t.Errorf("warnings %q", w)
	}
	if w := summarize(t, in, testrun.Steady(9)...).Warnings; len(w) > 0 {
		t.Errorf("warnings of a run without any: %q", w)
	}
}

func TestOnlyTheDurationOfARequestNeedsNoStream(t *testing.T) {
	for text, want := range map[string]string{"e2e=1s": "", "ttft=1s": "ttft", "e2e=1s,tpot=1s": "tpot", "ttfo=1s,e2e=1s": "ttfo"} {
		slo, err := ParseSLO(text)
		if got := slo.NeedsStream(); got != want || err != nil {
			t.Errorf("%s needs streams for %q (%v), want %q", text, got, err, want)
		}
	}
}

func TestALimitWithoutAUnitIsRefusedWithTheRightForm(t *testing.T) {
	for _, text := range []string{"ttft=500", "ttft=0s", "ttft=-1s", "ttft="} {
		if _, err := ParseSLO(text); err == nil || !strings.Contains(err.Error(), text+" is no limit: want a duration above 0, such as ttft=500ms") {
			t.Errorf("%s: %v", text, err)
		}
	}
}
