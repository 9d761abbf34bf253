package loadgen

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
	"github.com/umascope/umascope/loadgen/sim"
	"github.com/umascope/umascope/loadgen/summary"
)

// loaded is a simulated engine that answers what a run asks before its load, and gives the requests of the
// load, which are those for 7 tokens, to another handler. That reports whether it has answered.
func loaded(t *testing.T, load func(w http.ResponseWriter, r *http.Request) bool) string {
	t.Helper()
	engine, _ := simulated(t, func(*sim.Config) {})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		asked := bytes.Contains(body, []byte(`tokens":7,`))
		if (asked || r.URL.Path == "/v1/models") && load(w, r) {
			return
		}
		engine.Handler().ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func codesOf(s summary.Summary) []summary.Code {
	var codes []summary.Code
	for _, r := range s.InvalidReasons {
		codes = append(codes, r.Code)
	}
	return codes
}

func TestARunEndsWithThePhaseWhoseRequestsAllFailed(t *testing.T) {
	t.Parallel()
	url := loaded(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/models" {
			http.Error(w, "no engine", http.StatusBadGateway)
		}
		return r.URL.Path != "/v1/models"
	})
	code, path, _, stderr := invoke(t, t.Context(), "--url", url, "--requests=20", "--warmup=4", "--output-tokens=7")
	sum := summaryOf(t, path)
	if sent := byStatus(records(t, path)); code != exitInvalid || len(sent) != 1 || sent[openai.StatusHTTP] != 4 {
		t.Errorf("exit %d, requests by status %v, want the 4 of the warm-up: %s", code, sent, stderr)
	}
	if codes := codesOf(sum); !slices.Contains(codes, summary.CodePhaseFailed) || !slices.Contains(codes, summary.CodeIncomplete) {
		t.Errorf("invalid for %v", codes)
	}
	for _, words := range []string{"none of 4 requests of warmup ended ok: HTTP 502: no engine (4)", "all requests of warmup failed, and 1 more phases were not sent"} {
		if !strings.Contains(stderr, words) {
			t.Errorf("%q is not in %s", words, stderr)
		}
	}
	if manifest := manifestOf(t, path); manifest.State != rundir.StateStopped {
		t.Errorf("state %s", manifest.State)
	}
	code, path, _, stderr = invoke(t, t.Context(), "--url", url, "--requests=20", "--warmup=4", "--output-tokens=7", "--validity=phase_failed=off")
	if sent := records(t, path); code != exitInvalid || len(sent) != 24 {
		t.Errorf("switched off: exit %d, %d requests: %s", code, len(sent), stderr)
	}
}

func TestAWarmUpEndsWhenARequestOfEachSlotTimedOut(t *testing.T) {
	t.Parallel()
	url := loaded(t, func(_ http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != "/v1/models" {
			<-r.Context().Done()
		}
		return r.URL.Path != "/v1/models"
	})
	code, path, _, stderr := invoke(t, t.Context(), "--url", url, "--requests=20", "--warmup=100", "--concurrency=2", "--output-tokens=7", "--request-timeout=200ms")
	if sent := byStatus(records(t, path)); code != exitInvalid || len(sent) != 1 || sent[openai.StatusTimeout] < 2 || sent[openai.StatusTimeout] > 4 {
		t.Errorf("exit %d, requests by status %v, want one of each slot, and those that were under way: %s", code, sent, stderr)
	}
	if !strings.Contains(stderr, "all requests of warmup failed, and 1 more phases were not sent") {
		t.Errorf("stderr: %s", stderr)
	}
}

func TestNothingIsSentOnceTheModelIsDropped(t *testing.T) {
	t.Parallel()
	const served, concurrency = 20, 4
	var asked atomic.Int64
	url := loaded(t, func(w http.ResponseWriter, r *http.Request) bool {
		switch {
		case r.URL.Path == "/v1/models" && asked.Load() > served:
			_, _ = io.WriteString(w, `{"object":"list","data":[]}`)
		case r.URL.Path != "/v1/models" && asked.Add(1) > served:
			w.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(w, `{"message":"Model not found","type":"Not Found","code":404}`)
		default:
			return false
		}
		return true
	})
	code, path, _, stderr := invoke(t, t.Context(), "--url", url, "--requests=200", "--concurrency=4", "--warmup=0", "--output-tokens=7")
	sent := byStatus(records(t, path))
	if code != exitInvalid || sent[openai.StatusOK] != served || sent[openai.StatusHTTP] == 0 || sent[openai.StatusHTTP] > concurrency {
		t.Errorf("exit %d, requests by status %v: %s", code, sent, stderr)
	}
	if !strings.Contains(stderr, "model_dropped") || !strings.Contains(stderr, "HTTP 404: Model not found") {
		t.Errorf("stderr: %s", stderr)
	}
}

func TestAnswersWithNothingInThemAreNoResult(t *testing.T) {
	t.Parallel()
	url := loaded(t, func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/v1/models" {
			return false
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		return true
	})
	code, path, _, stderr := invoke(t, t.Context(), "--url", url, "--requests=6", "--warmup=0", "--output-tokens=7")
	sum := summaryOf(t, path)
	if codes := codesOf(sum); code != exitInvalid || !slices.Equal(codes, []summary.Code{summary.CodeNoOutput}) {
		t.Errorf("exit %d, invalid for %v: %s", code, codes, stderr)
	}
	if !strings.Contains(stderr, "6 of 6 answers have no output") {
		t.Errorf("stderr: %s", stderr)
	}
}
