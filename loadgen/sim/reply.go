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
	PromptTokens        int            `json:"prompt_tokens"`
	CompletionTokens    int            `json:"completion_tokens"`
	TotalTokens         int            `json:"total_tokens"`
	PromptTokensDetails *promptDetails `json:"prompt_tokens_details,omitempty"`
}

type promptDetails struct {
	CachedTokens int `json:"cached_tokens"`
}

// reply formats one answer. It is made when the first token is there: until then neither the answer nor the cached part
// of its prompt is final.
type reply struct {
	to           endpoint
	asked        request
	answer       answer
	reportCached bool
	cached       int      // prompt tokens found in the tiers
	common       response // the common part of all responses to one request
}

func (e *Engine) newReply(to endpoint, s *sequence) *reply {
	prefix := "cmpl"
	if to == chatCompletions {
		prefix = "chatcmpl"
	}
	return &reply{
		to: to, asked: s.asked, answer: s.answer, reportCached: e.config.CachedTokens, cached: s.hits.blocks() * e.config.KV.TokensPerBlock,
		common: response{
			ID:      fmt.Sprintf("%s-simulated-%d", prefix, s.number),
			Object:  string(to),
			Created: time.Now().Unix(), Model: e.config.Model,
			SystemFingerprint: fmt.Sprintf("simulated-%d", e.config.Seed),
			Choices:           []choice{},
		},
	}
}

// usage returns the usage after so many tokens of answer.
func (r *reply) usage(tokens int) *usage {
	u := &usage{PromptTokens: r.asked.promptTokens, CompletionTokens: tokens, TotalTokens: r.asked.promptTokens + tokens}
	if r.reportCached {
		u.PromptTokensDetails = &promptDetails{r.cached}
	}
	return u
}

// whole returns the response without streaming.
func (r *reply) whole() response {
	c := choice{FinishReason: &r.answer.reason}
	if r.to == chatCompletions {
		c.Message = &turn{assistant, r.answer.text}
	} else {
		c.Text = &r.answer.text
	}
	out := r.common
	out.Choices, out.Usage = []choice{c}, r.usage(r.answer.tokens())
	return out
}

// event returns one event of a stream after so many tokens.
func (r *reply) event(c choice, tokens int) response {
	out := r.common
	if r.to == chatCompletions {
		out.Object += ".chunk"
	}
	out.Choices = []choice{c}
	if r.asked.usageAlways {
		out.Usage = r.usage(tokens)
	}
	return out
}

// opening returns the event that names the role and carries no token; ok only in a chat.
func (r *reply) opening() (out response, ok bool) {
	return r.event(choice{Delta: &turn{Role: assistant}}, 0), r.to == chatCompletions
}

// token returns the event of token i. ok is false if the event would be empty: the token has no text and is not the
// last.
func (r *reply) token(i int) (out response, ok bool) {
	text := r.answer.between(i, i+1)
	last := i+1 == r.answer.tokens()
	c := choice{}
	if r.to == chatCompletions {
		c.Delta = &turn{Content: text}
	} else {
		c.Text = &text
	}
	if last {
		c.FinishReason = &r.answer.reason
	}
	return r.event(c, i+1), last || text != ""
}

// closing returns the event with the usage alone; ok only if it was requested.
func (r *reply) closing() (out response, ok bool) {
	out = r.event(choice{}, 0)
	out.Choices, out.Usage = []choice{}, r.usage(r.answer.tokens())
	return out, r.asked.usage
}
