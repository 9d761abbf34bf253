package report

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/umascope/umascope/loadgen/chat"
)

func failedWith(status chat.Status, text string) func(*chat.Record) {
	return func(r *chat.Record) {
		withoutOutput(r)
		r.Status, r.Error = status, text
	}
}

// TestTheCommonestErrorsArePrintedInTheServersWords reads what ends a run whose server has no engine.
func TestTheCommonestErrorsArePrintedInTheServersWords(t *testing.T) {
	records := altered(24, 20, failedWith(chat.StatusHTTP, "HTTP 503: no engine"))
	failedWith(chat.StatusTimeout, "no first token within 10s")(&records[20])
	failedWith(chat.StatusInBand, "\x1b[31mworker died")(&records[21])
	failedWith(chat.StatusConnect, "")(&records[22])
	s := summarize(t, input(), records...)
	want := "23 of 24 requests did not end ok (95.8 %): HTTP 503: no engine (20), connect (1), in_band: worker died (1), and others"
	if len(s.InvalidReasons) != 1 || s.InvalidReasons[0] != (Reason{CodeErrorRate, want}) {
		t.Errorf("reasons %v, want %s", s.InvalidReasons, want)
	}
	var out bytes.Buffer
	if err := Text(&out, s); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"1 ok, 20 http, 1 in_band, 1 timeout, 1 connect", "HTTP 503: no engine (20)"} {
		if !strings.Contains(out.String(), line) {
			t.Errorf("%q is not printed:\n%s", line, out.String())
		}
	}
	if strings.ContainsRune(out.String(), '\x1b') {
		t.Errorf("an escape sequence is printed: %q", out.String())
	}
}

func TestErrorsThatDifferInNumbersAloneAreOne(t *testing.T) {
	records := altered(200, 200, func(r *chat.Record) {
		failedWith(chat.StatusHTTP, fmt.Sprintf("HTTP 400: prompt has %d tokens", 4000+r.Index))(r)
	})
	s := summarize(t, input(), records...)
	if got := s.InvalidReasons[0].Detail; !strings.HasSuffix(got, ": HTTP 400: prompt has 4000 tokens (200)") {
		t.Error(got)
	}
}

func TestErrorsOfAServerThatNeverRepeatsItselfAreBounded(t *testing.T) {
	counts := errorCounts{}
	for i := range 10_000 {
		counts.add(chat.Record{Status: chat.StatusHTTP, Error: strings.Repeat("x", i%1000) + strings.Repeat("y", i/1000)})
	}
	if len(counts) > mostErrors || len(counts.String()) > (shownErrors+1)*(shownErrorBytes+20) {
		t.Errorf("%d errors kept, %d bytes printed", len(counts), len(counts.String()))
	}
}

func TestErrorsOfSeveralPhasesAddUp(t *testing.T) {
	in := input()
	in.Phases = []Phase{{Name: "a", EndNS: 5e9}, {Name: "b", StartNS: 5e9, EndNS: 10e9}}
	records := altered(40, 4, failedWith(chat.StatusHTTP, "HTTP 500: no"))
	for i := range records {
		records[i].Phase = "ab"[i%2 : i%2+1]
	}
	s := summarize(t, in, records...)
	if got := s.InvalidReasons[0].Detail; !strings.HasSuffix(got, ": HTTP 500: no (4)") {
		t.Error(got)
	}
}

func TestPhaseWhoseRequestsAllFailedIsNamed(t *testing.T) {
	s := summarize(t, input(), append(altered(8, 8, baselineFailed), steady(40)...)...)
	want := Reason{CodePhaseFailed, "none of 8 requests of warmup ended ok: HTTP 400: cache_salt must not contain '/' (8)"}
	if len(s.InvalidReasons) != 1 || s.InvalidReasons[0] != want {
		t.Errorf("reasons %v, want %v", s.InvalidReasons, want)
	}
	for name, alter := range map[string]func(*chat.Record){
		"one request ended ok": func(r *chat.Record) {
			if baselineFailed(r); r.Index == 3 {
				r.Status = chat.StatusOK
			}
		},
		"the run was stopped": func(r *chat.Record) { baselineFailed(r); r.Status = chat.StatusCancelled },
	} {
		if s := summarize(t, input(), append(altered(8, 8, alter), steady(40)...)...); !s.Valid {
			t.Errorf("%s: %v", name, s.InvalidReasons)
		}
	}
}

func TestCountsThatTheChunksContradictAreWarnedOf(t *testing.T) {
	records := altered(40, 3, func(r *chat.Record) { r.TokensOut, r.TokensSource, r.ArrivalTokens = new(3), "usage", nil })
	s := summarize(t, input(), records...)
	if !strings.Contains(strings.Join(s.Warnings, "\n"), "3 of 40 answers came in more chunks than the server counts output tokens: they have no TPOT") {
		t.Errorf("warnings %q", s.Warnings)
	}
	if !s.Valid || s.Latency.TPOT.Send.N != 37 {
		t.Errorf("valid %t (%v), %d requests with a TPOT, want 37", s.Valid, s.InvalidReasons, s.Latency.TPOT.Send.N)
	}
}
