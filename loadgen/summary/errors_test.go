package summary

import (
	"fmt"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"

	"github.com/umascope/umascope/loadgen/openai"
)

func TestErrorsThatDifferInNumbersAloneAreOne(t *testing.T) {
	records := testrun.Altered(200, 200, func(r *openai.Record) {
		testrun.FailedWith(openai.StatusHTTP, fmt.Sprintf("HTTP 400: prompt has %d tokens", 4000+r.Index))(r)
	})
	s := summarize(t, input(t), records...)
	if got := s.InvalidReasons[0].Detail; !strings.HasSuffix(got, ": HTTP 400: prompt has 4000 tokens (200)") {
		t.Error(got)
	}
}

func TestErrorsOfAServerThatNeverRepeatsItselfAreBounded(t *testing.T) {
	counts := errorCounts{}
	for i := range 10_000 {
		counts.add(openai.Record{Status: openai.StatusHTTP, Error: strings.Repeat("x", i%1000) + strings.Repeat("y", i/1000)})
	}
	if len(counts) > mostErrors || len(counts.String()) > (shownErrors+1)*(shownErrorBytes+20) {
		t.Errorf("%d errors kept, %d bytes printed", len(counts), len(counts.String()))
	}
}

func TestErrorsOfSeveralPhasesAddUp(t *testing.T) {
	in := input(t)
	in.Phases = []rundir.Span{{Name: "a", EndNS: 5e9}, {Name: "b", StartNS: 5e9, EndNS: 10e9}}
	records := testrun.Altered(40, 4, testrun.FailedWith(openai.StatusHTTP, "HTTP 500: no"))
	for i := range records {
		records[i].Phase = "ab"[i%2 : i%2+1]
	}
	s := summarize(t, in, records...)
	if got := s.InvalidReasons[0].Detail; !strings.HasSuffix(got, ": HTTP 500: no (4)") {
		t.Error(got)
	}
}

func TestPhaseWhoseRequestsAllFailedIsNamed(t *testing.T) {
	s := summarize(t, input(t), append(testrun.Altered(8, 8, baselineFailed), testrun.Steady(40)...)...)
	want := Reason{CodePhaseFailed, "none of 8 requests of warmup ended ok: HTTP 400: cache_salt must not contain '/' (8)"}
	if len(s.InvalidReasons) != 1 || s.InvalidReasons[0] != want {
		t.Errorf("reasons %v, want %v", s.InvalidReasons, want)
	}
	for name, alter := range map[string]func(*openai.Record){
		"one request ended ok": func(r *openai.Record) {
			if baselineFailed(r); r.Index == 3 {
				r.Status = openai.StatusOK
			}
		},
		"the run was stopped": func(r *openai.Record) { baselineFailed(r); r.Status = openai.StatusCancelled },
	} {
		if s := summarize(t, input(t), append(testrun.Altered(8, 8, alter), testrun.Steady(40)...)...); !s.Valid {
			t.Errorf("%s: %v", name, s.InvalidReasons)
		}
	}
}

func TestCountsThatTheChunksContradictAreWarnedOf(t *testing.T) {
	records := testrun.Altered(40, 3, func(r *openai.Record) { r.TokensOut, r.TokensSource, r.ArrivalTokens = new(3), "usage", nil })
	s := summarize(t, input(t), records...)
	if !strings.Contains(strings.Join(s.Warnings, "\n"), "3 of 40 answers came in more chunks than the server counts output tokens: they have no TPOT") {
		t.Errorf("warnings %q", s.Warnings)
	}
	if !s.Valid || s.Latency.TPOT.Send.N != 37 {
		t.Errorf("valid %t (%v), %d requests with a TPOT, want 37", s.Valid, s.InvalidReasons, s.Latency.TPOT.Send.N)
	}
}
