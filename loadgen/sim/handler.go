package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/engine/trtllm"
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
	version := route{spec.VersionPath, http.MethodGet, e.version}
	tokenize := route{"/tokenize", http.MethodPost, e.tokenize}
	switch e.vendor.name {
	case VLLM:
		return []route{metrics("/metrics", e.vllmPage), version, tokenize}
	case TensorRTLLM:
		return []route{metrics(trtllm.PagePath, e.tensorRTLLMPage), version}
	case Dynamo:
		return []route{metrics("/metrics", e.dynamoPage)}
	case OpenAI:
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
	fault := e.fault(number)
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

// health writes an empty response or, with Dynamo's frontend, an object.
func (e *Engine) health(w http.ResponseWriter, _ *http.Request) {
	open, model := e.serves()
	if e.vendor.name == Dynamo {
		status := map[bool]string{true: "healthy", false: "unhealthy"}[model]
		sendJSON(w, http.StatusOK, map[string]any{"status": status, "endpoints": []string{}, "instances": []string{}})
		return
	}
	if !open {
		e.refuse(w, stopped())
	}
}

func (e *Engine) version(w http.ResponseWriter, _ *http.Request) {
	sendJSON(w, http.StatusOK, map[string]string{"version": "0.0.0+simulated"})
}

type modelList struct {
	Object string      `json:"object"`
	Data   []modelInfo `json:"data"`
}

type modelInfo struct {
	ID          string `json:"id"`
	Object      string `json:"object"`
	Created     int64  `json:"created"`
	OwnedBy     string `json:"owned_by"`
	MaxModelLen int    `json:"max_model_len,omitempty"` // vLLM's name of the context length
}

// listModels lists the model unless it is gone; the frontend of Dynamo has a list before it has a worker.
func (e *Engine) listModels(w http.ResponseWriter, _ *http.Request) {
	open, model := e.serves()
	if !open && e.vendor.name != Dynamo {
		e.refuse(w, stopped())
		return
	}
	models := modelList{"list", []modelInfo{}}
	if model {
		models.Data = append(models.Data, e.modelInfo())
	}
	sendJSON(w, http.StatusOK, models)
}

func (e *Engine) modelInfo() modelInfo {
	info := modelInfo{ID: e.config.Model, Object: "model", Created: time.Now().Unix(), OwnedBy: e.vendor.ownedBy + spec.SimulatedSuffix}
	if e.vendor.listsContext {
		info.MaxModelLen = e.config.MaxModelTokens
	}
	return info
}

// tokenized is the answer of /tokenize, in vLLM's format.
type tokenized struct {
	Count       int      `json:"count"`
	MaxModelLen int      `json:"max_model_len"`
	Tokens      []uint32 `json:"tokens"`
}

// vocabularySize bounds the numbers of tokens.
const vocabularySize = 128 << 10

// tokenize counts the tokens of a prompt, or of messages with the template around them. The numbers of the tokens are
// hashes of all up to their ends: a prompt made of them has the same length, and no meaning.
func (e *Engine) tokenize(w http.ResponseWriter, r *http.Request) {
	text, p := readBody(w, r)
	if p != nil {
		e.refuse(w, p)
		return
	}
	var asked struct {
		Prompt   string    `json:"prompt"`
		Messages []message `json:"messages"`
	}
	if err := json.Unmarshal(text, &asked); err != nil {
		e.refuse(w, malformed(err))
		return
	}
	written := newTranscript(1, "") // in blocks of one token, so that each has a key
	if asked.Messages != nil {
		written.chat(asked.Messages)
	} else {
		written.write(asked.Prompt)
	}
	answer := tokenized{Count: written.tokens, MaxModelLen: e.config.MaxModelTokens, Tokens: make([]uint32, written.tokens)}
	for i, key := range written.keys {
		answer.Tokens[i] = uint32(key % vocabularySize)
	}
	sendJSON(w, http.StatusOK, answer)
}
