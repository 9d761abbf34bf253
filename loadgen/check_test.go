package loadgen

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/umascope/umascope/loadgen/server"
	"github.com/umascope/umascope/loadgen/sim"
)

func checked(t *testing.T, url string) (int, server.Findings) {
	t.Helper()
	var out bytes.Buffer
	code := Run(t.Context(), []string{"check", "--json", "--url", url}, &out, io.Discard)
	var f server.Findings
	if err := json.Unmarshal(out.Bytes(), &f); err != nil {
		t.Fatalf("%v: %s", err, out.String())
	}
	return code, f
}

// lineOf is what was found of a name.
func lineOf(f server.Findings, name string) server.Finding {
	for _, line := range f.Findings {
		if line.Name == name {
			return line
		}
	}
	return server.Finding{}
}

// says tells whether it was judged so.
func says(f server.Finding, ok bool) bool { return f.OK != nil && *f.OK == ok }

func TestCheckFindsAWorkingServerUsable(t *testing.T) {
	code, f := checked(t, engine(t, time.Millisecond))
	if code != exitDone || !f.Usable || f.Model != "simulated-8b" {
		t.Errorf("exit %d: %+v", code, f)
	}
	for _, name := range []string{"models", "health", "chat", "completions", "streaming", "usage", "model"} {
		if !says(lineOf(f, name), true) {
			t.Errorf("%s: %+v", name, lineOf(f, name))
		}
	}
	for _, name := range []string{"accepts seed", "accepts ignore_eos", "cached tokens"} {
		if lineOf(f, name).Detail == "" {
			t.Errorf("nothing on %s", name)
		}
	}
}

func TestCheckPrintsOneLineAFinding(t *testing.T) {
	var out bytes.Buffer
	if code := Run(t.Context(), []string{"check", "--url", engine(t, time.Millisecond)}, &out, io.Discard); code != exitDone {
		t.Fatalf("exit %d", code)
	}
	if !strings.Contains(out.String(), "ok  streaming") || strings.Contains(out.String(), "NO") {
		t.Errorf("%s", out.String())
	}
}

// oddServer answers chat requests with a given text and knows no other route but the models'.
func oddServer(t *testing.T, status int, text string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/models":
			_, _ = io.WriteString(w, `{"data":[{"id":"m","owned_by":"vllm"}]}`)
		case "/v1/chat/completions":
			w.Header().Set("Content-Type", "text/event-stream")
			w.WriteHeader(status)
			_, _ = io.WriteString(w, text)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func TestCheckNoticesAStreamThatIsBuffered(t *testing.T) {
	chunk := `data: {"model":"m","choices":[{"delta":{"content":"x"}}]}` + "\n\n"
	code, f := checked(t, oddServer(t, http.StatusOK, strings.Repeat(chunk, 8)+"data: [DONE]\n\n"))
	if code != exitDone || !says(lineOf(f, "streaming"), false) {
		t.Errorf("exit %d: %+v", code, lineOf(f, "streaming"))
	}
	if !says(lineOf(f, "usage"), false) || !says(lineOf(f, "completions"), false) || f.Engine != "vllm" {
		t.Errorf("%+v", f)
	}
}

func TestCheckDoesNotVouchForWhatItCannotTell(t *testing.T) {
	_, f := checked(t, oddServer(t, http.StatusOK, `data: {"choices":[{"delta":{"content":"x"}}]}`+"\n\ndata: [DONE]\n\n"))
	for _, name := range []string{"streaming", "model"} {
		if line := lineOf(f, name); line.OK != nil || line.Detail == "" {
			t.Errorf("%s: one chunk without a model's name is judged: %+v", name, line)
		}
	}
}

func TestCheckFailsWhereARunWould(t *testing.T) {
	for name, url := range map[string]string{
		"refusing":    oddServer(t, http.StatusUnauthorized, `{"error":{"message":"no key"}}`),
		"unreachable": "http://127.0.0.1:1",
	} {
		if code, f := checked(t, url); code != exitUsage || f.Usable {
			t.Errorf("%s: exit %d, %+v", name, code, f)
		}
	}
}

func TestCheckSaysWhatTheEngineIsAndWhichFieldsItTakes(t *testing.T) {
	for _, vendor := range sim.Vendors() {
		_, url := simulated(t, func(c *sim.Config) { c.Vendor, c.DecodeBase = vendor, time.Millisecond })
		code, f := checked(t, url)
		if code != exitDone || f.Schema != server.CheckSchema || f.Engine != string(vendor) || f.Accepted == nil {
			t.Fatalf("%s: exit %d: %+v", vendor, code, f)
		}
		if strict := vendor == sim.TensorRTLLM; slices.Contains(f.Accepted.Accepted, "return_token_ids") == strict {
			t.Errorf("%s: accepted %v, refused %v", vendor, f.Accepted.Accepted, f.Accepted.Refused)
		}
		if !slices.Contains(f.Accepted.Accepted, "ignore_eos") || len(f.Clues) == 0 && vendor != sim.OpenAI {
			t.Errorf("%s: %+v", vendor, f)
		}
	}
}

func TestCheckPrintsJSONByItsSchema(t *testing.T) {
	schema := validators(t)[checkOutput]
	for name, url := range map[string]string{
		"usable":      engine(t, time.Millisecond),
		"refusing":    oddServer(t, http.StatusUnauthorized, `{"error":{"message":"no key"}}`),
		"unreachable": "http://127.0.0.1:1",
	} {
		var out bytes.Buffer
		Run(t.Context(), []string{"check", "--json", "--url", url}, &out, io.Discard)
		value, err := jsonschema.UnmarshalJSON(&out)
		if err == nil {
			err = schema.Validate(value)
		}
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestCheckSeesCachedTokensAndGreedyDrift(t *testing.T) {
	_, url := simulated(t, func(c *sim.Config) { c.DecodeBase = time.Millisecond })
	_, f := checked(t, url)
	if detail := lineOf(f, "cached tokens").Detail; !strings.Contains(detail, "when the same request came again") || strings.HasPrefix(detail, "0 ") {
		t.Errorf("cached tokens: %q", detail)
	}
	if detail := lineOf(f, "greedy answers").Detail; !strings.HasPrefix(detail, "the same") {
		t.Errorf("greedy answers: %q", detail)
	}
	for name, change := range map[string]func(*sim.Config){
		"blocks of vLLM on a CPU":         func(c *sim.Config) { c.KV.TokensPerBlock = 128 },
		"blocks of a hybrid model":        func(c *sim.Config) { c.KV.TokensPerBlock, c.MaxModelTokens = 784, 4096 },
		"blocks of 128 that are not told": func(c *sim.Config) { c.KV.TokensPerBlock, c.Vendor = 128, sim.OpenAI },
		"a short context":                 func(c *sim.Config) { c.MaxModelTokens, c.KV.TokensPerBlock = 256, 32 },
		"one that is not told":            func(c *sim.Config) { c.MaxModelTokens, c.KV.TokensPerBlock, c.Vendor = 256, 32, sim.OpenAI },
	} {
		_, url := simulated(t, func(c *sim.Config) { c.DecodeBase, c.CachedTokens = time.Millisecond, true; change(c) })
		code, f := checked(t, url)
		if detail := lineOf(f, "cached tokens").Detail; code != exitDone || !strings.Contains(detail, "when the same request came again") || strings.HasPrefix(detail, "0 ") {
			t.Errorf("%s: exit %d, cached tokens: %q, %q", name, code, detail, lineOf(f, "chat").Detail)
		}
	}
	_, drifting := simulated(t, func(c *sim.Config) {
		c.DecodeBase, c.Faults.Drift = time.Millisecond, sim.Drift{Ratio: 1, Alone: true, FromToken: 2}
	})
	_, f = checked(t, drifting)
	if detail := lineOf(f, "greedy answers").Detail; !strings.HasPrefix(detail, "differ after ") {
		t.Errorf("greedy answers: %q", detail)
	}
}

func TestCheckNeverRepeatsASecret(t *testing.T) {
	const secret = "sk-very-secret-0123456789"
	t.Setenv("OPENAI_API_KEY", secret)
	for name, status := range map[string]int{"refusing": http.StatusUnauthorized, "quoting in band": http.StatusOK} {
		url := listing(t, "m", func(w http.ResponseWriter, r *http.Request) {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, `{"error":{"message":"bad key `+r.Header.Get("Authorization")+" "+r.Header.Get("X-Token")+`"}}`)
		})
		for _, args := range [][]string{{"check"}, {"check", "--json"}} {
			var out, complained bytes.Buffer
			code := Run(t.Context(), append(args, "--url", url, "--header", "X-Token:"+secret), &out, &complained)
			if text := out.String() + complained.String(); code != exitUsage || strings.Contains(text, secret) {
				t.Errorf("%s: exit %d: %s", name, code, text)
			}
		}
	}
}
