package server

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
)

// reading is a server that may take token ids, and adds to those that it counts.
type reading struct {
	tokenizer    bool
	perLetter    bool // its tokenizer knows no words
	takes        bool
	counts       bool
	wholeCounts  bool // only in answers without stream
	added        int
	lastPromptID []uint32
}

func (s *reading) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body struct {
		Prompt json.RawMessage
		Stream bool
	}
	_ = json.NewDecoder(r.Body).Decode(&body)
	var word string
	isText := json.Unmarshal(body.Prompt, &word) == nil
	switch {
	case r.URL.Path == "/tokenize" && s.tokenizer && s.perLetter:
		fmt.Fprint(w, `{"count":2,"tokens":[1,2]}`)
	case r.URL.Path == "/tokenize" && s.tokenizer:
		fmt.Fprintf(w, `{"count":1,"tokens":[%d]}`, 100_000+len(word)*1000+int(word[len(word)-1])*7+int(word[1]))
	case r.URL.Path == "/v1/completions" && (isText || !s.takes):
		http.Error(w, `{"error":{"message":"prompt: a text is wanted"}}`, http.StatusBadRequest)
	case r.URL.Path == "/v1/completions":
		_ = json.Unmarshal(body.Prompt, &s.lastPromptID)
		usage := ""
		if s.counts && (!s.wholeCounts || !body.Stream) {
			usage = fmt.Sprintf(`,"usage":{"prompt_tokens":%d,"completion_tokens":1}`, len(s.lastPromptID)+s.added)
		}
		fmt.Fprintf(w, `{"choices":[{"text":"x","finish_reason":"length"}]%s}`, usage)
	default:
		http.NotFound(w, r)
	}
}

func idsFrom(t *testing.T, s *reading) (traffic.TokenIDs, error) {
	t.Helper()
	upstream := httptest.NewServer(s)
	defer upstream.Close()
	client, err := openai.New(openai.Options{BaseURL: upstream.URL, Connections: 1, RequestTimeout: time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	return Calibration{
		Target: Target{Known: supported.Engines(), URL: upstream.URL, Endpoint: openai.Completions}, Served: Served{Model: Model{ID: "m"}, Engine: "vllm"}, Client: client, Stream: true,
	}.IDs(t.Context())
}

func TestIDsAreThoseOfTheTokenizerOrOfTheRangeThatAllHave(t *testing.T) {
	for name, c := range map[string]struct {
		server reading
		listed bool
	}{
		"a tokenizer":                  {reading{tokenizer: true, takes: true, counts: true}, true},
		"none":                         {reading{takes: true, counts: true}, false},
		"one that knows no words":      {reading{tokenizer: true, perLetter: true, takes: true, counts: true}, false},
		"counts in whole answers only": {reading{takes: true, counts: true, wholeCounts: true}, false},
	} {
		ids, err := idsFrom(t, &c.server)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if (len(ids.Listed) > 0) != c.listed || (ids.Last > ids.First) == c.listed {
			t.Errorf("%s: %v", name, ids)
		}
		if len(c.server.lastPromptID) != probeIDs {
			t.Errorf("%s: a probe of %d ids", name, len(c.server.lastPromptID))
		}
	}
}

func TestServersWhoseCountIsAnotherAreRefusedInWords(t *testing.T) {
	for says, s := range map[string]reading{
		"takes no token ids: a probe failed: HTTP 400: prompt: a text is wanted": {},
		"counts 65 tokens in a prompt of 64 token ids":                           {takes: true, counts: true, added: 1},
		"does not count prompt tokens":                                           {takes: true},
	} {
		if _, err := idsFrom(t, &s); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%v, want %q", err, says)
		}
	}
}

func FuzzSingleID(f *testing.F) {
	for _, text := range []string{`{"count":1,"tokens":[2201]}`, `{"tokens":[1,2]}`, `{"tokens":[-1]}`, `{"tokens":[{"id":1}]}`, `{`, `{"tokens":[4294967296]}`} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		id, single := singleID(text)
		if n, err := tokensOf("/tokenize", text); single && err == nil && n != 1 && !strings.Contains(strings.ToLower(string(text)), "count") {
			t.Errorf("id %d of %d tokens", id, n)
		}
		if !single && id != 0 {
			t.Errorf("id %d of no single token", id)
		}
	})
}
