package report

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/summary"
)

func TestAReportShowsSpeculativeDecodingWithItsSource(t *testing.T) {
	s := summary.Summary{Run: "r", Speculation: &summary.Speculation{
		Answers: &summary.DraftCounts{
			DraftTokens: 160, AcceptedTokens: 40, AcceptanceRatio: 0.25, AcceptanceByRequest: &summary.Distribution{N: 20, P50: new(0.5)},
		},
		Engine: &summary.DraftCounts{
			DraftTokens: 365, AcceptedTokens: 36, AcceptanceRatio: 36. / 365, Drafts: new(int64(132)), MeanAcceptedLength: new(1 + 36./132),
			AcceptedByPosition: []int64{22, 11, 3},
		},
	}}
	var out strings.Builder
	if err := Text(&out, s); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"drafted tokens accepted 25 % of 160, by the answers; p50 of requests 50 %",
		"drafted tokens accepted 9.86 % of 365, by the engine, of all its clients",
		"tokens per step with a draft 1.27 by the engine, of all its clients; accepted by position: 16.7 %, 8.33 %, 2.27 %",
	} {
		if text := strings.Join(strings.Fields(out.String()), " "); !strings.Contains(text, line) {
			t.Errorf("%q is not in %s", line, text)
		}
	}
	if without := speculationFacts(nil); without != nil {
		t.Errorf("%v", without)
	}
}
