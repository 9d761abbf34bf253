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
	// lookInterval is the least time between two requests for the model list, since requests may fail by the thousand.
	lookInterval = time.Second
	// looksInRow is how many lists in a row must lack the model. A router may drop one for a moment while its workers
	// change.
	looksInRow = 2
	// goneAfter is how long the server's address must be unreachable. Otherwise a loop whose requests fail at once
	// would go on to fail thousands of them per second. A server that has to load a model does not come back in so
	// short a time.
	goneAfter = 5 * time.Second
	// longestHold is how long requests are held back while the model list is requested. A list that takes longer is
	// ignored.
	longestHold = 3 * time.Second
)

// stopKind is a kind of reason that ends a run before its plan does.
type stopKind string

const (
	modelDropped stopKind = "the model is not served any more"
	promptLimit  stopKind = "a prompt is above the server's limit"
)

// stopReason is a reason of that kind.
type stopReason struct {
	kind   stopKind
	detail string
}

func (r *stopReason) Error() string { return string(r.kind) + ": " + r.detail }

// guard examines requests that failed, and stops a run that can only go on failing: a prompt above the engine's limit
// would be followed by others, a worker of Dynamo that gets such a prompt removes its model, and a server that has
// ended accepts no connections.
type guard struct {
	models func(context.Context) ([]Model, error)
	model  string
	halt   context.CancelCauseFunc
	ctx    context.Context // ends the requests for the model list

	mutex   sync.Mutex
	reason  *stopReason
	looking bool
	held    chan struct{} // closed when requests may be sent again; nil if they may
	looked  time.Time
	// unreached is when connections began to fail; zero if they succeed.
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

// begin starts the next check of the model list, and holds requests back if the server denied the model. It returns
// false if a check is running, if the last one was a moment ago, or if the run is already stopped.
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

// hold stops dispatching until the check has ended. The caller holds the mutex.
func (g *guard) hold() {
	if g.held == nil {
		g.held = make(chan struct{})
	}
}

// release ends a hold. The caller holds the mutex.
func (g *guard) release() {
	if g.held != nil {
		close(g.held)
		g.held = nil
	}
}

// pass waits while requests are held back and reports whether it waited. It fails when the run was stopped or the
// context is done.
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

// look checks whether the server still lists the model. It ignores a list that cannot be fetched, unless connections
// of requests have failed too, and for goneAfter. A failed connection may be the client's own problem, such as too few
// file descriptors; a list that arrives shows that.
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

// reached resets unreached, after the server has answered.
func (g *guard) reached() {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	g.unreached = time.Time{}
}

// miss takes the result of a check that a failed connection has caused.
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

// stop ends the run. The first reason counts.
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

// stopped returns why the run was stopped, or nil.
func (g *guard) stopped() *stopReason {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	return g.reason
}

// wait waits until no check is running.
func (g *guard) wait() { g.looks.Wait() }

// denial matches the errors by which servers refuse a model that they do not have, in addition to the statuses 404 and
// 503. Those of engines are in their packages; gateways write
//
//	LiteLLM   400  Invalid model name passed in model=gone
//	smg       404  No worker available for model 'gone' (code model_not_found)
var denial = regexp.MustCompile(`(?i)invalid model name|no worker available for model|model .*(not found|does not exist|not ready to serve)`)

// deniesModel reports whether an answer suggests that the server no longer has the model.
func deniesModel(result openai.Result) bool {
	switch result.Record.HTTPStatus {
	case http.StatusNotFound, http.StatusServiceUnavailable:
		return true
	}
	return result.ErrorCode == "model_not_found" || denial.MatchString(result.Record.Error)
}

// limitCode matches the error codes and types for a prompt that is too long.
var limitCode = regexp.MustCompile(`^(context_length_exceeded|exceed_context_size_error|context_window_exceeded)$`)

// limitText matches the error texts of servers that send no such code; the packages of engines have theirs.
var limitText = regexp.MustCompile(`(?i)maximum context length|longer than the (maximum model length|model's context length)|` +
	`should not exceed max_num_tokens|(prompt|input) length \([0-9.]+( tokens)?\) exceeds|exceeds the available context size|` +
	`prompt is too long|prompt has [0-9]+ tokens`)

// overLimit reports whether a request failed because its prompt is longer than the server accepts.
func overLimit(result openai.Result) bool {
	return limitCode.MatchString(result.ErrorCode) || limitText.MatchString(result.Record.Error)
}
