package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"io"
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

// served is one stream as the server recorded it, in nanoseconds on the server's monotonic clock. It is the ground
// truth for clients.
type served struct {
	ID         string  `json:"id"` // the client's ID, or else the server's
	AcceptedNS int64   `json:"accepted_ns"`
	WrittenNS  []int64 `json:"written_ns"` // just before the write of each event with a token
}

// state is the current work of the server, and its record.
type state struct {
	Open     int64 `json:"open"` // streams
	Requests int64 `json:"requests"`
	Events   int64 `json:"events"`
}

// idHeader names a request, in either direction.
const idHeader = "X-Request-Id"

// model is the only one that the server lists. The suffix of its owner says that it is simulated.
const model = "simulated-paced"

// server is a paced engine with the other endpoints that clients use.
type server struct {
	paced        sim.Paced
	hangUp       bool
	clock        func() int64
	requests     atomic.Int64
	open, events atomic.Int64

	mutex sync.Mutex
	all   []served
}

func newServer(paced sim.Paced, hangUp bool) *server {
	start := time.Now()
	return &server{paced: paced, hangUp: hangUp, clock: func() int64 { return int64(time.Since(start)) }}
}

func (s *server) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/models", answer(map[string]any{"object": "list", "data": []any{
		map[string]any{"id": model, "object": "model", "created": 0, "owned_by": "umascope-simulated", "max_model_len": 1 << 20},
	}}))
	mux.HandleFunc("GET /health", answer(map[string]string{"status": "ok"}))
	mux.HandleFunc("GET /state", func(w http.ResponseWriter, r *http.Request) {
		answer(state{s.open.Load(), s.requests.Load(), s.events.Load()})(w, r)
	})
	mux.HandleFunc("POST /v1/chat/completions", s.complete)
	return mux
}

// asked has the fields of a request that the server reads.
type asked struct {
	Stream        bool `json:"stream"`
	MaxTokens     int  `json:"max_tokens"`
	MaxCompletion int  `json:"max_completion_tokens"`
	StreamOptions struct {
		IncludeUsage bool `json:"include_usage"`
	} `json:"stream_options"`
}

// longestBody limits the bytes that are read of a request.
const longestBody = 1 << 20

func (s *server) complete(w http.ResponseWriter, r *http.Request) {
	accepted := s.clock()
	var a asked
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, longestBody)).Decode(&a); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	if s.hangUp {
		w.Header().Set("Connection", "close")
	}
	if !a.Stream { // only probes of clients are no streams
		answer(whole(max(a.MaxTokens, a.MaxCompletion, 1)))(w, r)
		return
	}
	s.stream(w, r, accepted, a)
}

// stream is a copy of the paced server's answer that records the clock: the timestamps of the events are the ground
// truth to the nanosecond.
func (s *server) stream(w http.ResponseWriter, r *http.Request, accepted int64, a asked) {
	paced := s.paced
	if most := max(a.MaxTokens, a.MaxCompletion); most > 0 {
		paced.Tokens = min(paced.Tokens, most)
	}
	paced.NoUsage = !a.StreamOptions.IncludeUsage
	one := served{ID: r.Header.Get(idHeader), AcceptedNS: accepted, WrittenNS: make([]int64, 0, paced.Tokens)}
	if number := s.requests.Add(1); one.ID == "" {
		one.ID = strconv.FormatInt(number, 10)
	}
	paced.Clock = func() int64 {
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

// write writes the ground truth, a stream a line. It comes last, so that it costs the clients nothing.
func (s *server) write(to io.Writer) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	encoder := json.NewEncoder(to)
	for _, one := range s.all {
		if err := encoder.Encode(one); err != nil {
			return err
		}
	}
	return nil
}

func answer(value any) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(value) // the client has gone
	}
}

// whole is an answer in one piece.
func whole(tokens int) map[string]any {
	return map[string]any{
		"id": "simulated", "object": "chat.completion", "created": 0, "model": model,
		"choices": []any{map[string]any{
			"index": 0, "finish_reason": "length", "message": map[string]string{"role": "assistant", "content": "token"},
		}},
		"usage": map[string]int{"prompt_tokens": 1, "completion_tokens": tokens, "total_tokens": tokens + 1},
	}
}

// serve is the sub-command: it serves until a signal, and then writes the ground truth.
func serve(args []string) error {
	flags := flag.NewFlagSet("serve", flag.ContinueOnError)
	address := flags.String("address", "127.0.0.1:0", "where to listen")
	truth := flags.String("truth", "", "file for what was served")
	hangUp := flags.Bool("hang-up", false, "close the connection after each answer")
	var paced sim.Paced
	flags.DurationVar(&paced.FirstToken, "first", 0, "time to the first event")
	flags.DurationVar(&paced.Gap, "gap", 0, "time between two events")
	flags.DurationVar(&paced.Role, "role", 0, "time to an event with the role alone")
	flags.DurationVar(&paced.End, "end", 0, "time from the last token to the end")
	flags.IntVar(&paced.Tokens, "tokens", 1, "most events of a stream")
	if err := errors.Join(flags.Parse(args), paced.Check()); err != nil {
		return err
	}
	file, err := os.Create(*truth)
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM, os.Interrupt)
	defer stop()
	s := newServer(paced, *hangUp)
	listening := http.Server{Addr: *address, Handler: s.handler(), ReadHeaderTimeout: time.Minute}
	context.AfterFunc(ctx, func() { listening.Close() })
	if err := listening.ListenAndServe(); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return errors.Join(s.write(file), file.Close())
}
