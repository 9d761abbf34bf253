package sim

import (
	"fmt"
	"time"
)

// response is all four shapes of a response: of either endpoint, whole or one event of a stream.
type response struct {
	ID                string   `json:"id"`
	Object            string   `json:"object"`
	Created           int64    `json:"created"` // seconds since 1970
	Model             string   `json:"model"`
	SystemFingerprint string   `json:"system_fingerprint"`
	Choices           []choice `json:"choices"`
	Usage             *usage   `json:"usage,omitempty"`
}

// choice has one of Text, Message and Delta.
type choice struct {
	Index        int           `json:"index"`
	Text         *string       `json:"text,omitempty"`
	Message      *turn         `json:"message,omitempty"`
	Delta        *turn         `json:"delta,omitempty"`
	Logprobs     *struct{}     `json:"logprobs"` // always null
	FinishReason *finishReason `json:"finish_reason"`
}

// turn is a message, or a piece of one, of the assistant.
type turn struct {
	Role    string `json:"role,omitempty"`
	Content string `json:"content"`
}

const assistant = "assistant"

type usage struct {
	PromptTokens        int           `json:"prompt_tokens"`
	CompletionTokens    int           `json:"completion_tokens"`
	TotalTokens         int           `json:"total_tokens"`
	PromptTokensDetails promptDetails `json:"prompt_tokens_details"`
}

type promptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// reply knows how to write down one answer.
type reply struct {
	to     endpoint
	asked  request
	said   answer
	common response // what all responses to one request share
}

func (e *Engine) newReply(to endpoint, asked request, said answer) reply {
	prefix := "cmpl"
	if to == chatCompletions {
		prefix = "chatcmpl"
	}
	return reply{to, asked, said, response{
		ID:      fmt.Sprintf("%s-simulated-%d", prefix, e.accepted.Add(1)),
		Object:  string(to),
		Created: time.Now().Unix(), Model: e.config.Model,
		SystemFingerprint: fmt.Sprintf("simulated-%d", e.config.Seed),
		Choices:           []choice{},
	}}
}

// usage after so many tokens of answer.
func (r reply) usage(tokens int) *usage {
	return &usage{PromptTokens: r.asked.promptTokens, CompletionTokens: tokens, TotalTokens: r.asked.promptTokens + tokens}
}

// whole is the response without streaming.
func (r reply) whole() response {
	c := choice{FinishReason: &r.said.reason}
	if r.to == chatCompletions {
		c.Message = &turn{assistant, r.said.text}
	} else {
		c.Text = &r.said.text
	}
	out := r.common
	out.Choices = []choice{c}
	out.Usage = r.usage(r.said.tokens())
	return out
}

// event is one event of a stream.
func (r reply) event(c []choice, usage *usage) response {
	out := r.common
	if r.to == chatCompletions {
		out.Object += ".chunk"
	}
	out.Choices, out.Usage = c, usage
	return out
}

// opening is the event that names the role and carries no token; ok only in a chat.
func (r reply) opening() (out response, ok bool) {
	return r.event([]choice{{Delta: &turn{Role: assistant}}}, r.continuous(0)), r.to == chatCompletions
}

// chunk is the event of tokens from up to, and not including, to. Not ok: there is nothing to
// say in it, because its tokens have no text and it is not the last.
func (r reply) chunk(from, to int) (out response, ok bool) {
	text := r.said.between(from, to)
	c := choice{}
	if r.to == chatCompletions {
		c.Delta = &turn{Content: text}
	} else {
		c.Text = &text
	}
	last := to == r.said.tokens()
	if last {
		c.FinishReason = &r.said.reason
	}
	return r.event([]choice{c}, r.continuous(to)), last || text != ""
}

// closing is the event with the usage alone; ok only if it was asked for.
func (r reply) closing() (out response, ok bool) {
	return r.event([]choice{}, r.usage(r.said.tokens())), r.asked.usage
}

// continuous is the usage so far, where every event is to carry it.
func (r reply) continuous(tokens int) *usage {
	if !r.asked.usageAlways {
		return nil
	}
	return r.usage(tokens)
}
