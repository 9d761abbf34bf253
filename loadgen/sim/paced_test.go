package sim

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestAPacedStreamKeepsToItsSchedule(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Paced{FirstToken: 30 * time.Millisecond, Gap: 50 * time.Millisecond, Tokens: 4}
		got := &client{header: http.Header{}, began: time.Now()}
		p.ServeHTTP(got, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader("{}")))
		if len(got.events) != 6 || got.events[5].data != "[DONE]" {
			t.Fatalf("%s", got.body.String())
		}
		for i, e := range got.events[:4] {
			var chunk map[string]any
			decoder := json.NewDecoder(strings.NewReader(e.data))
			decoder.UseNumber()
			if err := decoder.Decode(&chunk); err != nil {
				t.Fatal(err)
			}
			stamp, err := chunk[StampField].(json.Number).Int64()
			if want := 30*time.Millisecond + time.Duration(i)*50*time.Millisecond; err != nil || e.at != want || stamp != got.began.Add(want).UnixNano() {
				t.Errorf("event %d after %v, stamped %d, %v", i, e.at, stamp, err)
			}
		}
		var end response
		if err := json.Unmarshal([]byte(got.events[4].data), &end); err != nil || end.Usage.CompletionTokens != 4 {
			t.Errorf("the end: %s, %v", got.events[4].data, err)
		}
		if got.header.Get(simulatedHeader) == "" {
			t.Error("it hides what it is")
		}
	})
}

func TestRoleAndEndOfAPacedStreamHaveTimesOfTheirOwn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := Paced{Role: 10 * time.Millisecond, FirstToken: 30 * time.Millisecond, Gap: 50 * time.Millisecond, Tokens: 2, End: 20 * time.Millisecond}
		got := &client{header: http.Header{}, began: time.Now()}
		p.ServeHTTP(got, httptest.NewRequest(http.MethodPost, "/v1/chat/completions", strings.NewReader("{}")))
		var at []time.Duration
		for _, e := range got.events {
			at = append(at, e.at/time.Millisecond)
		}
		if want := []time.Duration{10, 30, 80, 100, 100}; !slices.Equal(at, want) {
			t.Errorf("events after %d ms, want %d", at, want)
		}
		if !strings.Contains(got.events[0].data, `"role"`) || strings.Contains(got.events[0].data, StampField) {
			t.Errorf("the first is %s", got.events[0].data)
		}
	})
}

func TestAnInstantServerWritesOnce(t *testing.T) {
	w := httptest.NewRecorder()
	Paced{Tokens: 3}.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if got := strings.Count(w.Body.String(), StampField); got != 3 || !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n") {
		t.Errorf("%s", w.Body.String())
	}
	w = httptest.NewRecorder()
	Paced{Tokens: 3, NoUsage: true}.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	if body := w.Body.String(); strings.Contains(body, "usage") || !strings.HasSuffix(body, "data: [DONE]\n\n") {
		t.Errorf("without usage: %s", body)
	}
	w = httptest.NewRecorder()
	Paced{Tokens: 3}.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("GET: status %d", w.Code)
	}
	if (Paced{Tokens: 1}).Check() != nil || (Paced{}).Check() == nil || (Paced{Tokens: 1, Gap: -1}).Check() == nil {
		t.Error("invalid figures are accepted")
	}
}
