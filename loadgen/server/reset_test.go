package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/rundir"
)

// resetting answers each request with the next of these answers, "status body", and the last one from then on.
type resetting struct {
	answers []string
	asked   []string
}

func (r *resetting) RoundTrip(request *http.Request) (*http.Response, error) {
	r.asked = append(r.asked, request.Method+" "+request.URL.Path)
	next := r.answers[min(len(r.asked), len(r.answers))-1]
	status, body, _ := strings.Cut(next, " ")
	codes := map[string]int{"200": 200, "400": 400, "403": 403, "404": 404, "405": 405}
	if codes[status] == 0 {
		return nil, io.ErrUnexpectedEOF
	}
	return &http.Response{StatusCode: codes[status], Header: http.Header{}, Body: io.NopCloser(strings.NewReader(body)), Request: request}, nil
}

// The answers of vLLM 0.32.0 are recorded; those of SGLang are the texts in its source, 0.5.23.
func TestTheOutcomeOfAResetIsTheEnginesAnswer(t *testing.T) {
	const busyVLLM, busySGLang = `{"success":false}`, "Flush cache failed.\n"
	for name, c := range map[string]struct {
		engine  string
		answers []string
		asked   string
		want    rundir.PrefixCacheReset
		waited  time.Duration
	}{
		"vLLM":   {"vllm", []string{`200 {"success":true}`}, "POST /reset_prefix_cache", rundir.PrefixCacheReset{Done: true, Status: 200}, 0},
		"SGLang": {"sglang", []string{"200 Cache flushed.\n"}, "POST /flush_cache", rundir.PrefixCacheReset{Done: true, Status: 200}, 0},
		"vLLM of a release that does not report success": {"vllm", []string{"200 "}, "POST /reset_prefix_cache", rundir.PrefixCacheReset{Done: true, Status: 200}, 0},
		"vLLM while a request ends": {
			"vllm", []string{"200 " + busyVLLM, "200 " + busyVLLM, `200 {"success":true}`}, "POST /reset_prefix_cache", rundir.PrefixCacheReset{Done: true, Status: 200}, time.Second,
		},
		"vLLM with other clients": {
			"vllm", []string{"200 " + busyVLLM}, "POST /reset_prefix_cache", rundir.PrefixCacheReset{Status: 200, Says: busyVLLM}, resetPatience + resetPause,
		},
		"SGLang with other clients": {
			"sglang", []string{"400 " + busySGLang}, "POST /flush_cache", rundir.PrefixCacheReset{Status: 400, Says: "Flush cache failed."}, resetPatience + resetPause,
		},
		"SGLang with a key for administrators": {
			"sglang", []string{`403 {"error":"Forbidden"}`}, "POST /flush_cache", rundir.PrefixCacheReset{Status: 403, Says: `{"error":"Forbidden"}`}, 0,
		},
		"a connection that breaks": {"vllm", []string{"lost"}, "POST /reset_prefix_cache", rundir.PrefixCacheReset{Says: "unexpected EOF"}, 0},
		"an escape sequence":       {"sglang", []string{"403 \x1b[31mno"}, "POST /flush_cache", rundir.PrefixCacheReset{Status: 403, Says: "no"}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server, began := &resetting{answers: c.answers}, time.Now()
				i := &Identity{api: &api{known: supported.Engines(), root: "http://engine", client: &http.Client{Transport: server}}, url: "http://engine"}
				got, err := i.ResetPrefixCache(context.Background(), c.engine)
				if err != nil {
					t.Fatal(err)
				}
				_, c.want.Path, _ = strings.Cut(c.asked, " ")
				if *got != c.want || server.asked[0] != c.asked {
					t.Errorf("%+v of %s", got, server.asked[0])
				}
				if waited := time.Since(began); waited != c.waited {
					t.Errorf("waited for %s, want %s", waited, c.waited)
				}
				if refused := got.Refused(); (refused == "") != c.want.Done {
					t.Errorf("refused: %q", refused)
				}
			})
		})
	}
}

func TestAnEngineWithoutAResetIsBadInput(t *testing.T) {
	for name, c := range map[string]struct{ engine, answer, want string }{
		"llama.cpp":                {"llamacpp", "", "http://engine: engine llamacpp has no request that empties its prefix cache; vllm and sglang have one"},
		"vLLM as it is by default": {"vllm", `404 {"detail":"Not Found"}`, "http://engine: POST /reset_prefix_cache answered 404 Not Found: vLLM has it with VLLM_SERVER_DEV_MODE=1 in its environment only"},
		"a gateway":                {"sglang", "405 ", "http://engine: POST /flush_cache answered 405 Method Not Allowed: a gateway before SGLang may not pass it on"},
	} {
		server := &resetting{answers: []string{c.answer}}
		i := &Identity{api: &api{known: supported.Engines(), root: "http://engine", client: &http.Client{Transport: server}}, url: "http://engine"}
		got, err := i.ResetPrefixCache(context.Background(), c.engine)
		if got != nil || err == nil || err.Error() != c.want {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
		if c.answer == "" && len(server.asked) > 0 {
			t.Errorf("%s was asked %q", name, server.asked)
		}
	}
}
