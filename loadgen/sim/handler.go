package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus/promhttp"
)

const (
	// simulatedHeader is on every response: nobody shall take these figures for a machine's.
	simulatedHeader = "X-Simulated"
	simulatedBy     = "umascope"

	maxBodyBytes = 16 << 20
)

// route is one path and the one method it takes.
type route struct {
	path, method string
	serve        http.HandlerFunc
}

// routes is the list of all that the server answers.
func (e *Engine) routes() http.Handler {
	page := promhttp.HandlerFor(e.meter.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.HTTPErrorOnError})
	mux := http.NewServeMux()
	for _, r := range []route{
		{"/v1/chat/completions", http.MethodPost, func(w http.ResponseWriter, r *http.Request) { e.complete(chatCompletions, w, r) }},
		{"/v1/completions", http.MethodPost, func(w http.ResponseWriter, r *http.Request) { e.complete(completions, w, r) }},
		{"/v1/models", http.MethodGet, e.listModels},
		{"/health", http.MethodGet, e.health},
		{"/metrics", http.MethodGet, page.ServeHTTP},
	} {
		mux.HandleFunc(r.path, r.only)
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) { unknownPath(r.URL.Path).send(w) })
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(simulatedHeader, simulatedBy)
		mux.ServeHTTP(w, r)
	})
}

// only refuses other methods, with the error object that clients of this interface can read.
func (r route) only(w http.ResponseWriter, got *http.Request) {
	if got.Method != r.method {
		w.Header().Set("Allow", r.method)
		wrongMethod(got.Method, r.method).send(w)
		return
	}
	r.serve(w, got)
}

func (e *Engine) health(w http.ResponseWriter, _ *http.Request) {
	if !e.running() {
		stopped().send(w)
	}
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
	MaxModelLen int    `json:"max_model_len"` // vLLM's word for the context length
}

func (e *Engine) listModels(w http.ResponseWriter, _ *http.Request) {
	if !e.running() {
		stopped().send(w)
		return
	}
	sendJSON(w, http.StatusOK, modelList{"list", []modelInfo{{
		ID: e.config.Model, Object: "model", Created: time.Now().Unix(),
		OwnedBy: simulatedBy + "-simulated", MaxModelLen: e.config.MaxModelTokens,
	}}})
}

// complete answers one request on either endpoint.
func (e *Engine) complete(to endpoint, w http.ResponseWriter, r *http.Request) {
	arrived := time.Now()
	text, p := readBody(w, r)
	if p != nil {
		p.send(w)
		return
	}
	asked, p := e.config.decode(to, text)
	if p != nil {
		p.send(w)
		return
	}
	said := write(e.config, asked)
	s := newSequence(asked, said, arrived)
	if !e.submit(s) {
		stopped().send(w)
		return
	}
	// Whatever ends the response also ends the sequence: a client that went away frees its place.
	defer e.leave(s)
	reply := e.newReply(to, asked, said)
	if asked.stream {
		stream(r.Context(), w, s, reply, e.config.TokensPerChunk)
	} else {
		sendWhole(r.Context(), w, s, reply)
	}
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

// sendWhole answers without streaming: once everything is there.
func sendWhole(ctx context.Context, w http.ResponseWriter, s *sequence, reply reply) {
	for seen := 0; seen < s.answerTokens; {
		generated, err := s.wait(ctx, seen)
		if errors.Is(err, errStopped) {
			stopped().send(w)
		}
		if err != nil {
			return
		}
		seen = generated
	}
	sendJSON(w, http.StatusOK, reply.whole())
}

// errStopped is why a sequence gets no more tokens although its client is there.
var errStopped = errors.New("the simulated engine was stopped")

// wait returns how many tokens are generated once there are more than seen. The error is
// errStopped, or that of the context when the client went away.
func (s *sequence) wait(ctx context.Context, seen int) (int, error) {
	for {
		// In this order: tokens handed out before the end are still delivered.
		failed := s.failed.Load()
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

// send writes the problem as the whole response.
func (p *problem) send(w http.ResponseWriter) { sendJSON(w, p.status, wrapped{p}) }

// wrapped is the error object as it stands in a response or in a stream.
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
	// A client that is gone is seen by the context of its request, not here.
	_, _ = w.Write(append(text, '\n'))
}
