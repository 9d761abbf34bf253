package telemetry

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"reflect"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
)

func TestEnginesAreNamedByTheirServers(t *testing.T) {
	page := "uma_exporter_mode{mode=\"live\"} 1\n"
	for _, one := range [][3]string{
		{"127.0.0.1:8000/metrics", "vllm", "a"}, {"127.0.0.1:8000/metrics", "vllm", "b"}, // two models
		{"127.0.0.1:8001/prometheus/metrics", "trtllm", "m"},
		{"127.0.0.1:8002/v1/models", "llamacpp", ""}, // without a page
		{"[::1]:8003/metrics", "sglang", "m"},
		{"spark-2:80/one/metrics", "vllm", "m"}, // behind a proxy
		{"127.0.0.1:8004/page", "dynamo", "m"},
		{"127.0.0.1:8005/prefix/page", "vllm", "m"},        // under which prefix is not known
		{"127.0.0.1:8006/prometheus/metrics", "vllm", "m"}, // a prefix: vLLM's page is /metrics
	} {
		page += fmt.Sprintf("uma_engine_info{source=%q,engine=%q,model=%q,version=\"\"} 1\n", one[0], one[1], one[2])
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, page) }))
	defer server.Close()
	got, err := Engines(t.Context(), Source{URL: server.URL}, supported.Engines())
	want := []Engine{
		{"http://127.0.0.1:8000", "vllm", []string{"a", "b"}}, {"http://127.0.0.1:8001", "trtllm", []string{"m"}},
		{"http://127.0.0.1:8002", "llamacpp", nil}, {"http://127.0.0.1:8004", "dynamo", []string{"m"}},
		{"http://127.0.0.1:8006/prometheus", "vllm", []string{"m"}},
		{"http://[::1]:8003", "sglang", []string{"m"}}, {"http://spark-2:80/one", "vllm", []string{"m"}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got  %v, %v\nwant %v", got, err, want)
	}
	if text := got[0].String() + got[2].String(); text != "http://127.0.0.1:8000 (vllm a b)http://127.0.0.1:8002 (llamacpp)" {
		t.Error(text)
	}
}
