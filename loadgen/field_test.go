package loadgen

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/umascope/umascope/loadgen/sim"
)

// strict is a server that refuses requests with a field that it does not take, and remembers the bodies of the load: those
// of requests for 9 tokens.
type strict struct {
	url   string
	mutex sync.Mutex
	load  []map[string]any
}

func newStrict(t *testing.T, refused ...string) *strict {
	t.Helper()
	s := &strict{}
	_, engine := simulated(t, func(c *sim.Config) { c.Vendor = sim.OpenAI })
	s.url = inFront(t, engine, func(w http.ResponseWriter, r *http.Request, pass http.Handler) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has gone
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		var fields map[string]any
		_ = json.Unmarshal(body, &fields) // a request without a body has no fields
		for _, name := range refused {
			if holds(fields, name) {
				w.WriteHeader(http.StatusUnprocessableEntity)
				fmt.Fprintf(w, `{"detail":"Extra inputs are not permitted: %s"}`, name)
				return
			}
		}
		if fields["max_completion_tokens"] == 9.0 || fields["max_tokens"] == 9.0 {
			s.mutex.Lock()
			s.load = append(s.load, fields)
			s.mutex.Unlock()
		}
		pass.ServeHTTP(w, r)
	})
	return s
}

// holds looks a field up, one inside an object by its dotted name.
func holds(fields map[string]any, name string) bool {
	outer, inner, nested := strings.Cut(name, ".")
	if object, ok := fields[outer].(map[string]any); ok && nested {
		return object[inner] != nil
	}
	return !nested && fields[name] != nil
}

func (s *strict) run(t *testing.T, args ...string) (code int, folder, stderr string) {
	t.Helper()
	code, folder, _, stderr = invoke(t, t.Context(), slices.Concat([]string{"--url", s.url, "--requests=3", "--warmup=0", "--output-tokens=9"}, args)...)
	return code, folder, stderr
}

func TestAFieldThatNobodyAskedForIsLeftOutWhereItIsRefused(t *testing.T) {
	p := newStrict(t, "stream_options.continuous_usage_stats")
	code, dir, stderr := p.run(t, "--engine=vllm")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	sent := p.load
	if len(sent) != 3 {
		t.Errorf("%d requests", len(sent))
	}
	for _, fields := range sent {
		if holds(fields, "stream_options.continuous_usage_stats") || !holds(fields, "stream_options.include_usage") {
			t.Errorf("sent %v", fields)
		}
	}
	found := manifestOf(t, dir).Server.Fields
	if len(found.Refused) != 1 || found.Refused[0].Field != "stream_options.continuous_usage_stats" || !strings.Contains(found.Refused[0].Says, "not permitted") {
		t.Errorf("manifest: %+v", found)
	}
	if !strings.Contains(stderr, "level=WARN") || !strings.Contains(stderr, "continuous_usage_stats") {
		t.Errorf("no warning: %s", stderr)
	}
}

func TestAFieldThatAFlagAsksForAndTheServerRefusesEndsTheRunBeforeItBegins(t *testing.T) {
	for name, c := range map[string]struct {
		refused string
		args    []string
		says    string
	}{
		"forced length":     {"ignore_eos", []string{"--ignore-eos"}, "--ignore-eos of run, --exact of arena: the server refuses ignore_eos"},
		"least tokens":      {"min_tokens", []string{"--ignore-eos", "--engine=vllm"}, "--ignore-eos of run, --exact of arena: the server refuses min_tokens"},
		"seed":              {"seed", []string{"--request-seed=7"}, "--request-seed: the server refuses seed"},
		"stop":              {"stop", []string{"--stop=END"}, "--stop: the server refuses stop"},
		"the user's own":    {"reasoning_effort", []string{`--extra-body={"reasoning_effort":"low"}`}, "--extra-body: the server refuses reasoning_effort"},
		"whatever is asked": {"messages", nil, "--endpoint: chat"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newStrict(t, c.refused)
			code, folder, stderr := p.run(t, c.args...)
			if code != exitUsage || !strings.Contains(stderr, c.says) || len(p.load) != 0 {
				t.Errorf("exit %d, %d requests: %s", code, len(p.load), stderr)
			}
			if _, err := os.Stat(folder); err == nil {
				t.Error("a folder was left behind")
			}
		})
	}
}

func TestForcedLengthsAreSentToAnUnknownServerThatTakesThem(t *testing.T) {
	p := newStrict(t)
	code, _, stderr := p.run(t, "--ignore-eos", "--engine=openai")
	if code != exitDone {
		t.Fatalf("exit %d: %s", code, stderr)
	}
	for _, fields := range p.load {
		if fields["ignore_eos"] != true || fields["min_tokens"] != 9.0 {
			t.Errorf("sent %v", fields)
		}
	}
}

func TestStrictVendorsGetNoFieldThatTheyRefuse(t *testing.T) {
	for _, vendor := range sim.Vendors() {
		for _, endpoint := range []string{"chat", "completions"} {
			_, url := simulated(t, func(c *sim.Config) { c.Vendor = vendor })
			code, dir, _, stderr := invoke(t, t.Context(), "--url", url, "--requests=3", "--warmup=0", "--output-tokens=8", "--ignore-eos", "--endpoint", endpoint)
			if code != exitDone {
				t.Errorf("%s %s: exit %d: %s", vendor, endpoint, code, stderr)
				continue
			}
			m := manifestOf(t, dir).Server
			if m.Engine != string(vendor) || !m.EngineDetected || len(m.Fields.Accepted) < 2 || m.Fields.Unknown != "" {
				t.Errorf("%s %s: %+v", vendor, endpoint, m)
			}
			s := summaryOf(t, dir)
			if s.Model.Fingerprint == "" || !slices.Contains(s.Checked, "fingerprint") || !slices.Contains(s.Checked, "serving") {
				t.Errorf("%s %s: fingerprint %q, checked %v", vendor, endpoint, s.Model.Fingerprint, s.Checked)
			}
		}
	}
	_, url := simulated(t, func(c *sim.Config) { c.Vendor = sim.TensorRTLLM })
	code, _, _, stderr := invoke(t, t.Context(), "--url", url, "--requests=3", "--warmup=0", `--extra-body={"return_token_ids":true}`)
	if code != exitUsage || !strings.Contains(stderr, "--extra-body: the server refuses return_token_ids") {
		t.Errorf("exit %d: %s", code, stderr)
	}
}
