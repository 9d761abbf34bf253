package loadgen

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/report"
)

const (
	// lookInterval is the least time between two looks at a model list, of requests that fail by the
	// thousand.
	lookInterval = time.Second
	// looksInRow is how often in a row a list must lack the model: a router forgets one for a moment
	// while its workers change.
	looksInRow = 2
)

// stopReason is why a run ends before its plan, as a code of validity.
type stopReason struct {
	code   report.Code
	detail string
}

func (r *stopReason) Error() string { return string(r.code) + ": " + r.detail }

// guard looks at requests that failed, and stops a run that can only go on failing: a prompt above
// the engine's limit would be followed by others, and a worker of Dynamo that gets one takes its
// model away.
type guard struct {
	models func(context.Context) ([]model, error)
	model  string
	halt   context.CancelCauseFunc
	ctx    context.Context // ends the looks

	mutex   sync.Mutex
	reason  *stopReason
	looking bool
	looked  time.Time
	looks   sync.WaitGroup
}

// saw takes a result. It may be called from many goroutines and returns at once.
func (g *guard) saw(result chat.Result) {
	if status := result.Record.Status; status != chat.StatusHTTP && status != chat.StatusInBand {
		return
	}
	if overLimit(result) {
		detail := fmt.Sprintf("request %d, of %d tokens as planned: %s", result.Record.Index, result.Record.InputTokensTarget, result.Record.Error)
		g.stop(&stopReason{report.CodePromptLimit, detail})
		return
	}
	if g.begin() {
		g.looks.Go(g.look)
	}
}

// begin claims the next look; false when one is under way, was a moment ago, or nothing is left to
// find.
func (g *guard) begin() bool {
	g.mutex.Lock()
	defer g.mutex.Unlock()
	if g.looking || g.reason != nil || time.Since(g.looked) < lookInterval {
		return false
	}
	g.looking = true
	return true
}

// look asks whether the model is still there. A list that cannot be had says nothing: a server that
// does not answer at all is what the error rate is for.
func (g *guard) look() {
	defer func() {
		g.mutex.Lock()
		defer g.mutex.Unlock()
		g.looking, g.looked = false, time.Now()
	}()
	var listed []model
	for range looksInRow {
		models, err := g.models(g.ctx)
		if err != nil || slices.ContainsFunc(models, func(m model) bool { return m.ID == g.model }) {
			return
		}
		listed = models
		select {
		case <-time.After(lookInterval / looksInRow):
		case <-g.ctx.Done():
			return
		}
	}
	g.stop(&stopReason{report.CodeModelDropped, fmt.Sprintf("%q is not served any more; served are: %s", g.model, namesOf(listed))})
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
func overLimit(result chat.Result) bool {
	return limitCode.MatchString(result.ErrorCode) || limitText.MatchString(result.Record.Error)
}
