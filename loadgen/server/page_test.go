package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
)

// The page of TensorRT-LLM at /metrics gives what it has to one reader only: it is never the one that is followed.
func TestThePageOfAServerIsTheOneThatShowsItsEngine(t *testing.T) {
	for name, c := range map[string]struct {
		owner string
		texts map[string]string
		page  string
	}{
		"vLLM":                          {"vllm", map[string]string{"/metrics": "vllm:prompt_tokens_total 1\n"}, "/metrics"},
		"SGLang":                        {"sglang", map[string]string{"/metrics": "sglang:prompt_tokens_total 1\n"}, "/metrics"},
		"Dynamo":                        {"nvidia", map[string]string{"/metrics": "dynamo_frontend_requests_total 1\n"}, "/metrics"},
		"llama.cpp":                     {"llamacpp", map[string]string{"/metrics": "llamacpp:prompt_tokens_total 1\n"}, "/metrics"},
		"TensorRT-LLM":                  {"tensorrt_llm", map[string]string{"/metrics": "[]", "/prometheus/metrics": "trtllm_prompt_tokens_total 1\n"}, "/prometheus/metrics"},
		"TensorRT-LLM without its page": {"tensorrt_llm", map[string]string{"/metrics": "trtllm_prompt_tokens_total 1\n"}, ""},
		"a gateway":                     {"me", map[string]string{"/metrics": "smg_requests_total 1\n"}, ""},
		"none":                          {"me", nil, ""},
	} {
		api := pathServer(t, c.texts)
		if got := api.detect(t.Context(), Model{ID: "m", OwnedBy: c.owner}).page; got != c.page {
			t.Errorf("%s: page %q, want %q", name, got, c.page)
		}
	}
	if got := (Target{Known: supported.Engines(), URL: "http://h", Engine: "trtllm"}).PlannedPage(); got != "http://h/prometheus/metrics" {
		t.Error(got)
	}
}

func TestThePageIsReadWithTheHeaderOfTheRequests(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "k")
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, r.Header.Get("Authorization")+" "+r.Header.Get("X-Tenant"))
	}))
	t.Cleanup(server.Close)
	client, err := Target{Known: supported.Engines(), URL: server.URL, Headers: []Header{{"X-Tenant", "a"}}}.PageClient()
	if err != nil {
		t.Fatal(err)
	}
	defer client.CloseIdleConnections()
	answer, err := client.Get(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, _ := io.ReadAll(answer.Body); string(text) != "Bearer k a" {
		t.Errorf("%q", text)
	}
}
