package engine

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
)

// answers are what a server answers by path: a status, a body. Other paths are status 404.
type answers map[string]struct {
	status int
	body   string
}

func TestAServerIsIdentifiedBeforeItsMetricsAreAsked(t *testing.T) {
	models := func(owner string) string { return `{"object":"list","data":[{"id":"m","owned_by":"` + owner + `"}]}` }
	const described = `{"info":{"title":"FastAPI"},"paths":{"/metrics":{},"/tokenize":{},"/version":{}}}` // vLLM 0.32
	for name, c := range map[string]struct {
		server string // header
		pages  answers
		want   Identity
		fails  string
		asks   []string
	}{
		"vLLM":           {"uvicorn", answers{"/v1/models": {200, models("vllm")}}, Identity{"vllm", "/metrics"}, "", []string{"/v1/models"}},
		"vLLM, by a key": {"uvicorn", answers{"/v1/models": {401, ""}, "/openapi.json": {200, described}}, Identity{"vllm", "/metrics"}, "", []string{"/v1/models", "/openapi.json"}},
		"TensorRT-LLM":   {"uvicorn", answers{"/v1/models": {200, models("tensorrt_llm")}}, Identity{"trtllm", "/prometheus/metrics"}, "", []string{"/v1/models"}},
		"TensorRT-LLM behind a key": {"nginx", answers{"/v1/models": {401, ""}, "/openapi.json": {200, `{"info":{"title":"FastAPI"},"paths":{"/metrics":{},"/perf_metrics":{}}}`}},
			Identity{}, "/v1/models answered with status 401", []string{"/v1/models", "/openapi.json"}},
		"TensorRT-LLM without models": {"uvicorn", answers{"/version": {200, `{"version":"1.3"}`}}, Identity{}, "/version is no answer of one", []string{"/v1/models", "/version", "/openapi.json"}},
		"LMCache's server": {"uvicorn", answers{"/version": {200, sample(t, "lmcache-0.5.6-server-version.json")}, "/openapi.json": {200, sample(t, "lmcache-0.5.6-server-openapi.json")}},
			Identity{"lmcache", "/metrics"}, "", []string{"/v1/models", "/version", "/openapi.json"}},
		"SGLang":             {"uvicorn", answers{"/v1/models": {200, models("sglang")}}, Identity{"sglang", "/metrics"}, "", []string{"/v1/models"}},
		"SGLang, by a key":   {"uvicorn", answers{"/v1/models": {401, ""}, "/openapi.json": {401, ""}}, Identity{}, "status 401", []string{"/v1/models", "/openapi.json"}},
		"llama.cpp":          {"llama.cpp", answers{"/v1/models": {200, models("llamacpp")}}, Identity{"llamacpp", "/metrics"}, "", []string{"/v1/models"}},
		"llama.cpp, loading": {"llama.cpp", answers{"/v1/models": {503, ""}}, Identity{"llamacpp", "/metrics"}, "", []string{"/v1/models"}},
		"Dynamo":             {"", answers{"/v1/models": {200, models("nvidia")}}, Identity{"dynamo", "/metrics"}, "", []string{"/v1/models"}},
		"Dynamo without workers": {"", answers{"/v1/models": {200, `{"object":"list","data":[]}`}, "/openapi.json": {200, `{"info":{"title":"NVIDIA Dynamo OpenAI Frontend"}}`}},
			Identity{"dynamo", "/metrics"}, "", []string{"/v1/models", "/openapi.json"}},
		"Ollama":                      {"", answers{"/v1/models": {200, models("library")}}, Identity{"ollama", ""}, "", []string{"/v1/models"}},
		"pages only":                  {"", answers{"/metrics": {200, "x 1\n"}}, Identity{"", "/metrics"}, "", []string{"/v1/models", "/version"}},
		"a page at every path":        {"", answers{"/v1/models": {200, "x 1\n"}, "/version": {200, "x 1\n"}}, Identity{"", "/metrics"}, "", []string{"/v1/models", "/version"}},
		"a gateway":                   {"", answers{"/v1/models": {200, models("openai")}}, Identity{}, `the owner of its models is "openai"`, []string{"/v1/models"}},
		"a simulated engine":          {"", answers{"/v1/models": {200, models("sglang-simulated")}}, Identity{}, "simulated", []string{"/v1/models"}},
		"one that is busy":            {"", answers{"/v1/models": {500, ""}}, Identity{}, "status 500", []string{"/v1/models"}},
		"another description":         {"", answers{"/v1/models": {401, ""}, "/openapi.json": {200, "<html>"}}, Identity{}, "status 401", []string{"/v1/models", "/openapi.json"}},
		"a version that has no words": {"", answers{"/version": {500, ""}}, Identity{}, "/version answered with status 500", []string{"/v1/models", "/version"}},
	} {
		t.Run(name, func(t *testing.T) {
			var asked []string
			client, at := serve(t, func(w http.ResponseWriter, r *http.Request) {
				asked = append(asked, r.URL.Path)
				w.Header().Set("Server", c.server)
				page, served := c.pages[r.URL.Path]
				if !served {
					page.status = http.StatusNotFound
				}
				if w.Header().Set("Content-Type", "text/plain"); strings.HasPrefix(page.body, "{") || strings.HasPrefix(page.body, `"`) {
					w.Header().Set("Content-Type", "application/json; charset=utf-8")
				}
				w.WriteHeader(page.status)
				io.WriteString(w, page.body)
			})
			got, err := client.Identify(t.Context(), at)
			if got != c.want || (err != nil) != (c.fails != "") || err != nil && (!errors.Is(err, ErrUnknown) || !strings.Contains(err.Error(), c.fails)) {
				t.Errorf("%+v, %v", got, err)
			}
			if !slices.Equal(asked, c.asks) {
				t.Errorf("asked %v, want %v", asked, c.asks)
			}
		})
	}
}

func TestNobodyIsIdentifiedWhereNobodyListens(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	if got, err := (Client{Engines: supported.Engines(), HTTP: LoopbackTransport()}).Identify(t.Context(), address(t, server.URL)); got != (Identity{}) || !errors.Is(err, ErrUnreachable) {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTheTransportOfLoopbackReachesNothingElse(t *testing.T) {
	server := httptest.NewServer(text("application/json", `{"data":[{"owned_by":"vllm"}]}`))
	defer server.Close()
	t.Setenv("HTTP_PROXY", server.URL)
	client := Client{Engines: supported.Engines(), HTTP: LoopbackTransport()}
	for _, host := range []string{"192.0.2.1", "[2001:db8::1]", "0.0.0.0"} {
		_, err := client.Identify(t.Context(), address(t, "http://"+host+":8000"))
		if err == nil || !strings.Contains(err.Error(), "is no loopback address") || errors.Is(err, ErrUnreachable) {
			t.Errorf("%s: %v", host, err)
		}
	}
	if got, err := client.Identify(t.Context(), address(t, server.URL)); err != nil || got.Engine != "vllm" {
		t.Errorf("%+v, %v", got, err)
	}
}

// FuzzIdentify answers every question with the same text. Whatever it is, only an owner that names an engine makes one,
// and a page of TensorRT-LLM is not the one that drains.
func FuzzIdentify(f *testing.F) {
	f.Add("application/json", `{"data":[{"owned_by":"tensorrt_llm"}]}`, 200)
	f.Add("application/json", `{"data":[],"info":{"title":"Dynamo"},"paths":{"/tokenize":1}}`, 200)
	f.Add("text/plain; version=0.0.4", "x 1\n", 200)
	f.Add("", "", 404)
	f.Fuzz(func(t *testing.T, contentType, body string, status int) {
		response := func(*http.Request) (*http.Response, error) {
			return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {contentType}}, ContentLength: -1, Body: io.NopCloser(strings.NewReader(body))}, nil
		}
		got, err := Client{Engines: supported.Engines(), HTTP: roundTrip(response)}.Identify(t.Context(), address(t, "http://127.0.0.1:8000"))
		switch {
		case err != nil && got != (Identity{}):
			t.Errorf("%+v with %v", got, err)
		case err == nil && got.Engine == "" && got.PagePath != defaultPath, got.Engine == "trtllm" && got.PagePath != "/prometheus/metrics":
			t.Errorf("%+v", got)
		case err == nil && status != http.StatusOK && status != http.StatusNotFound:
			t.Errorf("status %d is %+v", status, got)
		}
	})
}

type roundTrip func(*http.Request) (*http.Response, error)

func (r roundTrip) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }
