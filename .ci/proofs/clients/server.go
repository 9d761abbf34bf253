package main

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"os"
	"os/signal"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/umascope/umascope/loadgen/sim"
)

// served is one stream as the server recorded it, in nanoseconds of its monotonic clock: the ground truth.
type served struct {
	ID         string  `json:"id"` // the client's ID, or else the server's
	AcceptedNS int64   `json:"accepted_ns"`
	WrittenNS  []int64 `json:"written_ns"` // just before the write of each event with a token
}

// idHeader names a request, in either direction.
const idHeader = "X-Request-Id"

// model is the only one that the server lists. The suffix of its owner says that it is simulated.
const model = "simulated-paced"

// server is a paced engine with the other endpoints that clients use.
type server struct {
	paced                  sim.Paced
	clock                  func() int64
	open, requests, events atomic.Int64

	mutex sync.Mutex
	all   []served
}

func newServer(first, gap time.Duration, tokens int) *server {
	start := time.Now()
	return &server{paced: sim.Paced{FirstToken: first, Gap: gap, Tokens: tokens}, clock: func() int64 { return int64(time.Since(start)) }}
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]any{"object": "list", "data": []any{
			map[string]any{"id": model, "object": "model", "created": 0, "owned_by": "umascope-simulated", "max_model_len": 1 << 20},
		}})
	})
	mux.HandleFunc("GET /health", func(w http.ResponseWriter, _ *http.Request) { answer(w, map[string]string{"status": "ok"}) })
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, _ *http.Request) {
		answer(w, map[string]int64{"open": s.open.Load(), "requests": s.requests.Load(), "events": s.events.Load()})
	})
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	return mux
}

// longestBody limits the bytes that are read of a request.
const longestBody = 1 << 20

func (s *server) complete(w http.ResponseWriter, r *http.Request) {
	accepted := s.clock()
	var asked struct {
		Stream        bool `json:"stream"`
		MaxTokens     int  `json:"max_tokens"`
		MaxCompletion int  `json:"max_completion_tokens"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
	}
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, longestBody)).Decode(&asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	most := max(asked.MaxTokens, asked.MaxCompletion, 1)
	if !asked.Stream { // only probes of clients are no streams
		answer(w, map[string]any{
			"id": "simulated", "object": "chat.completion", "created": 0, "model": model,
			"choices": []any{map[string]any{"index": 0, "finish_reason": "length", "message": map[string]string{"role": "assistant", "content": "token"}}},
			"usage":   map[string]int{"prompt_tokens": 1, "completion_tokens": most, "total_tokens": most + 1},
		})
		return
	}
	paced := s.paced
	paced.Tokens = min(paced.Tokens, most)
	paced.NoUsage = !asked.StreamOptions.IncludeUsage
	one := served{ID: r.Header.Get(idHeader), AcceptedNS: accepted, WrittenNS: make([]int64, 0, paced.Tokens)}
	if number := s.requests.Add(1); one.ID == "" {
		one.ID = strconv.FormatInt(number, 10)
	}
	paced.Clock = func() int64 { // stamps of events are the ground truth to the nanosecond
		at := s.clock()
		one.WrittenNS = append(one.WrittenNS, at)
		s.events.Add(1)
		return at
	}
	w.Header().Set(idHeader, one.ID)
	s.open.Add(1)
	paced.ServeHTTP(w, r)
	s.open.Add(-1)
	s.mutex.Lock()
	s.all = append(s.all, one)
	s.mutex.Unlock()
}

func answer(w http.ResponseWriter, value any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(value) // the client has gone
}

// serve writes the ground truth last, so that it costs the clients nothing.
func serve(address, truth string, s *server) error {
	if err := s.paced.Check(); err != nil {
		return err
	}
	file, err := os.Create(truth)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	listening := http.Server{Addr: address, Handler: s.handler(), ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { listening.Close() })
	if err := listening.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	s.mutex.Lock()
	defer s.mutex.Unlock()
	encoder := json.NewEncoder(file)
	for _, one := range s.all {
		if err := encoder.Encode(one); err != nil {
			return err
		}
	}
	return file.Close()
}
