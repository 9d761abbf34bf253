package server

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/umascope/umascope/exporter/engine/supported"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// picky answers every request with one token, refuses those with a field that it does not take, and
// remembers all that it answered.
type picky struct {
	refused []string
	status  int // of every answer, if not 0
	// tokens counts the prompt of a request; nil: one token a byte.
	tokens func(prompt string) int
	// models is the answer to the request for the models, with its status; nil: one model, m.
	models *reply
	// refusal is the status of refusals; 0: 422. With 200 they are errors in the answer.
	refusal int

	mutex sync.Mutex
	taken []map[string]any
}

func (p *picky) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/v1/models":
		if p.models != nil {
			w.WriteHeader(p.models.status)
			_, _ = w.Write(p.models.body)
			return
		}
		_, _ = io.WriteString(w, `{"data":[{"id":"m","owned_by":"somebody"}]}`)
		return
	case "/v1/chat/completions":
	default:
		http.NotFound(w, r)
		return
	}
	var fields map[string]any
	if json.NewDecoder(r.Body).Decode(&fields) != nil || fields["messages"] == nil {
		http.Error(w, "no messages", http.StatusBadRequest)
		return
	}
	if p.status != 0 {
		http.Error(w, "not today", p.status)
		return
	}
	for _, name := range p.refused {
		if holds(fields, name) {
			w.WriteHeader(cmp.Or(p.refusal, http.StatusUnprocessableEntity))
			fmt.Fprintf(w, `{"detail":"Extra inputs are not permitted: %s"}`, name)
			return
		}
	}
	p.answer(w, fields)
}

func (p *picky) answer(w http.ResponseWriter, fields map[string]any) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.taken = append(p.taken, fields)
	prompt := fields["messages"].([]any)[0].(map[string]any)["content"].(string)
	tokens := len(prompt)
	if p.tokens != nil {
		tokens = p.tokens(prompt)
	}
	const choice = `{"model":"m","choices":[{%q:{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":%d,"completion_tokens":1}}`
	if fields["stream"] == true {
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprintf(w, "data: "+choice+"\n\ndata: [DONE]\n\n", "delta", tokens)
		return
	}
	fmt.Fprintf(w, choice, "message", tokens)
}

// holds looks a field up, one inside an object by its dotted name.
func holds(fields map[string]any, name string) bool {
	outer, inner, nested := strings.Cut(name, ".")
	if object, ok := fields[outer].(map[string]any); ok && nested {
		return object[inner] != nil
	}
	return !nested && fields[name] != nil
}

func TestFieldsAreProbedTogetherAndOnlyOnRefusalOneByOne(t *testing.T) {
	asked := func(p *picky, engine string) (int, rundir.Acceptance) {
		server := httptest.NewServer(p)
		defer server.Close()
		probe := proberOf(t, server.URL, engine)
		found, err := probe.accept(t.Context(), Wanted{IgnoreEOS: true, Stream: true}.wishes(VendorOf(supported.Engines(), engine), openai.Chat))
		if err != nil {
			t.Fatal(err)
		}
		return len(p.taken), found
	}
	if n, found := asked(&picky{}, "vllm"); n != 1 || len(found.Accepted) != 3 {
		t.Errorf("%d requests, %+v", n, found)
	}
	// Plain, ignore_eos, min_tokens; continuous usage was refused.
	if n, found := asked(&picky{refused: []string{"stream_options.continuous_usage_stats"}}, "vllm"); n != 3 || len(found.Refused) != 1 {
		t.Errorf("%d requests, %+v", n, found)
	}
}

func proberOf(t *testing.T, url, engine string) *prober {
	t.Helper()
	probe, err := newProber(Target{Known: supported.Engines(), URL: url}, "", openai.Params{Endpoint: openai.Chat, Model: "m", Vendor: VendorOf(supported.Engines(), engine), TopP: 1, Stream: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(probe.close)
	return probe
}

func TestAServerThatFailsForAMomentIsNotTakenForOneThatRefuses(t *testing.T) {
	server := httptest.NewServer(&picky{status: http.StatusServiceUnavailable})
	defer server.Close()
	wishes := Wanted{Stream: true}.wishes(VendorOf(supported.Engines(), "vllm"), openai.Chat)
	found, err := proberOf(t, server.URL, "vllm").accept(t.Context(), wishes)
	if err != nil || !strings.Contains(found.Unknown, "503") || fieldsOf(found, wishes) != nil || missing(found, wishes) != nil {
		t.Errorf("%+v, %v", found, err)
	}
}

func TestFieldsThatDecideALengthAreNotProbed(t *testing.T) {
	asked := Wanted{Stream: true, Extra: map[string]any{"max_tokens": 4096, "min_tokens": 100, "top_k": 5}}
	var names []string
	for _, w := range asked.wishes(openai.Vendor{}, openai.Chat) {
		names = append(names, w.name)
	}
	if !slices.Equal(names, []string{"top_k"}) {
		t.Errorf("%v", names)
	}
}

// What is probed must be what is sent: a server may take some salts and refuse others.
func TestASaltIsProbedInTheFormThatARunSends(t *testing.T) {
	strict := &picky{}
	server := httptest.NewServer(strict)
	defer server.Close()
	wishes := Wanted{CacheSalt: true}.wishes(VendorOf(supported.Engines(), "vllm"), openai.Chat)
	if _, err := proberOf(t, server.URL, "vllm").accept(t.Context(), wishes); err != nil {
		t.Fatal(err)
	}
	probed, _ := strict.taken[0]["cache_salt"].(string)
	if sent := openai.CacheSalt("run", "baseline_1"); len(probed) != len(sent) || probed[:4] != sent[:4] {
		t.Errorf("probed %q, sent %q", probed, sent)
	}
}
