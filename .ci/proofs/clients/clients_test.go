package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/loadgen/sim"
)

func ask(s *server, body string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	s.handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader(body)))
	return w
}

func TestTheServerKeepsTheStampsThatItSends(t *testing.T) {
	s := newServer(0, 0, 3)
	w := ask(s, `{"stream":true,"max_tokens":2}`)
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
	if !slices.Equal(sent, s.all[0].WrittenNS) || strings.Contains(w.Body.String(), "usage") {
		t.Errorf("sent %v, kept %v: %s", sent, s.all[0].WrittenNS, w.Body)
	}
	if w := ask(s, `{"max_tokens":7}`); !strings.Contains(w.Body.String(), `"completion_tokens":7`) || len(s.all) != 1 {
		t.Errorf("a probe: %s, kept %v", w.Body, s.all)
	}
	if w := ask(s, "{"); w.Code != http.StatusBadRequest {
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
	if got.ID != "a" || got.LagMS != 1 || got.TTFTMS != 10 || !slices.Equal(got.GapsMS, []float64{20, 0}) {
		t.Errorf("%+v", got)
	}
}

// FuzzReads: wherever reads end, there are as many events, and none arrives before the one in front of it.
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
		if len(got.GapsMS) > 0 && slices.Min(got.GapsMS) < 0 {
			t.Fatalf("gaps %v", got.GapsMS)
		}
		whole := taken{bytes: text, reads: []int64{1}, ends: []int{len(text)}}
		if n := len(whole.stream().GapsMS); n != len(got.GapsMS) {
			t.Fatalf("%d gaps, in one read %d", len(got.GapsMS), n)
		}
	})
}

func TestTheReaderSeesWhatTheServerWrote(t *testing.T) {
	s := newServer(20*time.Millisecond, 10*time.Millisecond, 4)
	address := httptest.NewServer(s.handler())
	defer address.Close()
	r := newReader(address.URL, 4, 3)
	r.sendAll(3, time.Millisecond)
	var out strings.Builder
	if err := r.write(&out); err != nil || len(s.all) != 3 || strings.Count(out.String(), "\n") != 3 {
		t.Fatalf("%d streams served, %v: %s", len(s.all), err, out.String())
	}
	for line := range strings.Lines(out.String()) {
		var one stream
		if err := json.Unmarshal([]byte(line), &one); err != nil || len(one.GapsMS) != 3 {
			t.Errorf("%s: %v", line, err)
		}
		i := slices.IndexFunc(s.all, func(truth served) bool { return truth.ID == one.ID })
		if i < 0 || one.TTFTMS < milliseconds(s.all[i].WrittenNS[0]-s.all[i].AcceptedNS) {
			t.Errorf("%s: the first token came before it was written: %+v", line, s.all)
		}
	}
}
