package summary

import (
	"encoding/json"
	"errors"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/summary/testrun"

	"github.com/umascope/umascope/loadgen/openai"
)

const ms = int64(time.Millisecond)

// TestTheWorkedExample is a chat stream of six tokens, in milliseconds after the send: role 90,
// one token 100, three tokens 160, two tokens 200, usage 201, [DONE] 202. It was due 10 ms
// before it was sent, 7 of them without a free slot.
func TestTheWorkedExample(t *testing.T) {
	const send = 1000
	s := summarize(t, input(t), openai.Record{
		Phase: "measure", Status: openai.StatusOK,
		IntendedNS: (send - 10) * ms, EligibleNS: ptr((send - 3) * ms), DispatchNS: ptr(send * ms),
		FirstEventNS: ptr((send + 90) * ms), FirstEventType: "role",
		FirstTokenNS: ptr((send + 100) * ms), FirstVisibleNS: ptr((send + 100) * ms),
		ArrivalsNS: []int64{(send + 100) * ms, 60 * ms, 40 * ms}, ArrivalTokens: []int{1, 3, 2}, ReadIDs: []int{1, 2, 3},
		EndNS: ptr((send + 202) * ms), TokensIn: ptr(12), TokensOut: ptr(6),
	})
	l := s.Latency
	for name, test := range map[string]struct {
		got  *Distribution
		n    int
		want float64 // mean in seconds
	}{
		"TTFT from send":          {l.TTFT.Send, 1, .100},
		"TTFT from intended":      {l.TTFT.Intended, 1, .110},
		"TTFO from send":          {l.TTFO.Send, 1, .100},
		"E2E from send":           {l.E2E.Send, 1, .200},
		"E2E from intended":       {l.E2E.Intended, 1, .210},
		"TPOT":                    {l.TPOT.Send, 1, .020},
		"chunk gaps of 60 and 40": {l.ChunkGap.Send, 2, .050},
		"ITL of five tokens":      {l.ITL.Send, 5, .020},
		"queue delay":             {l.QueueDelay, 1, .007},
		"client lag":              {l.ClientLag, 1, .003},
	} {
		if test.got == nil || test.got.N != test.n || !near(test.got.Mean, test.want) {
			t.Errorf("%s: %+v, want n %d and mean %v", name, test.got, test.n, test.want)
		}
	}
	if g := l.ChunkGap.Send; !near(g.Min, .040) || !near(g.Max, .060) || !near(g.SD, .01414213562) {
		t.Errorf("chunk gaps: min %v, max %v, sd %v", *g.Min, *g.Max, *g.SD)
	}
	if i := l.ITL.Send; !near(i.Min, .020) || !near(i.Max, .020) || !near(i.P50, .020) || i.P75 != nil {
		t.Errorf("ITL: %+v", i)
	}
	if !near(s.Throughput.DurationSeconds, .202) || !near(s.Throughput.OutputTokensPerSecond, 6/.202) {
		t.Errorf("throughput %+v", s.Throughput)
	}
}

func TestOnlyRequestsThatEndedOKEnterLatencies(t *testing.T) {
	good := testrun.Steady(2)
	bad := testrun.Answered(2, 900, 1, 2)
	bad.Status = openai.StatusTruncated
	s := summarize(t, input(t), append(good, bad, testrun.Failed(3, 950, openai.StatusTimeout))...)
	if n := s.Latency.TTFT.Send.N; n != 2 {
		t.Errorf("%d values of TTFT", n)
	}
	want := map[openai.Status]int{"ok": 2, "truncated": 1, "timeout": 1, "http": 0, "in_band": 0, "cancelled": 0, "connect": 0}
	for status, n := range want {
		if got, there := s.Requests[status]; !there || got != n {
			t.Errorf("%d requests %s (listed: %v), want %d", got, status, there, n)
		}
	}
}

func TestWarmupEntersNoFigureOutsidePhases(t *testing.T) {
	cold := testrun.Answered(0, 0, 5000, 6000)
	cold.Phase = "warmup"
	s := summarize(t, input(t), append([]openai.Record{cold}, testrun.Steady(5)...)...)
	if !near(s.Latency.TTFT.Send.Max, .1) || s.Requests["ok"] != 5 {
		t.Errorf("max TTFT %v, %d requests", *s.Latency.TTFT.Send.Max, s.Requests["ok"])
	}
	if w := s.Phases["warmup"]; w.Requests["ok"] != 1 || !near(w.Latency.TTFT.Send.Max, 5) {
		t.Errorf("warm-up phase %+v", w)
	}
}

func TestSeveralMeasuredPhasesAreAddedUp(t *testing.T) {
	in := input(t)
	in.Phases = []rundir.Span{{Name: "a", StartNS: 0, EndNS: 1e9}, {Name: "b", StartNS: 5e9, EndNS: 6e9}}
	first, second := testrun.Answered(0, 0, 100, 200), testrun.Answered(1, 5000, 300, 400)
	first.Phase, second.Phase = "a", "b"
	s := summarize(t, in, first, second)
	if d := s.Latency.TTFT.Send; d.N != 2 || !near(d.Mean, .2) {
		t.Errorf("TTFT %+v", d)
	}
	if !near(s.Throughput.DurationSeconds, .201+.401) {
		t.Errorf("duration %v: the pause between the phases must not count", *s.Throughput.DurationSeconds)
	}
	if n := s.Latency.ChunkGap.Send.N; n != 2 {
		t.Errorf("%d chunk gaps", n)
	}
}

func TestRulesSeeTheRequestsOfAllMeasuredPhases(t *testing.T) {
	in := input(t)
	in.Phases = []rundir.Span{{Name: "a", EndNS: 1e9}, {Name: "b", StartNS: 1e9, EndNS: 9e9}}
	in.Client.StampedArrivals = true
	records := testrun.Altered(20, 20, func(r *openai.Record) {
		if r.Phase = "a"; r.Index%2 == 0 {
			r.Phase = "b"
			inOnePiece(r)
		}
		r.TokensSource = openai.TokensFromChunks
		if r.WrittenNS = new(*r.DispatchNS); r.Index < 10 {
			*r.WrittenNS += 40 * ms
		}
	})
	records[18].Status, records[19].Status, records[19].Error = openai.StatusTimeout, openai.StatusHTTP, "HTTP 503: no engine"
	s := summarize(t, in, records...)
	details := map[Code]string{}
	for _, reason := range s.InvalidReasons {
		details[reason.Code] = reason.Detail
	}
	if want := map[Code]string{
		CodeClientLag: "time to first token from send p25, 100 ms, may be off by up to 40 ms (40 %): the client sent late; end other programs on this machine, lower --concurrency, or run uma-load on another machine",
		CodeErrorRate: "2 of 20 requests did not end ok (10 %): HTTP 503: no engine (1), timeout (1)",
	}; !maps.Equal(details, want) {
		t.Errorf("reasons %v, want %v", details, want)
	}
	if !slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.Contains(w, "of 18 of 18 answers the server told no tokens") }) {
		t.Errorf("warnings %q", s.Warnings)
	}
	records[19].Status, records[17].Status = openai.StatusOK, openai.StatusHTTP
	inOnePiece(&records[19])
	if got := codes(summarize(t, in, records...)); !slices.Contains(got, CodeStreamBuffered) {
		t.Errorf("10 of 18 answers came in one read: %v", got)
	}
}

func TestTokensPerSecondAreAbsentWhenAnAnswerHasNoCount(t *testing.T) {
	records := testrun.Steady(3)
	records[1].TokensOut = nil
	s := summarize(t, input(t), records...)
	if s.Throughput.OutputTokensPerSecond != nil || s.Throughput.InputTokensPerSecond == nil {
		t.Errorf("throughput %+v", s.Throughput)
	}
	if !slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.Contains(w, "1 of 3 answers have no token count") }) {
		t.Errorf("warnings %q", s.Warnings)
	}
}

func TestUncountedTokensAreWarnedAbout(t *testing.T) {
	records := testrun.Steady(3)
	records[1].TokensSource, records[2].TokensSource = openai.TokensFromChunks, "usage"
	s := summarize(t, input(t), records...)
	if !slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.Contains(w, "of 1 of 3 answers the server told no tokens") }) {
		t.Errorf("warnings %q", s.Warnings)
	}
}

func TestWithoutStreamingThereAreNoTokenLatencies(t *testing.T) {
	in := input(t)
	in.Streaming = false
	s := summarize(t, in, testrun.Steady(3)...)
	l := s.Latency
	if l.TTFT != nil || l.TTFO != nil || l.TPOT != nil || l.ChunkGap != nil || l.ITL != nil || l.E2E == nil {
		t.Errorf("latencies %+v", l)
	}
	if slices.Contains(s.Checked, "stream") {
		t.Error("buffering of a stream that was not one was checked")
	}
}

func TestChunksOfOneReadAreCountedApart(t *testing.T) {
	r := testrun.Answered(0, 0, 100, 100, 150)
	r.ReadIDs = []int{1, 1, 2}
	s := summarize(t, input(t), r)
	if g := s.Latency.ChunkGap; g.SameRead != 1 || g.Send.N != 1 || !near(g.Send.Mean, .05) {
		t.Errorf("chunk gaps %+v, %d in the same read", g.Send, g.SameRead)
	}
}

func TestGoodputCountsRequestsThatKeepEveryObjective(t *testing.T) {
	in := input(t)
	slo, err := ParseSLO("ttft=150ms,tpot=25ms")
	if err != nil {
		t.Fatal(err)
	}
	in.Objectives = slo
	late := testrun.Answered(2, 600, 160, 170, 180)
	slow := testrun.Answered(3, 900, 100, 200, 300)
	waited := testrun.Answered(4, 1200, 100, 110, 120)
	waited.IntendedNS -= 60 * ms
	oneToken := testrun.Answered(5, 1500, 100)
	g := summarize(t, in, append(testrun.Steady(2), late, slow, waited, oneToken, testrun.Failed(6, 1700, openai.StatusHTTP))...).SLO
	if g.Good != 3 || g.Requests != 7 || math.Abs(g.Ratio-3.0/7) > 1e-12 || g.Met {
		t.Errorf("goodput %+v", g)
	}
	if !near(g.RequestsPerSecond, 3/1.705) {
		t.Errorf("%v good requests a second", *g.RequestsPerSecond)
	}
	if g := summarize(t, in, testrun.Steady(3)...).SLO; !g.Met || g.SLO != "ttft=150ms,tpot=25ms" {
		t.Errorf("goodput %+v", g)
	}
	if summarize(t, input(t), testrun.Steady(1)...).SLO != nil {
		t.Error("goodput without an SLO")
	}
}

func TestASLOThatMakesNoSenseIsRefused(t *testing.T) {
	for _, text := range []string{"", "ttft", "ttft=", "ttft=5", "ttft=-1s", "ttft=0s", "itl=1s", "ttft=1s,ttft=2s", "ttft=1s,"} {
		if slo, err := ParseSLO(text); err == nil {
			t.Errorf("%q became %v", text, slo)
		}
	}
}

func writeLines(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "requests.jsonl")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestATornLastLineIsLeftOutAndWarnedAbout(t *testing.T) {
	whole := testrun.JSONLines(t, testrun.Steady(3)...)
	s, err := summarizeFile(input(t), Records(writeLines(t, whole[:len(whole)-20])))
	if err != nil {
		t.Fatal(err)
	}
	if s.Requests["ok"] != 2 || !slices.ContainsFunc(s.Warnings, func(w string) bool { return strings.Contains(w, "torn") }) {
		t.Errorf("%d requests, warnings %q", s.Requests["ok"], s.Warnings)
	}
}

func TestALineThatIsNoRecordIsAnErrorThatNamesIt(t *testing.T) {
	path := writeLines(t, testrun.JSONLines(t, testrun.Steady(2)...)+"garbage\n"+testrun.JSONLines(t, testrun.Steady(1)...))
	_, err := summarizeFile(input(t), Records(path))
	if err == nil || !strings.Contains(err.Error(), "line 3") || errors.Is(err, ErrTorn) {
		t.Errorf("error %v", err)
	}
	if _, err := summarizeFile(input(t), Records(filepath.Join(t.TempDir(), "none"))); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a file that is not there: %v", err)
	}
}

// FuzzRecords feeds requests.jsonl: reading never yields after an error, and whatever can be
// summarized gives figures that are finite and ordered.
func FuzzRecords(f *testing.F) {
	f.Add([]byte(testrun.JSONLines(f, testrun.Steady(2)...)))
	f.Add([]byte(`{"status":"ok","arrivals_ns":[9223372036854775807,9223372036854775807],"tokens_out":-1}` + "\n"))
	f.Add([]byte(`{"status":"ok","phase":"measure","arrival_tokens":[1,-5],"arrivals_ns":[1,2],"tokens_out":3}` + "\n"))
	f.Add([]byte(`{"status":"ok","phase":"measure","arrival_tokens":[1,9223372036854775807],"arrivals_ns":[1,2],"tokens_out":3}` + "\n"))
	f.Add([]byte("\n\n{}\n"))
	in := input(f)
	f.Fuzz(func(t *testing.T, text []byte) {
		ended := false
		for _, err := range decodeRecords(strings.NewReader(string(text)), 2) {
			if ended {
				t.Fatal("a record after an error")
			}
			ended = err != nil
		}
		s, err := summarizeFile(in, decodeRecords(strings.NewReader(string(text)), 2))
		if err != nil {
			return
		}
		if _, err := json.Marshal(s); err != nil {
			t.Fatalf("the summary is not JSON: %v", err)
		}
		for name, d := range distributionsOf(s.Latency) {
			ordered := []*float64{d.Min, d.P25, d.P50, d.P75, d.P90, d.P95, d.P99, d.P999, d.Max}
			ordered = slices.DeleteFunc(ordered, func(v *float64) bool { return v == nil })
			if !slices.IsSortedFunc(ordered, func(a, b *float64) int { return int(max(-1, min(1, (*a-*b)*1e6))) }) {
				t.Errorf("%s: percentiles are out of order: %+v", name, d)
			}
		}
	})
}

// distributionsOf are the latencies that were observed.
func distributionsOf(l *Latency) map[string]*Distribution {
	all := map[string]*Distribution{"queue delay": l.QueueDelay, "client lag": l.ClientLag}
	for name, c := range map[string]*Clocks{"TTFT": l.TTFT, "TTFO": l.TTFO, "TPOT": l.TPOT, "ITL": l.ITL, "E2E": l.E2E} {
		if c != nil {
			all[name+" from send"], all[name+" from the intended start"] = c.Send, c.Intended
		}
	}
	if l.ChunkGap != nil {
		all["chunk gap"] = l.ChunkGap.Send
	}
	maps.DeleteFunc(all, func(_ string, d *Distribution) bool { return d == nil })
	return all
}
