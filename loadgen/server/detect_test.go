package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
)

// pathServer answers with the text of each path, and with 404 elsewhere.
func pathServer(t *testing.T, texts map[string]string) *api { return pathServerOf(t, "", texts) }

// pathServerOf is pathServer for a client with a key.
func pathServerOf(t *testing.T, key string, texts map[string]string) *api {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, known := texts[r.URL.Path]
		if !known {
			http.NotFound(w, r)
			return
		}
		if status, body, refused := strings.Cut(text, "|"); refused && status == "400" {
			w.WriteHeader(http.StatusBadRequest)
			text = body
		}
		if name, isHeader := strings.CutPrefix(text, "Server: "); isHeader {
			w.Header().Set("Server", name)
		}
		_, _ = io.WriteString(w, text)
	}))
	t.Cleanup(s.Close)
	api, err := newAPI(Target{Known: supported.Engines(), URL: s.URL}, key)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(api.close)
	return api
}

func TestEnginesAreToldByWhatTheyDoBeforeWhatTheySay(t *testing.T) {
	const health = `{"status":"healthy","endpoints":["dyn://dynamo.backend.generate"],"instances":[]}`
	const missing = `[{'type': 'missing', 'loc': ('body', 'messages')}]`
	for name, c := range map[string]struct {
		owner   string
		texts   map[string]string
		engine  string
		against string
	}{
		"nothing to go by":            {"", nil, "openai", ""},
		"an owner like any other":     {"organization-owner", nil, "openai", ""},
		"owner vLLM":                  {"vllm", nil, "vllm", ""},
		"owner SGLang":                {"sglang", nil, "sglang", ""},
		"owner TensorRT-LLM":          {"tensorrt_llm", nil, "trtllm", ""},
		"owner NVIDIA":                {"nvidia", nil, "dynamo", ""},
		"owner simulated":             {"vllm-simulated", nil, "vllm", ""},
		"page of vLLM":                {"me", map[string]string{"/metrics": "# TYPE vllm:num_requests_running gauge\n"}, "vllm", ""},
		"page of SGLang":              {"me", map[string]string{"/metrics": "up 1\nsglang:num_running_reqs 0\n"}, "sglang", ""},
		"page of TensorRT-LLM":        {"me", map[string]string{"/prometheus/metrics": "trtllm_request_success_total 1\n"}, "trtllm", ""},
		"a page of another program":   {"me", map[string]string{"/prometheus/metrics": "request_success_total 1\ne2e_request_latency_seconds_sum{job=\"x\"} 1\n"}, "openai", ""},
		"page against owner":          {"vllm", map[string]string{"/metrics": "sglang:num_running_reqs 0\n"}, "sglang", "vllm"},
		"a worker's page is Dynamo's": {"me", map[string]string{"/metrics": "vllm:x 0\ndynamo_frontend_requests_total 1\n"}, "dynamo", ""},
		"workers in its health":       {"me", map[string]string{"/health": health}, "dynamo", ""},
		"health of others":            {"me", map[string]string{"/health": `{"status":"ok"}`}, "openai", ""},
		"names in prose":              {"me", map[string]string{"/metrics": "<p>see vllm:num_requests_running</p>"}, "openai", ""},
		"route of SGLang":             {"me", map[string]string{"/get_model_info": `{"model_path":"m","tokenizer_path":"m","is_generation":true}`}, "sglang", ""},
		"llama.cpp":                   {"llamacpp", map[string]string{"/": "Server: llama.cpp"}, "llamacpp", ""},
		"owner llama.cpp":             {"llamacpp", nil, "llamacpp", ""},
		"page of llama.cpp":           {"me", map[string]string{"/metrics": "llamacpp:requests_processing 0\n"}, "llamacpp", ""},
		"Ollama":                      {"library", map[string]string{"/": "Ollama is running"}, "openai", ""},
		"wrapped error of FastAPI":    {"me", map[string]string{"/v1/chat/completions": `400|{"error":{"message":"` + missing + `","code":400}}`}, "vllm", ""},
		"flat error of FastAPI":       {"me", map[string]string{"/v1/chat/completions": `400|{"object":"error","message":"` + missing + `"}`}, "trtllm", ""},
		"words of Rust":               {"me", map[string]string{"/v1/chat/completions": "400|Failed to deserialize the JSON body: missing field `messages` at line 1"}, "openai", ""},
		"error of anybody":            {"me", map[string]string{"/v1/chat/completions": `400|{"error":{"message":"messages is missing"}}`}, "openai", ""},
		"answers everything with yes": {"me", map[string]string{"/v1/chat/completions": missing}, "openai", ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := pathServer(t, c.texts).detect(t.Context(), Model{ID: "m", OwnedBy: c.owner})
			if got.engine != c.engine {
				t.Errorf("%s by %+v", got.engine, got.clues)
			}
			if against := got.contradiction(got.engine); (against == "") != (c.against == "") || !strings.Contains(against, c.against) {
				t.Errorf("against it: %q", against)
			}
		})
	}
}

func TestTheQueueOfTensorRTLLMIsLeftToWhoeverReadsIt(t *testing.T) {
	for name, c := range map[string]struct{ owner, page string }{
		"known by its owner": {"tensorrt_llm", ""},
		"known by its page":  {"", "trtllm_request_success_total 1\n"},
		"without prefix":     {"", "e2e_request_latency_seconds_bucket{engine_type=\"undefined\",le=\"1.0\",model_name=\"undefined\"} 3\n"},
	} {
		var drained atomic.Int64
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/metrics":
				drained.Add(1)
			case "/prometheus/metrics":
				_, _ = io.WriteString(w, c.page)
			}
		}))
		api, err := newAPI(Target{Known: supported.Engines(), URL: s.URL}, "")
		if err != nil {
			t.Fatal(err)
		}
		if got := api.detect(t.Context(), Model{ID: "m", OwnedBy: c.owner}); got.engine != "trtllm" || drained.Load() != 0 {
			t.Errorf("%s: %s, drained %d times", name, got.engine, drained.Load())
		}
		api.close()
		s.Close()
	}
}

func TestVersionsAreAskedForWhereEnginesHaveThem(t *testing.T) {
	for _, c := range []struct{ engine, path, want string }{
		{"vllm", "/version", "0.11.0"}, {"sglang", "/version", "0.5.23"}, {"openai", "/version", "1"}, {"openai", "/api/version", "0.6.8"}, {"vllm", "/nowhere", ""},
	} {
		if got := pathServer(t, map[string]string{c.path: `{"version":"` + c.want + `"}`}).version(t.Context(), c.engine); got != c.want {
			t.Errorf("%+v: %q", c, got)
		}
	}
}

// FuzzPagesOfMetrics: a page speaks for an engine only if a line of it begins with its prefix.
func FuzzPagesOfMetrics(f *testing.F) {
	for _, text := range []string{"vllm:a 1\n", "# TYPE vllm:a gauge", "# HELP vllm:a", " vllm:a 1", "up 1\nvllm:a 1", "vllm", ""} {
		f.Add([]byte(text))
	}
	const prefix = "vllm:"
	f.Fuzz(func(t *testing.T, body []byte) {
		want := false
		for _, line := range strings.Split(string(body), "\n") {
			want = want || strings.HasPrefix(strings.TrimPrefix(line, "# TYPE "), prefix) && line != ""
		}
		if got := begins(body, prefix); got != want {
			t.Errorf("%q: %v", body, got)
		}
	})
}

// Whoever says --engine openai for llama.cpp means its request fields, which are OpenAI's and no more: nothing speaks against that.
func TestLlamaCPPTakesPlainFieldsUnderBothNames(t *testing.T) {
	got := pathServer(t, map[string]string{"/": "Server: llama.cpp"}).detect(t.Context(), Model{ID: "m", OwnedBy: "llamacpp"})
	for engine, against := range map[string]bool{"llamacpp": false, "openai": false, "vllm": true} {
		if says := got.contradiction(engine); (says != "") != against {
			t.Errorf("taken for %s: %q", engine, says)
		}
	}
	if own := VendorOf(supported.Engines(), "llamacpp"); len(own.Fields(openai.Chat))+len(own.Newer) > 0 || own.ChatCap != "" {
		t.Errorf("fields of its own: %+v", own)
	}
	if _, err := openai.Body(openai.Params{Endpoint: openai.Chat, Vendor: VendorOf(supported.Engines(), "llamacpp"), Model: "m", Prompt: "p", MaxTokens: 1, TopP: 1}); err != nil {
		t.Error(err)
	}
}
