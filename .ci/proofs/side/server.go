package main

import (
	"encoding/json"
	"fmt"
	"hash/maphash"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// What an engine does here. It reads one prompt after the other and decodes each answer at a step of its own. The truth
// is what is stamped, not these.
const (
	perPromptToken = time.Second / 2000
	step           = 40 * time.Millisecond
	roleAfter      = 200 * time.Millisecond
	cacheBlock     = 16 // tokens that are found again together
	longestContext = 32768
	model          = "truth"
	longestBody    = 1 << 20
	longestProbe   = 8 // tokens that clients ask for before their cells
)

// faults by name; a server has one of them.
var faults = map[string]func(*server){
	"none":       func(*server) {},
	"early-role": func(s *server) { s.role = roleAfter },            // an event with the role before the prompt is read
	"four":       func(s *server) { s.perEvent, s.noIDs = 4, true }, // four tokens an event, without their ids
	"failures":   func(s *server) { s.failEvery = 3 },               // every third request fails when its prompt is read
	"no-cache":   func(s *server) { s.blocks = nil },                // prefix caching is off
}

// server is an OpenAI-compatible server of known truth.
type server struct {
	truth     truth
	role      time.Duration
	perEvent  int
	noIDs     bool
	failEvery int
	seed      maphash.Seed

	mutex   sync.Mutex
	free    time.Time       // when the prompts before are read
	blocks  map[uint64]bool // beginnings of prompts that were read; nil without a cache
	answers int
}

func newServer(fault string) (*server, error) {
	s := &server{perEvent: 1, blocks: map[uint64]bool{}, seed: maphash.MakeSeed()}
	apply := faults[fault]
	if apply == nil {
		return nil, fmt.Errorf("no fault %q", fault)
	}
	apply(s)
	return s, nil
}

// ServeHTTP implements [http.Handler].
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	received := s.truth.now()
	var asked struct {
		Stream        bool   `json:"stream"`
		MaxTokens     int    `json:"max_tokens"`
		MaxCompletion int    `json:"max_completion_tokens"`
		IDs           bool   `json:"return_token_ids"`
		Prompt        string `json:"prompt"`
		Messages      []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
		} `json:"messages"`
	}
	if r.Method == http.MethodPost {
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, longestBody)).Decode(&asked); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
	}
	switch r.Method + " " + r.URL.Path {
	case "GET /v1/models":
		reply(w, map[string]any{"object": "list", "data": []any{
			map[string]any{"id": model, "object": "model", "created": 0, "owned_by": "umascope-simulated", "max_model_len": longestContext},
		}})
	case "GET /health":
	case "POST /tokenize":
		reply(w, map[string]any{"count": len(strings.Fields(asked.Prompt)), "max_model_len": longestContext})
	case "POST /v1/chat/completions":
		// The chat template adds a token to each message, one to the beginning and one to the end.
		tokens := []string{"<s>"}
		for _, m := range asked.Messages {
			tokens = append(append(tokens, "<"+m.Role+">"), strings.Fields(m.Content)...)
		}
		tokens = append(tokens, "<assistant>")
		most := max(1, asked.MaxTokens, asked.MaxCompletion)
		if !asked.Stream {
			reply(w, map[string]any{
				"id": "1", "object": "chat.completion", "created": 0, "model": model, "usage": usage(len(tokens), 0, most),
				"choices": []any{map[string]any{"index": 0, "finish_reason": "length", "message": map[string]string{"role": "assistant", "content": strings.Repeat("a ", most)}}},
			})
			return
		}
		one := &request{ReceivedNS: received, Prompt: len(tokens), Asked: most, Status: http.StatusOK}
		a := answer{w: w, control: http.NewResponseController(w), truth: &s.truth, request: one, ids: asked.IDs && !s.noIDs, gone: r.Context().Done()}
		read, fails := s.schedule(tokens, one)
		a.stream(s, read, fails)
		s.remember(tokens)
	default:
		http.NotFound(w, r)
	}
}

// schedule takes a request in: it returns when its prompt will have been read, and whether it fails then.
func (s *server) schedule(tokens []string, one *request) (read time.Time, fails bool) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.truth.add(one)
	for _, sum := range s.beginnings(tokens) {
		if !s.blocks[sum] {
			break
		}
		one.Cached += cacheBlock
	}
	if now := time.Now(); s.free.Before(now) {
		s.free = now
	}
	s.free = s.free.Add(time.Duration(one.Prompt-one.Cached) * perPromptToken)
	if one.Asked > longestProbe {
		s.answers++
	}
	return s.free, s.failEvery > 0 && s.answers%s.failEvery == 0
}

// beginnings returns a sum of each beginning of a prompt that ends with a block, but for the last token, which is always
// computed.
func (s *server) beginnings(tokens []string) []uint64 {
	var hash maphash.Hash
	hash.SetSeed(s.seed)
	var sums []uint64
	for block := range slices.Chunk(tokens[:len(tokens)-1], cacheBlock) {
		if len(block) == cacheBlock {
			_, _ = hash.WriteString(strings.Join(block, " ") + " ")
			sums = append(sums, hash.Sum64())
		}
	}
	return sums
}

// remember puts a prompt into the cache.
func (s *server) remember(tokens []string) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	for _, sum := range s.beginnings(tokens) {
		if s.blocks != nil {
			s.blocks[sum] = true
		}
	}
}

// answer is a stream in progress.
type answer struct {
	w       http.ResponseWriter
	control *http.ResponseController
	truth   *truth
	request *request
	ids     bool
	gone    <-chan struct{}
}

func (a *answer) stream(s *server, read time.Time, fails bool) {
	begun := time.Now()
	role := event(map[string]any{"role": "assistant", "content": ""}, nil, "")
	a.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if s.role > 0 && !fails {
		a.wait(begun.Add(s.role))
		a.write(role)
		role = nil
	}
	a.wait(read)
	if fails {
		a.request.Status = http.StatusInternalServerError
		a.w.Header().Set("Content-Type", "application/json")
		a.w.WriteHeader(a.request.Status)
		reply(a.w, map[string]any{"error": map[string]any{"message": "the engine failed", "code": a.request.Status}})
		return
	}
	for sent := 0; sent < a.request.Asked; {
		n := min(s.perEvent, a.request.Asked-sent)
		sent += n
		// An event leaves when its last token is there; the first has all of its at the first token's moment.
		a.wait(read.Add(time.Duration(sent-min(s.perEvent, a.request.Asked)) * step))
		finish := ""
		if sent == a.request.Asked {
			finish = "length"
		}
		text := event(map[string]any{"content": strings.Repeat("a ", n)}, a.tokenIDs(n), finish)
		a.request.WrittenNS, a.request.Tokens = append(a.request.WrittenNS, a.truth.now()), append(a.request.Tokens, float64(n))
		a.write(append(role, text...))
		role = nil
	}
	last, _ := json.Marshal(map[string]any{"id": "1", "object": "chat.completion.chunk", "created": 0, "model": model, "choices": []any{}, "usage": usage(a.request.Prompt, a.request.Cached, a.request.Asked)})
	a.write([]byte("data: " + string(last) + "\n\ndata: [DONE]\n\n"))
}

func (a *answer) tokenIDs(n int) []int {
	if !a.ids {
		return nil
	}
	return make([]int, n)
}

// wait waits until a moment. A client that has gone is not answered, at once.
func (a *answer) wait(until time.Time) {
	select {
	case <-time.After(time.Until(until)):
	case <-a.gone:
	}
}

func (a *answer) write(text []byte) {
	_, _ = a.w.Write(text)
	_ = a.control.Flush()
}

func event(delta map[string]any, ids []int, finish string) []byte {
	choice := map[string]any{"index": 0, "delta": delta, "finish_reason": nil}
	if ids != nil {
		choice["token_ids"] = ids
	}
	if finish != "" {
		choice["finish_reason"] = finish
	}
	text, _ := json.Marshal(map[string]any{"id": "1", "object": "chat.completion.chunk", "created": 0, "model": model, "choices": []any{choice}})
	return []byte("data: " + string(text) + "\n\n")
}

func usage(prompt, cached, output int) map[string]any {
	return map[string]any{"prompt_tokens": prompt, "completion_tokens": output, "total_tokens": prompt + output, "prompt_tokens_details": map[string]int{"cached_tokens": cached}}
}

func reply(w http.ResponseWriter, value any) {
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	text, _ := json.Marshal(value)
	_, _ = w.Write(text)
}
