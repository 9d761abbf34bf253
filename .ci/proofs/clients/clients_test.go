package main

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/umascope/umascope/loadgen/sim"
)

// The test binary stands in for the program, which starts itself as server and client.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && slices.Contains([]string{"serve", "read", "attack"}, os.Args[1]) {
		if err := run(context.Background(), os.Args[1:]); err != nil {
			io.WriteString(os.Stderr, err.Error())
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func labForTest(t *testing.T) *lab {
	t.Helper()
	free := httptest.NewServer(nil)
	defer free.Close() // its port is free from here on
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return &lab{self: self, address: strings.TrimPrefix(free.URL, "http://"), out: t.TempDir(), repeats: 1, streams: 4, window: 50 * time.Millisecond}
}

func TestAClientIsHeldAgainstWhatTheServerKnows(t *testing.T) {
	l := labForTest(t)
	s := serving{first: 20 * time.Millisecond, gap: 10 * time.Millisecond, tokens: 40}
	w := load{arrival: "constant", rate: 100, streams: 2, requests: 60, ramp: 10, tokens: s.tokens}
	o, err := l.measure(t.Context(), "test", 0, bare(), s, w)
	if err != nil {
		t.Fatal(err)
	}
	ttft, gaps := errorsOf(o)
	if len(ttft) != 50 || len(gaps) != 50*39 {
		t.Errorf("%d first tokens and %d gaps of 50 streams", len(ttft), len(gaps))
	}
	if !o.usage.ok || o.usage.cpu <= 0 || o.usage.events == 0 || o.usage.bytes < 1<<20 {
		t.Errorf("usage %+v", o.usage)
	}
	for i, r := range o.reported {
		if r.TTFTMS < o.truth[i].ttft() {
			t.Errorf("stream %s: its first token came %v ms before it was written", r.ID, o.truth[i].ttft()-r.TTFTMS)
		}
	}
	for name, text := range map[string]string{"cost": costTable([]outcome{o}), "accuracy": accuracyTable([]outcome{o}), "truth": truthTable(20, []outcome{o})} {
		if !strings.Contains(text, "| bare reader | ") || strings.Contains(text, "NaN") {
			t.Errorf("%s:\n%s", name, text)
		}
	}
}

func TestVegetaIsMeasuredToo(t *testing.T) {
	l := labForTest(t)
	w := load{arrival: "constant", rate: 200, streams: 10, requests: 40, tokens: instant().tokens}
	o, err := l.measure(t.Context(), "test", 0, plainVegeta(), instant(), w)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(o.reported); n < 1 || n > 45 {
		t.Errorf("%d requests", n)
	}
	if slices.Min(lags(o)) != 0 || slices.Min(late(o)) != 0 || slices.Min(totals(o)) <= 0 {
		t.Errorf("least lag %v, lateness %v, time %v", slices.Min(lags(o)), slices.Min(late(o)), slices.Min(totals(o)))
	}
	if text := openTable([]outcome{o}); !strings.Contains(text, "| vegeta | ") {
		t.Error(text)
	}
}

func TestAClientThatFailsIsAnError(t *testing.T) {
	l := labForTest(t)
	failing := client{
		name:    "failing",
		command: func(*lab, string, string, load) ([]string, error) { return []string{"false"}, nil },
		report:  readStreams,
	}
	if _, err := l.measure(t.Context(), "test", 0, failing, instant(), load{}); err == nil {
		t.Error("no error")
	}
}

func ask(t *testing.T, s *server, body string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
	return w
}

func TestTheServerKeepsTheStampsThatItSends(t *testing.T) {
	s := newServer(sim.Paced{Tokens: 3}, true)
	w := ask(t, s, `{"stream":true,"max_tokens":2}`)
	if len(s.all) != 1 || len(s.all[0].WrittenNS) != 2 || s.all[0].ID != w.Header().Get(idHeader) {
		t.Fatalf("kept %+v, header %v", s.all, w.Header())
	}
	var sent []int64
	for line := range strings.Lines(w.Body.String()) {
		var event map[string]json.RawMessage
		if json.Unmarshal([]byte(strings.TrimPrefix(line, "data: ")), &event) == nil && event[sim.StampField] != nil {
			var at int64
			if err := json.Unmarshal(event[sim.StampField], &at); err != nil {
				t.Fatal(err)
			}
			sent = append(sent, at)
		}
	}
	if !slices.Equal(sent, s.all[0].WrittenNS) {
		t.Errorf("sent %v, kept %v", sent, s.all[0].WrittenNS)
	}
	if w.Header().Get("Connection") != "close" || strings.Contains(w.Body.String(), "usage") {
		t.Errorf("header %v, body %s", w.Header(), w.Body)
	}
}

func TestTheServerAnswersProbesInOnePiece(t *testing.T) {
	s := newServer(sim.Paced{Tokens: 3}, false)
	w := ask(t, s, `{"max_tokens":7}`)
	var answer struct {
		Usage struct {
			Completion int `json:"completion_tokens"`
		} `json:"usage"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &answer); err != nil || answer.Usage.Completion != 7 || len(s.all) != 0 {
		t.Errorf("%s, kept %v, %v", w.Body, s.all, err)
	}
	if w := ask(t, s, "{"); w.Code != http.StatusBadRequest {
		t.Errorf("half a request: status %d", w.Code)
	}
}

func TestAnEventArrivesWithTheReadThatBringsItsEnd(t *testing.T) {
	event := "data: {\"content\":\"a\"}\n\n"
	one := taken{id: "a", due: 0, sent: 1e6, bytes: []byte(event + event + event + "data: {\"content\":\"\"}\n\ndata: [DONE]\n\n")}
	// The first read ends within the second event, the second brings two ends.
	one.reads = []int64{11e6, 31e6, 41e6}
	one.ends = []int{len(event) + 3, 3 * len(event), len(one.bytes)}
	got := one.stream()
	if got.ID != "a" || got.LagMS != 1 || got.TTFTMS != 10 || !slices.Equal(got.GapsMS, []float64{20, 0}) || got.TotalMS != 40 {
		t.Errorf("%+v", got)
	}
}

// Wherever reads end, there are as many events, and none arrives before the one in front of it.
func FuzzReads(f *testing.F) {
	f.Add([]byte("data: {\"content\":\"1\"}\n\ndata: {\"content\":\"2\"}\n\ndata: [DONE]\n\n"), uint8(5))
	f.Add([]byte("data: {\"content\":\"1\"}"), uint8(1))
	f.Fuzz(func(t *testing.T, text []byte, size uint8) {
		one := taken{bytes: text}
		for end := 0; end < len(text); {
			end = min(end+int(size)+1, len(text))
			one.reads, one.ends = append(one.reads, int64(end)+1), append(one.ends, end)
		}
		if len(text) == 0 {
			return
		}
		got := one.stream()
		for _, gap := range got.GapsMS {
			if gap < 0 {
				t.Fatalf("gaps %v", got.GapsMS)
			}
		}
		whole := taken{bytes: text, reads: []int64{1}, ends: []int{len(text)}}
		if n := len(whole.stream().GapsMS); n != len(got.GapsMS) {
			t.Fatalf("%d gaps, in one read %d", len(got.GapsMS), n)
		}
	})
}

func TestStreamsArePairedByIDOrTakenFromTheEnd(t *testing.T) {
	truth := []served{{ID: "probe"}, {ID: "1"}, {ID: "2"}}
	ids := func(all []served, err error) string {
		if err != nil {
			return err.Error()
		}
		var names []string
		for _, s := range all {
			names = append(names, s.ID)
		}
		return strings.Join(names, " ")
	}
	if got := ids(pair([]stream{{ID: "2"}, {ID: "1"}}, truth)); got != "2 1" {
		t.Error(got)
	}
	if got := ids(pair([]stream{{}, {}}, truth)); got != "1 2" {
		t.Error(got)
	}
	for _, wrong := range [][]stream{nil, {{ID: "3"}}, {{}, {}, {}, {}}} {
		if _, err := pair(wrong, truth); err == nil {
			t.Errorf("%v was paired", wrong)
		}
	}
}

func TestTheRampIsLeftOutByWhenRequestsCame(t *testing.T) {
	left, truth := afterRamp([]stream{{ID: "c"}, {ID: "a"}, {ID: "b"}}, []served{{AcceptedNS: 3}, {AcceptedNS: 1}, {AcceptedNS: 2}}, 1)
	if len(left) != 2 || left[0].ID != "b" || left[1].ID != "c" || truth[0].AcceptedNS != 2 {
		t.Errorf("%v, %v", left, truth)
	}
	if left, _ := afterRamp([]stream{{}}, []served{{}}, 5); len(left) != 0 {
		t.Errorf("%v", left)
	}
}

func TestQuantilesAreOfTypeSeven(t *testing.T) {
	values := []float64{10, 9, 8, 7, 6, 5, 4, 3, 2, 1}
	for p, want := range map[float64]float64{0: 1, 0.5: 5.5, 0.9: 9.1, 0.99: 9.91, 1: 10} {
		if got := quantile(values, p); math.Abs(got-want) > 1e-12 {
			t.Errorf("p%v is %v, want %v", 100*p, got, want)
		}
	}
	if !math.IsNaN(quantile(nil, 0.5)) {
		t.Error("nothing has a median")
	}
}

func TestReportsOfClientsAreRead(t *testing.T) {
	for name, c := range map[string]struct {
		client client
		path   string
		text   string
		want   stream
	}{
		"uma-load": {umaLoad("uma-load"), "run/requests.jsonl", `{"phase":"warmup","status":"ok"}
{"phase":"measure","status":"ok","server_request_id":"7","eligible_ns":900000,"dispatch_ns":1000000,"first_token_ns":101000000,"arrivals_ns":[101000000,50000000]}`,
			stream{ID: "7", TTFTMS: 100, GapsMS: []float64{50}, TotalMS: 150, LagMS: 0.1}},
		"AIPerf": {aiperf(), "profile_export.jsonl", `{"metadata":{"x_request_id":"w","benchmark_phase":"warmup"},"metrics":{}}
{"metadata":{"x_request_id":"u","benchmark_phase":"profiling"},"metrics":{"time_to_first_token":{"value":101.5,"unit":"ms"},"inter_chunk_latency":{"value":[49,51],"unit":"ms"}}}`,
			stream{ID: "u", TTFTMS: 101.5, GapsMS: []float64{49, 51}}},
		"GuideLLM": {guidellm(), "report.json", `{"benchmarks":[{"requests":{"successful":[{"time_to_first_token_ms":102.5,"inter_token_latency_ms":50.5}],"errored":[]}}]}`,
			stream{TTFTMS: 102.5, GapMS: 50.5}},
		"vllm bench serve": {vllmServe(), "result.json", `{"ttfts":[0.125],"itls":[[0.0625,0.03125]]}`,
			stream{TTFTMS: 125, GapsMS: []float64{62.5, 31.25}}},
		"vLLM multi-turn": {vllmMultiTurn(), "stats.json", `[{"ttft_ms":110.5,"tpot_ms":49.5,"client_id":0}]`,
			stream{TTFTMS: 110.5, GapMS: 49.5}},
	} {
		t.Run(name, func(t *testing.T) {
			folder := t.TempDir()
			path := filepath.Join(folder, c.path)
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if _, err := c.client.report(folder); err == nil {
				t.Error("a report that is not there was read")
			}
			if err := os.WriteFile(path, []byte(c.text), 0o644); err != nil {
				t.Fatal(err)
			}
			got, err := c.client.report(folder)
			if err != nil || len(got) != 1 || got[0].ID != c.want.ID || got[0].TTFTMS != c.want.TTFTMS || !slices.Equal(got[0].GapsMS, c.want.GapsMS) ||
				got[0].GapMS != c.want.GapMS || got[0].TotalMS != c.want.TotalMS || got[0].LagMS != c.want.LagMS {
				t.Errorf("got %+v, %v, want %+v", got, err, c.want)
			}
			if err := os.WriteFile(path, []byte(c.text[:len(c.text)-3]), 0o644); err != nil {
				t.Fatal(err)
			}
			if _, err := c.client.report(folder); err == nil {
				t.Error("a report that was cut was read")
			}
		})
	}
}

func TestCommandsSayWhatIsToBeSent(t *testing.T) {
	l := &lab{python: "python", umaLoad: "uma-load", tokenizer: "words", window: time.Second}
	for _, arrival := range []string{"constant", "closed"} {
		w := load{arrival: arrival, rate: 12.5, streams: 77, requests: 33, tokens: 55}
		for _, c := range []client{umaLoad("uma-load"), aiperf(), guidellm(), vllmServe(), vllmMultiTurn()} {
			command, err := c.command(l, "http://server", t.TempDir(), w)
			text := strings.Join(command, " ")
			pace := "12.5"
			if arrival == "closed" || c.name == multiTurnName {
				pace = "77"
			}
			if err != nil || !strings.Contains(text, "http://server") || !strings.Contains(text, pace) || !strings.Contains(text, "55") {
				t.Errorf("%s, %s: %s, %v", c.name, arrival, text, err)
			}
		}
	}
}

func TestVegetasLagIsFromTheRequestThatWasLeastLate(t *testing.T) {
	at := time.Unix(1000, 0)
	all := []*vegeta.Result{{Seq: 1, Timestamp: at.Add(14 * time.Millisecond)}, {Seq: 0, Timestamp: at.Add(5 * time.Millisecond)}}
	begun := beginning(all, 100)
	if got := reportedByVegeta(all[0], begun, 100).LagMS; got != 0 {
		t.Errorf("the second is %v ms late", got)
	}
	if got := reportedByVegeta(all[1], begun, 100).LagMS; got != 1 {
		t.Errorf("the first is %v ms late", got)
	}
}

func TestSamplerShareIsOfTheRun(t *testing.T) {
	folder := t.TempDir()
	path := filepath.Join(folder, runName, "manifest.json")
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"started_at":"2026-11-21T02:00:00Z","ended_at":"2026-11-21T02:00:50Z"`
	if err := os.WriteFile(path, []byte(text+`,"telemetry":{"cpu_seconds":0.1}}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if got, err := samplerShare(folder); err != nil || got != 0.002 {
		t.Errorf("%v, %v", got, err)
	}
	if err := os.WriteFile(path, []byte(text+"}"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := samplerShare(folder); err == nil {
		t.Error("a run without telemetry has a sampler")
	}
}

func TestArgumentsThatAreWrongAreRefused(t *testing.T) {
	for _, args := range [][]string{{}, {"nothing"}, {"-streams", "x", "open"}} {
		if _, _, err := parse(append([]string{"-out", t.TempDir()}, args...)); err == nil {
			t.Errorf("%q was accepted", args)
		}
	}
	l, names, err := parse([]string{"-out", t.TempDir(), "open", "burst"})
	if err != nil || !slices.Equal(names, []string{"open", "burst"}) || l.streams != 1000 {
		t.Errorf("%+v, %v, %v", l, names, err)
	}
}
