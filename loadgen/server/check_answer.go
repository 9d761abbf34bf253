package server

import (
	"context"
	"fmt"

	"github.com/umascope/umascope/loadgen/openai"
)

// look reports the properties of the chosen endpoint's answer.
func (c *checker) look(ctx context.Context, result openai.Result) {
	c.streaming(result.Record)
	c.usage(result.Record)
	switch {
	case result.Model == "":
		c.found.note("model", "answers do not name their model")
	default:
		c.found.add("model", Model{ID: c.found.Model}.Named(result.Model), fmt.Sprintf("answers are from %q", result.Model))
	}
	again, err := c.probe.send(ctx, c.params(c.target.Endpoint))
	if err != nil {
		c.found.note("cached tokens", "the same request again: "+err.Error())
	} else {
		c.found.note("cached tokens", c.cached(again.Record))
	}
	c.greedy(result, again, err)
}

func (c *checker) streaming(record openai.Record) {
	if len(record.ArrivalsNS) < 2 {
		c.found.note("streaming", "one chunk only: nothing to tell from")
		return
	}
	c.found.add("streaming", !buffered(record), streamingText(record))
}

// usage reports what the server counts, and in which field.
func (c *checker) usage(record openai.Record) {
	if record.TokensSource != "usage" || record.TokensIn == nil || record.TokensOut == nil {
		c.found.add("usage", false, "the answer does not say how many tokens it has, nor its prompt: a chunk will count as one, and throughput and time per token are wrong where chunks hold several")
		return
	}
	detail := fmt.Sprintf("%d tokens in, %d out", *record.TokensIn, *record.TokensOut)
	if n := record.TokensReasoning; n != nil && *n > 0 {
		detail += fmt.Sprintf(", %d of them reasoning", *n)
	}
	c.found.add("usage", true, detail)
	if record.ArrivalTokens == nil {
		c.found.note("tokens of each chunk", "not told: inter-token latency will be missing")
		return
	}
	most := 0
	for _, n := range record.ArrivalTokens {
		most = max(most, n)
	}
	c.found.note("tokens of each chunk", fmt.Sprintf("told; at most %d in one", most))
}

// greedy compares two answers to one prompt at temperature 0.
func (c *checker) greedy(first, again openai.Result, err error) {
	if err != nil {
		return
	}
	if first.Output == again.Output {
		c.found.note("greedy answers", "the same when the same request came again")
		return
	}
	c.found.note("greedy answers", fmt.Sprintf("differ after %d characters when the same request came again: outputs can be compared only against this drift", commonPrefix(first.Output, again.Output)))
}

// buffered reports whether several payload chunks came in one read. Then a component between engine and client buffers
// the stream, and latencies within the stream have no meaning.
func buffered(record openai.Record) bool {
	if len(record.ReadIDs) < 2 {
		return false
	}
	for _, id := range record.ReadIDs {
		if id != record.ReadIDs[0] {
			return false
		}
	}
	return true
}

func streamingText(record openai.Record) string {
	if buffered(record) {
		return fmt.Sprintf("all %d chunks came in one read: something buffers the stream", len(record.ArrivalsNS))
	}
	return fmt.Sprintf("%d chunks, %d of them in a read with the one before", len(record.ArrivalsNS), record.SameReadChunks())
}
