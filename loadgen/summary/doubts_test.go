package summary

import (
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/summary/testrun"
)

func TestARunWithCountsThatAreNotBelievedHasNoTokenRateAndTheReason(t *testing.T) {
	records := testrun.Altered(40, 3, func(r *openai.Record) {
		r.TokensOut, r.TokensIn, r.TokensSource, r.ArrivalTokens = nil, nil, "", nil
		r.UsageFault = "usage counts 100000 output tokens, and at most 16 were asked for"
	})
	s := summarize(t, input(t), records...)
	if s.Throughput.OutputTokensPerSecond != nil || s.Throughput.InputTokensPerSecond != nil {
		t.Errorf("throughput %+v", s.Throughput)
	}
	want := "counts of 3 of 40 answers cannot be right: tokens per second are absent, and these answers have no TPOT: usage counts 100000 output tokens, and at most 16 were asked for (3)"
	if all := strings.Join(s.Warnings, "\n"); !strings.Contains(all, want) || strings.Contains(all, "have no token count") {
		t.Errorf("warnings %q", s.Warnings)
	}
	if n := s.Latency.TPOT.Send.N; n != 37 {
		t.Errorf("%d answers with a TPOT, want 37", n)
	}
}

func TestMembersThatNoKnownAPIHasAreNamed(t *testing.T) {
	records := testrun.Altered(40, 3, func(r *openai.Record) {
		if r.UnknownMembers = []string{"delta.thinking"}; r.Index == 0 {
			r.UnknownMembers = append(r.UnknownMembers, "delta.b", "delta.c", "delta.d")
		}
	})
	want := "members that no known API has: delta.b (1), delta.c (1), delta.d (1) and others; it counts as output"
	if all := strings.Join(summarize(t, input(t), records...).Warnings, "\n"); !strings.Contains(all, want) {
		t.Errorf("warnings %q", all)
	}
	want = "members that no known API has: delta.thinking (2); it counts as output"
	if all := strings.Join(summarize(t, input(t), records[1:]...).Warnings, "\n"); !strings.Contains(all, want) {
		t.Errorf("warnings %q", all)
	}
}
