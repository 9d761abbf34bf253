package engine

import (
	"errors"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/exporter/metric"
)

// server answers by path and notes what it was asked for; other paths are not found.
type server struct {
	answers map[string]string
	asked   []string
	refuses bool
	busy    string // a path that is answered with status 503
}

func (s *server) RoundTrip(r *http.Request) (*http.Response, error) {
	if s.refuses {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: syscall.ECONNREFUSED}
	}
	s.asked = append(s.asked, r.URL.Path)
	body, there := s.answers[r.URL.Path]
	status, kind := http.StatusOK, "text/plain; version=0.0.4"
	switch {
	case !there:
		status = http.StatusNotFound
	case r.URL.Path == s.busy:
		status = http.StatusServiceUnavailable
	case strings.HasPrefix(body, "[") || strings.HasPrefix(body, "{"):
		kind = "application/json"
	}
	return &http.Response{StatusCode: status, Header: http.Header{"Content-Type": {kind}}, Body: io.NopCloser(strings.NewReader(body)), ContentLength: int64(len(body)), Request: r}, nil
}

// read asks the server once more.
func (s *server) read(t *testing.T, path string, iterationStats bool, before Reading) (Reading, error) {
	t.Helper()
	at, err := ParseEndpoint("http://127.0.0.1:8000" + path)
	if err != nil {
		t.Fatal(err)
	}
	s.asked = nil
	return Client{Engines: supported.Engines(), HTTP: s, IterationStats: iterationStats}.Read(t.Context(), at, before)
}

func TestAVersionIsAskedForOnce(t *testing.T) {
	s := &server{answers: map[string]string{"/metrics": sample(t, "vllm-doc.prom"), "/version": `{"version":"0.11.2"}`}}
	first, err := s.read(t, "/metrics", false, Reading{})
	if err != nil || first.Version != "0.11.2" || !slices.Equal(s.asked, []string{"/metrics", "/version"}) {
		t.Errorf("%q, %v, asked %v", first.Version, err, s.asked)
	}
	second, err := s.read(t, "/metrics", false, first)
	if err != nil || second.Version != "0.11.2" || !slices.Equal(s.asked, []string{"/metrics"}) {
		t.Errorf("%q, %v, asked %v", second.Version, err, s.asked)
	}
	// Fewer tokens are those of a program that was started since.
	s.answers = map[string]string{"/metrics": strings.ReplaceAll(sample(t, "vllm-doc.prom"), "600.0", "6.0"), "/version": `{"version":"0.12.0"}`}
	if second, err = s.read(t, "/metrics", false, second); err != nil || second.Version != "0.12.0" {
		t.Errorf("after a restart: %q, %v, asked %v", second.Version, err, s.asked)
	}
	// Another engine at the same address is asked anew; one without a version is not asked twice.
	s.answers = map[string]string{"/metrics": sample(t, "trtllm-constructed.prom")}
	third, err := s.read(t, "/metrics", false, second)
	if err != nil || third.Version != "" || len(s.asked) != 2 {
		t.Errorf("%q, %v, asked %v", third.Version, err, s.asked)
	}
	if _, err := s.read(t, "/metrics", false, third); err != nil || len(s.asked) != 1 {
		t.Errorf("%v, asked %v", err, s.asked)
	}
}

func TestTheVersionOfADynamoFrontendIsInItsDescription(t *testing.T) {
	s := &server{answers: map[string]string{"/metrics": sample(t, "dynamo-1.6.1-frontend.prom"), "/openapi.json": sample(t, "dynamo-1.6.1-openapi.json")}}
	reading, err := s.read(t, "/metrics", false, Reading{})
	if err != nil || reading.Version != "1.6.1" {
		t.Errorf("%q, %v, asked %v", reading.Version, err, s.asked)
	}
	s.answers["/openapi.json"] = `{"info":{"title":"another","version":"9"}}`
	if reading, err = s.read(t, "/metrics", false, Reading{}); err != nil || reading.Version != "" {
		t.Errorf("another's description: %q, %v", reading.Version, err)
	}
	worker := &server{answers: map[string]string{"/metrics": sample(t, "dynamo-1.6.1-worker-mocker-before-requests.prom")}}
	reading, err = worker.read(t, "/metrics", false, Reading{})
	if err != nil || reading.Version != "" || !reading.identified {
		t.Errorf("worker: %q, %v, asked %v", reading.Version, err, worker.asked)
	}
}

func TestAnEngineThatIsBusyIsAskedAgainWhoItIs(t *testing.T) {
	s := &server{answers: map[string]string{"/metrics": sample(t, "llamacpp-constructed.prom"), "/props": `{"model_alias":"qwen3","build_info":"b6500"}`}, busy: "/props"}
	first, err := s.read(t, "/metrics", false, Reading{})
	if err != nil || first.Version != "" || first.Models[0].Name != "" {
		t.Errorf("while it loads: %q, %v", first.Version, err)
	}
	s.busy = ""
	if second, err := s.read(t, "/metrics", false, first); err != nil || second.Version != "b6500" || second.Models[0].Name != "qwen3" {
		t.Errorf("afterwards: %q, %v", second.Version, err)
	}
}

func TestLlamaCPPServesTheRestAtOtherPaths(t *testing.T) {
	slot := func(rest string) string { return `{"id":0,"n_ctx":65536,` + rest + `}` }
	const busy = `"is_processing":true,"n_prompt_tokens":1000,"next_token":[{"n_decoded":24}]`
	page := map[string]float64{"running": 2, "waiting": 1, "prompt": 18432, "generation": 4096}
	for _, test := range []struct {
		name, slots string
		want        map[string]float64
	}{
		{"no slots shown", "", nil},
		{"one busy slot", "[" + slot(busy) + "]", map[string]float64{"capacity tokens": 65536, "used tokens": 1024, "used ratio": 1024.0 / 65536}},
		{"one idle slot", "[" + slot(`"is_processing":false`) + "]", map[string]float64{"capacity tokens": 65536, "used tokens": 0, "used ratio": 0}},
		{"two slots of which nobody knows whether they share", "[" + slot(busy) + "," + slot(strings.Replace(busy, `[{"n_decoded":24}]`, `{"n_decoded":6}`, 1)) + "]",
			map[string]float64{"used tokens": 1024 + 1006}},
		{"a build that does not count prompts", sample(t, "llamacpp-slots-constructed.json"), nil},
		{"nonsense", `{"error":{"code":501}}`, nil},
	} {
		s := &server{answers: map[string]string{"/metrics": sample(t, "llamacpp-constructed.prom"), "/props": `{"model_path":"/models/Qwen3-8B-Q4_K_M.gguf","build_info":"b6500-4b8560a2"}`}}
		if test.slots != "" {
			s.answers["/slots"] = test.slots
		}
		got, err := s.read(t, "/metrics", false, Reading{})
		if err != nil || got.Version != "b6500-4b8560a2" {
			t.Errorf("%s: %q, %v", test.name, got.Version, err)
		}
		for name, value := range page {
			if test.want == nil {
				test.want = map[string]float64{}
			}
			test.want[name] = value
		}
		wantModel(t, test.name, got.Models[0], "Qwen3-8B-Q4_K_M.gguf", test.want)
	}
}

func TestDrainingStatisticsAreReadOnRequestOnly(t *testing.T) {
	s := &server{answers: map[string]string{"/prometheus/metrics": sample(t, "trtllm-constructed.prom"), "/metrics": sample(t, "trtllm-metrics-constructed.json")}}
	if _, err := s.read(t, "/prometheus/metrics", false, Reading{}); err != nil || slices.Contains(s.asked, "/metrics") {
		t.Errorf("%v, asked %v", err, s.asked)
	}
	// The page tells of the KV cache; what it lacks comes from the last iteration.
	got, err := s.read(t, "/prometheus/metrics", true, Reading{})
	if err != nil || !slices.Contains(s.asked, "/metrics") || *got.Models[0].CapacityBlocks != 101256 {
		t.Errorf("%v, asked %v, %+v", err, s.asked, got.Models)
	}
	s.answers["/prometheus/metrics"] = "trtllm_request_success_total{model_name=\"m\"} 2\n"
	got, err = s.read(t, "/prometheus/metrics", true, Reading{})
	if err != nil {
		t.Fatal(err)
	}
	fromLast := map[string]float64{
		"capacity blocks": 16384, "capacity tokens": 16384 * 32, "used tokens": 1174 * 32, "used ratio": 1174.0 / 16384, "running": 4, "waiting": 2, "paused": 0,
		"blocks looked up": 8822 + 20119, "blocks hit any": 8822, "blocks missed": 20119,
	}
	wantModel(t, "few series", got.Models[0], "m", fromLast)
	// Nothing handed out is nothing new.
	s.answers["/metrics"] = "[]"
	got, err = s.read(t, "/prometheus/metrics", true, got)
	if err != nil {
		t.Fatal(err)
	}
	wantModel(t, "nothing new", got.Models[0], "m", fromLast)
}

func TestAnAddressThatDrainsIsAskedOnce(t *testing.T) {
	s := &server{answers: map[string]string{"/metrics": sample(t, "trtllm-metrics-doc.json")}}
	got, err := s.read(t, "/metrics", false, Reading{})
	if !drains(err) || !slices.Equal(s.asked, []string{"/metrics", "/prometheus/metrics"}) {
		t.Errorf("%v, asked %v", err, s.asked)
	}
	if got, err = s.read(t, "/metrics", false, got); !drains(err) || !slices.Equal(s.asked, []string{"/prometheus/metrics"}) {
		t.Errorf("again: %v, asked %v", err, s.asked)
	}
	s.answers["/prometheus/metrics"] = sample(t, "trtllm-constructed.prom")
	if got, err = s.read(t, "/metrics", false, got); err != nil || got.Engine != "trtllm" || slices.Contains(s.asked, "/metrics") {
		t.Errorf("with a page: %+v, %v, asked %v", got, err, s.asked)
	}
	s.refuses = true
	if _, err = s.read(t, "/metrics", false, got); !errors.Is(err, ErrUnreachable) {
		t.Errorf("nobody there: %v", err)
	}
}

func TestWithoutAPageTheStatisticsAreAllThereIs(t *testing.T) {
	s := &server{answers: map[string]string{"/metrics": sample(t, "trtllm-metrics-doc.json")}}
	got, err := s.read(t, "/metrics", true, Reading{drains: true})
	if err != nil {
		t.Fatal(err)
	}
	wantModel(t, "statistics", got.Models[0], "", map[string]float64{
		"capacity blocks": 101256, "capacity tokens": 101256 * 32, "used tokens": 3 * 32, "used ratio": 3.0 / 101256, "running": 1,
		"blocks looked up": 3125, "blocks hit any": 4, "blocks missed": 3121,
	})
	s.answers = nil
	if got, err = s.read(t, "/metrics", true, got); err == nil || !got.drains {
		t.Errorf("an engine that tells nothing anywhere: %+v, %v", got, err)
	}
}

func TestTextsOfServersAreBounded(t *testing.T) {
	s := &server{answers: map[string]string{"/metrics": sample(t, "llamacpp-constructed.prom"), "/props": `{"model_alias":"` + strings.Repeat("m", 1<<20) + `","build_info":"` + strings.Repeat("b", 1<<20) + `"}`}}
	got, err := s.read(t, "/metrics", false, Reading{})
	if err != nil || len(got.Version) > 200 || len(got.Models[0].Name) > 200 {
		t.Errorf("%v, %d, %d", err, len(got.Version), len(got.Models[0].Name))
	}
	s.answers["/metrics"] = `vllm:num_requests_running{model_name="` + strings.Repeat("m", 1<<15) + "\"} 1\n"
	if got, err = s.read(t, "/metrics", false, Reading{}); err != nil || len(got.Models[0].Name) > 200 || got.Models[0].Requests[metric.RequestsRunning] != 1 {
		t.Errorf("a page with a long name: %v, %d", err, len(got.Models[0].Name))
	}
}

func drains(err error) bool {
	_, is := errors.AsType[DrainsError](err)
	return is
}
