package server

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
)

const (
	// lookInterval is the least time between two looks at a model list, of requests that fail by the
	// thousand.
	lookInterval = time.Second
	// looksInRow is how often in a row a list must lack the model: a router forgets one for a moment
	// while its workers change.
	looksInRow = 2
	// goneAfter is how long nothing at all may answer at the server's address. A loop whose requests
	// end at once, since nobody takes them, would go on to fail thousands of them a second; and what
	// has loaded a model does not come back in so short a time.
	goneAfter = 5 * time.Second
	// longestHold is how long nothing is sent while it is looked whether the model is gone: a list that
	// takes longer says nothing of the model.
	longestHold = 3 * time.Second
)

// stopKind is what a run must end for before its plan.
type stopKind string

const (
	modelDropped stopKind = "the model is not served any more"
	promptLimit  stopKind = "a prompt is above the server's limit"
)

// stopReason is one such end.
type stopReason struct {
	kind   stopKind
	detail string
}

func (r *stopReason) Error() string { return string(r.kind) + ": " + r.detail }

// guard looks at requests that failed, and stops a run that can only go on failing: a prompt above
// the engine's limit would be followed by others, a worker of Dynamo that gets one takes its
// model away, and a server that has ended takes no more connections.
type guard struct {
	models func(context.Context) ([]Model, error)
	model  string
	halt   context.CancelCauseFunc
	ctx    context.Context // ends the looks

	mutex   sync.Mutex
	reason  *stopReason
	looking bool
	held    chan struct{} // closed when requests may be sent again; nil if they may
	looked  time.Time
	// unreached is since when requests find nobody to connect to, if they do.
	unreached time.Time
	looks     sync.WaitGroup
}

// saw takes a result. It may be called from many goroutines and returns at once.
func (g *guard) saw(result openai.Result) {
	if result.Record.HTTPStatus != 0 {
		g.reached()
	}
	switch result.Record.Status {
	case openai.StatusConnect:
	case openai.StatusHTTP, openai.StatusInBand:
		if overLimit(result) {
			detail := fmt.Sprintf("request %d, of %d tokens as planned: %s", result.Record.Index, result.Record.InputTokensTarget, result.Record.Error)
			g.stop(&stopReason{promptLimit, detail})
			return
		}
	default:
		return
	}
	if g.begin(deniesModel(result)) {
		g.looks.Go(func() { g.look(result.Record.Status == openai.StatusConnect) })
	}
}

// begin claims the next look, and holds requests back where the server denied the model; false when a look
// is under way, was a moment ago, or nothing is left to find.
func (g *guard) begin(denied bool) bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	claimed := !g.looking && g.reason == nil && time.Since(g.looked) >= lookInterval
	g.looking = g.looking || claimed
	if denied && g.looking {
		g.hold()
	}
	return claimed
}

// hold stops dispatching until the look has ended. The mutex is held.
func (g *guard) hold() {
	if g.held == nil {
		g.held = make(chan struct{})
	}
}

// release ends a hold. The mutex is held.
func (g *guard) release() {
	if g.held != nil {
		close(g.held)
		g.held = nil
	}
}

// pass waits while requests are held back and reports whether it waited. It fails when the run was stopped
// or the context is done.
func (g *guard) pass(ctx context.Context) (waited bool, err error) {
	g.mutex.Lock()
	held, reason := g.held, g.reason
	g.mutex.Unlock()
	switch {
	case reason != nil:
		return false, reason
	case held == nil:
		return false, nil
	}
	select {
	case <-held:
	case <-ctx.Done():
		return true, ctx.Err()
	case <-time.After(longestHold):
		g.mutex.Lock()
		if g.held == held {
			g.release()
		}
		g.mutex.Unlock()
	}
	if reason := g.stopped(); reason != nil {
		return true, reason
	}
	return true, ctx.Err()
}

// look asks whether the model is still there. A list that cannot be had says nothing, unless a
// request could not connect either, and none has for long: a failure may be the client's own, such as
// a want of descriptors, and a list that comes says so.
func (g *guard) look(unreached bool) {
	defer func() {
		g.mutex.Lock()
		defer g.mutex.Unlock()
		g.looking, g.looked = false, time.Now()
		g.release()
	}()
	var listed []Model
	for range looksInRow {
		models, err := g.models(g.ctx)
		if unreached {
			g.miss(err)
		}
		if _, served := find(models, g.model); err != nil || served {
			return
		}
		listed = models
		g.mutex.Lock()
		g.hold()
		g.mutex.Unlock()
		select {
		case <-time.After(lookInterval / looksInRow):
		case <-g.ctx.Done():
			return
		}
	}
	g.stop(&stopReason{modelDropped, fmt.Sprintf("%q is not served any more; served are: %s", g.model, namesOf(listed))})
}

// reached forgets since when nobody was there: somebody has answered.
func (g *guard) reached() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.unreached = time.Time{}
}

// miss takes how a look ended that a failed connection was the reason for.
func (g *guard) miss(err error) {
	if err == nil {
		g.reached()
		return
	}
	g.mutex.Lock()
	since := g.unreached
	if since.IsZero() {
		g.unreached = time.Now()
	}
	g.mutex.Unlock()
	if g.ctx.Err() == nil && !since.IsZero() && time.Since(since) >= goneAfter {
		g.stop(&stopReason{modelDropped, fmt.Sprintf("nothing has answered at the server's address for %s: %v", goneAfter, err)})
	}
}

// stop ends the run for the first reason there is.
func (g *guard) stop(reason *stopReason) {
	g.mutex.Lock()
	first := g.reason == nil
	if first {
		g.reason = reason
	}
	g.mutex.Unlock()
	if first {
		g.halt(reason)
	}
}

// stopped is why the run was stopped, nil if it was not.
func (g *guard) stopped() *stopReason {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.reason
}

// wait ends when nobody looks any more.
func (g *guard) wait() { g.looks.Wait() }

// denial matches how servers refuse a model that they do not have, beside the statuses 404 and 503:
//
//	LiteLLM   400  Invalid model name passed in model=gone
//	smg       404  No worker available for model 'gone' (code model_not_found)
//	vLLM      404  The model `gone` does not exist.
//	Dynamo    404  Model not found
//	Dynamo    503  Model `m` is not ready to serve requests yet; Service temporarily unavailable
var denial = regexp.MustCompile(`(?i)invalid model name|no worker available for model|model .*(not found|does not exist|not ready to serve)`)

// deniesModel says whether a server may not have the model any more, by its answer.
func deniesModel(result openai.Result) bool {
	switch result.Record.HTTPStatus {
	case http.StatusNotFound, http.StatusServiceUnavailable:
		return true
	}
	return result.ErrorCode == "model_not_found" || denial.MatchString(result.Record.Error)
}

// limitCode matches the codes and types of errors that say that a prompt is too long: OpenAI's and
// llama.cpp's.
var limitCode = regexp.MustCompile(`^(context_length_exceeded|exceed_context_size_error|context_window_exceeded)$`)

// limitText matches how servers say it without a code. From their sources and issues:
//
//	vLLM          This model's maximum context length is 8192 tokens. However, you requested …
//	vLLM          The decoder prompt (length 9000) is longer than the maximum model length of 8192.
//	TensorRT-LLM  The sum of prompt length (9351.0), query length (0) should not exceed max_num_tokens (8192)
//	TensorRT-LLM  Prompt length (5056) exceeds maximum input length (2048)
//	SGLang        The input (9000 tokens) is longer than the model's context length (8192 tokens).
//	SGLang        Input length (9000 tokens) exceeds the maximum allowed length (8186 tokens)
//	SGLang        Requested token count exceeds the model's maximum context length of 8192 tokens.
//	llama.cpp     the request exceeds the available context size
var limitText = regexp.MustCompile(`(?i)maximum context length|longer than the (maximum model length|model's context length)|` +
	`should not exceed max_num_tokens|(prompt|input) length \([0-9.]+( tokens)?\) exceeds|exceeds the available context size|` +
	`prompt is too long|prompt has [0-9]+ tokens`)

// overLimit says whether a request failed because its prompt is longer than the server takes.
func overLimit(result openai.Result) bool {
	return limitCode.MatchString(result.ErrorCode) || limitText.MatchString(result.Record.Error)
}
