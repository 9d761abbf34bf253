package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
)

// calibrationOf is the calibration of a server that answers by a handler.
func calibrationOf(t *testing.T, handle http.HandlerFunc) Calibration {
	t.Helper()
	server := httptest.NewServer(handle)
	t.Cleanup(server.Close)
	return Calibration{Target: Target{Known: supported.Engines(), URL: server.URL, Endpoint: openai.Chat}, Served: Served{Model: Model{ID: "m"}}, Stream: true}
}

func TestATokenizerIsFoundByEitherRoute(t *testing.T) {
	for path, field := range map[string]string{"/tokenize": "prompt", "/extras/tokenize/count": "input"} {
		c := calibrationOf(t, func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path != path {
				http.NotFound(w, r)
				return
			}
			var asked map[string]any
			if err := json.NewDecoder(r.Body).Decode(&asked); err != nil {
				t.Error(err)
			}
			// One token before every text, as a tokenizer with a token for the beginning has, and one for each word.
			fmt.Fprintf(w, `{"count":%d}`, 1+len(strings.Fields(asked[field].(string))))
		})
		tokenizer, err := c.Tokenizer(t.Context())
		if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		defer tokenizer.Close()
		for text, want := range map[string]int{"": 0, "one": 1, "one two three": 3} {
			if n, err := tokenizer.Count(t.Context(), text); err != nil || n != want {
				t.Errorf("%s: %q has %d tokens, want %d (%v)", path, text, n, want, err)
			}
		}
	}
}

func TestAServerWithoutATokenizerIsNamedWithItsRoutes(t *testing.T) {
	c := calibrationOf(t, func(w http.ResponseWriter, r *http.Request) { http.NotFound(w, r) })
	if _, err := c.Tokenizer(t.Context()); err == nil || !strings.Contains(err.Error(), "POST /tokenize answered 404") || !strings.Contains(err.Error(), "POST /extras/tokenize/count answered 404") {
		t.Errorf("%v", err)
	}
}

func TestTheLatencyIsTheMeanOfThreeProbes(t *testing.T) {
	asked := map[string]int{}
	c := calibrationOf(t, func(w http.ResponseWriter, r *http.Request) {
		asked[r.URL.Path]++
		if r.URL.Path == "/v1/models" {
			fmt.Fprint(w, `{"data":[]}`)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\ndata: [DONE]\n\n")
	})
	if latency, err := c.ListLatency(t.Context()); err != nil || latency <= 0 || asked["/v1/models"] != 3 {
		t.Errorf("%s, %v, asked %v", latency, err, asked)
	}
	if latency, err := c.TokenLatency(t.Context()); err != nil || latency <= 0 || asked["/v1/chat/completions"] != 3 {
		t.Errorf("%s, %v, asked %v", latency, err, asked)
	}
	gone := calibrationOf(t, func(w http.ResponseWriter, r *http.Request) { http.Error(w, "no", http.StatusForbidden) })
	if _, err := gone.ListLatency(t.Context()); err == nil || !strings.Contains(err.Error(), "answered 403") {
		t.Errorf("%v", err)
	}
	if _, err := gone.TokenLatency(t.Context()); err == nil {
		t.Error("a refusal has a latency")
	}
}
