package sim

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
)

// instant takes no time for anything.
func instant() Config {
	c := paced()
	c.PrefillTokensPerSecond, c.DecodeBase, c.DecodePerSequence = 1e12, 0, 0
	return c
}

// serve runs an engine behind a real server on loopback.
func serve(t *testing.T, c Config) (*Engine, *httptest.Server) {
	t.Helper()
	e := start(t, c)
	server := httptest.NewServer(e.Handler())
	t.Cleanup(server.Close)
	return e, server
}

func do(t *testing.T, method, url, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text)
}

func TestEveryResponseIsMarkedAsSimulated(t *testing.T) {
	_, server := serve(t, instant())
	for _, path := range []string{"/v1/models", "/health", "/metrics", "/nothing", "/v1/completions"} {
		if response, _ := do(t, http.MethodGet, server.URL+path, ""); response.Header.Get("X-Simulated") != "umascope" {
			t.Errorf("%s: header %v", path, response.Header)
		}
	}
	_, models := do(t, http.MethodGet, server.URL+"/v1/models", "")
	if !strings.Contains(models, `"owned_by":"vllm-simulated"`) {
		t.Errorf("models: %s", models)
	}
	_, answer := do(t, http.MethodPost, server.URL+path, `{"model":"simulated-8b","prompt":"a"}`)
	if !strings.Contains(answer, `"system_fingerprint":"simulated-1"`) {
		t.Errorf("answer: %s", answer)
	}
}

func TestErrorsAreObjectsWithTheRightStatus(t *testing.T) {
	_, server := serve(t, instant())
	for name, row := range map[string]struct {
		method, path, body string
		status             int
	}{
		"unknown path":    {http.MethodGet, "/v2", "", http.StatusNotFound},
		"wrong method":    {http.MethodGet, "/v1/chat/completions", "", http.StatusMethodNotAllowed},
		"post to models":  {http.MethodPost, "/v1/models", "", http.StatusMethodNotAllowed},
		"malformed JSON":  {http.MethodPost, "/v1/chat/completions", "{", http.StatusBadRequest},
		"unknown model":   {http.MethodPost, "/v1/completions", `{"model":"gpt","prompt":"a"}`, http.StatusNotFound},
		"body over bound": {http.MethodPost, "/v1/completions", strings.Repeat(" ", maxBodyBytes+1), http.StatusRequestEntityTooLarge},
	} {
		response, text := do(t, row.method, server.URL+row.path, row.body)
		var got struct{ Error problem }
		if err := json.Unmarshal([]byte(text), &got); err != nil || got.Error.Message == "" || got.Error.Type == "" {
			t.Errorf("%s: no error object: %q", name, text)
		}
		if response.StatusCode != row.status || response.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: status %d, %s", name, response.StatusCode, response.Header.Get("Content-Type"))
		}
		if row.status == http.StatusMethodNotAllowed && response.Header.Get("Allow") == "" {
			t.Errorf("%s: has no Allow header", name)
		}
	}
}

func TestHealthAndModelsFollowTheEngine(t *testing.T) {
	e, err := New(instant())
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(e.Handler())
	defer server.Close()
	for _, path := range []string{"/health", "/v1/models"} {
		if response, _ := do(t, http.MethodGet, server.URL+path, ""); response.StatusCode != http.StatusServiceUnavailable {
			t.Errorf("%s before Run: status %d", path, response.StatusCode)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error)
	go func() { ended <- e.Run(ctx) }()
	for !serving(e) {
		time.Sleep(time.Millisecond)
	}
	for _, path := range []string{"/health", "/v1/models"} {
		if response, _ := do(t, http.MethodGet, server.URL+path, ""); response.StatusCode != http.StatusOK {
			t.Errorf("%s during Run: status %d", path, response.StatusCode)
		}
	}
	cancel()
	<-ended
	if response, _ := do(t, http.MethodGet, server.URL+"/health", ""); response.StatusCode != http.StatusServiceUnavailable {
		t.Errorf("after Run: status %d", response.StatusCode)
	}
}

// events are the events of a stream, decoded; the last one must be [DONE].
func events(t *testing.T, body string) []response {
	t.Helper()
	var all []response
	data := strings.Split(strings.TrimSuffix(body, "\n\n"), "\n\n")
	for i, event := range data {
		text, ok := strings.CutPrefix(event, "data: ")
		if !ok || (text == "[DONE]") != (i == len(data)-1) {
			t.Fatalf("event %d of %d is %q", i, len(data), event)
		}
		var r response
		if text != "[DONE]" {
			if err := json.Unmarshal([]byte(text), &r); err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
	}
	return all
}

const chatStream = `{"model":"simulated-8b","messages":[{"role":"user","content":"hello world"}],"max_tokens":10,"ignore_eos":true,"stream":true,"stream_options":{"include_usage":true`

func TestAChatStreamIsRoleTokensFinishAndUsage(t *testing.T) {
	_, server := serve(t, instant())
	response, text := do(t, http.MethodPost, server.URL+"/v1/chat/completions", chatStream+`}}`)
	if got := response.Header.Get("Content-Type"); got != "text/event-stream; charset=utf-8" {
		t.Errorf("content type %q", got)
	}
	all := events(t, text)
	if len(all) != 12 { // role, ten tokens, usage
		t.Fatalf("%d events: %s", len(all), text)
	}
	if role := all[0].Choices[0]; role.Delta.Role != "assistant" || role.Delta.Content != "" || role.FinishReason != nil {
		t.Errorf("first event: %+v", role)
	}
	for i, e := range all[1:11] {
		if c := e.Choices[0]; c.Delta.Content == "" || (c.FinishReason != nil) != (i == 9) || e.Object != "chat.completion.chunk" || e.Usage != nil {
			t.Errorf("token %d: %+v", i, e)
		}
	}
	if reason := *all[10].Choices[0].FinishReason; reason != finishLength {
		t.Errorf("finish reason %q", reason)
	}
	// 5 of the chat, 4 of the message, its role, two words.
	want := usage{PromptTokens: 12, CompletionTokens: 10, TotalTokens: 22, PromptTokensDetails: &promptDetails{}}
	if last := all[11]; len(last.Choices) != 0 || !reflect.DeepEqual(*last.Usage, want) {
		t.Errorf("usage event: %+v", last)
	}
	if !strings.Contains(text, `"choices":[],"usage"`) || !strings.Contains(text, `"prompt_tokens_details":{"cached_tokens":0}`) {
		t.Errorf("not what clients read: %s", text)
	}
}

func TestUsageIsInNoEventUnlessAskedForAndInEveryOneIfSo(t *testing.T) {
	_, server := serve(t, instant())
	body := func(options string) string {
		return `{"model":"simulated-8b","prompt":"hello","max_tokens":3,"ignore_eos":true,"stream":true,"stream_options":{` + options + `}}`
	}
	_, text := do(t, http.MethodPost, server.URL+path, body(""))
	if strings.Contains(text, `"usage"`) || len(events(t, text)) != 3 {
		t.Errorf("not asked for: %s", text)
	}
	_, text = do(t, http.MethodPost, server.URL+path, body(`"include_usage":true,"continuous_usage_stats":true`))
	var counts []int
	for _, e := range events(t, text) {
		counts = append(counts, e.Usage.CompletionTokens)
	}
	if !slices.Equal(counts, []int{1, 2, 3, 3}) {
		t.Errorf("tokens so far %v", counts)
	}
}

func TestAConnectionThatBreaksFreesItsPlace(t *testing.T) {
	c := instant()
	c.DecodeBase, c.MaxModelTokens = time.Millisecond, 30000
	e, server := serve(t, c)
	ctx, leave := context.WithCancel(t.Context())
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, server.URL+path, strings.NewReader(tenTokens("29000")))
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if _, err := bufio.NewReader(response.Body).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	leave()
	for use := (Use{Running: 1}); use.Running+use.KVTokens > 0; use, _ = e.use(time.Now()) {
		time.Sleep(time.Millisecond) // the test's own deadline ends this if the place is never freed
	}
}
