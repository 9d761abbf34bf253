package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/umascope/umascope/exporter/metric"
)

const (
	// simulatedHeader is on every response, so that its figures are not taken for a real machine's.
	simulatedHeader = "X-Simulated"
	simulatedBy     = "umascope"

	maxBodyBytes = 16 << 20
)

// route is one path and its method; empty is any.
type route struct {
	path, method string
	serve        http.HandlerFunc
}

// routes returns all routes of the server.
func (e *Engine) routes() http.Handler {
	mux := http.NewServeMux()
	for _, r := range append([]route{
		{"/v1/chat/completions", http.MethodPost, func(w http.ResponseWriter, r *http.Request) { e.complete(chatCompletions, w, r) }},
		{"/v1/completions", http.MethodPost, func(w http.ResponseWriter, r *http.Request) { e.complete(completions, w, r) }},
		{"/v1/models", http.MethodGet, e.listModels},
		{"/health", http.MethodGet, e.health},
	}, e.vendorRoutes()...) {
		mux.HandleFunc(r.path, func(w http.ResponseWriter, got *http.Request) { e.only(r, w, got) })
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { e.refuse(w, unknownPath(r.URL.Path)) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(simulatedHeader, simulatedBy)
		mux.ServeHTTP(w, r)
	})
}

// vendorRoutes returns the routes that only some vendors have.
func (e *Engine) vendorRoutes() []route {
	// The page of prometheus_client, which all of these but Dynamo use, ignores the method: AIPerf checks by HEAD
	// whether it exists.
	metrics := func(path string, of func() page) route {
		return route{path, "", func(w http.ResponseWriter, r *http.Request) { of().handler().ServeHTTP(w, r) }}
	}
	version := route{metric.ForeignVersionPath, http.MethodGet, e.version}
	tokenize := route{"/tokenize", http.MethodPost, e.tokenize}
	retrieve := route{"/v1/models/{model...}", http.MethodGet, e.retrieveModel} // ids have slashes
	switch e.vendor.name {
	case VLLM:
		return []route{metrics("/metrics", e.vllmPage), version, tokenize, {"/reset_prefix_cache", http.MethodPost, e.forget}}
	case TensorRTLLM:
		return []route{metrics(metric.ForeignTensorRTLLMPagePath, e.tensorRTLLMPage), version,
			{metric.ForeignTensorRTLLMDrainingPath, http.MethodGet, e.drain}}
	case SGLang:
		return []route{metrics("/metrics", e.sglangPage), tokenize, retrieve, {"/flush_cache", http.MethodPost, e.forget}}
	case Dynamo:
		return []route{metrics("/metrics", e.dynamoPage)}
	case OpenAI:
		return []route{retrieve} // Ollama has it
	}
	return nil
}

// only refuses other methods, with an error object of the OpenAI API.
func (e *Engine) only(r route, w http.ResponseWriter, got *http.Request) {
	if r.method != "" && got.Method != r.method {
		w.Header().Set("Allow", r.method)
		e.refuse(w, wrongMethod(got.Method, r.method))
		return
	}
	r.serve(w, got)
}

// refuse writes the problem as the whole response, in the vendor's form.
func (e *Engine) refuse(w http.ResponseWriter, p *problem) {
	sendJSON(w, p.status, e.vendor.written(p))
}

// complete answers one request on either endpoint.
func (e *Engine) complete(to endpoint, w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	number := e.accepted.Add(1)
	text, p := readBody(w, r)
	if p != nil {
		e.refuse(w, p)
		return
	}
	asked, p := e.check(to, text)
	fault := e.faultOf(number)
	if p == nil && fault.Kind == FaultRefuse {
		p = broken()
	}
	if p != nil {
		e.refuse(w, p)
		return
	}
	s := newSequence(number, asked, write(e.config, asked), arrived)
	if !e.submit(s) {
		e.refuse(w, stopped())
		return
	}
	// The end of the response also ends the sequence: a disconnected client frees its place.
	defer e.leave(s)
	e.newDelivery(r.Context(), w, to, s, fault).run(asked.stream)
}

// check reads a request. A model that is gone is unknown; a prompt that is too long for every worker may remove it.
func (e *Engine) check(to endpoint, text []byte) (request, *problem) {
	open, model := e.serves()
	if open && !model {
		return request{}, unknownModel(e.config.Model)
	}
	asked, p := e.config.decode(to, text)
	if p != nil && p.long && e.config.DropOnLongPrompt {
		e.dropModel()
	}
	return asked, p
}

func readBody(w http.ResponseWriter, r *http.Request) ([]byte, *problem) {
	text, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBodyBytes))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, tooLarge(large.Limit)
	}
	if err != nil {
		return nil, invalid("", "the body could not be read: %v", err)
	}
	return text, nil
}

// Why a sequence gets no more tokens although its client is connected.
var (
	errStopped = errors.New("the simulated engine was stopped")
	errCrash   = errors.New("the simulated engine crashed")
)

// wait returns how many tokens are generated once there are more than seen. The error is errStopped, errCrash, or that
// of the context if the client disconnected.
func (s *sequence) wait(ctx context.Context, seen int) (int, error) {
	for {
		// In this order: tokens generated before the end are still delivered.
		failed := s.failed.Load()
		if failed && s.crashed.Load() {
			return seen, errCrash
		}
		if generated := int(s.generated.Load()); generated > seen {
			return generated, nil
		}
		if failed {
			return seen, errStopped
		}
		select {
		case <-s.changed:
		case <-ctx.Done():
			return seen, ctx.Err()
		}
	}
}

// wrapped is the error object in a response or in a stream.
type wrapped struct {
	Error *problem `json:"error"`
}

func sendJSON(w http.ResponseWriter, status int, value any) {
	text, err := json.Marshal(value)
	if err != nil {
		http.Error(w, fmt.Sprintf("the response could not be written: %v", err), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The context of the request reports a disconnected client, not this write.
	_, _ = w.Write(append(text, '\n'))
}
