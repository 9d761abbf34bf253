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
	SGLExt            *sglext  `json:"sglext,omitempty"`
	Padding           string   `json:"padding,omitempty"` // makes an event huge
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

// turn is a message, or a piece of one, of the assistant. Content is null if there is reasoning or a tool call instead.
type turn struct {
	Role             string     `json:"role,omitempty"`
	Content          *string    `json:"content"`
	Reasoning        string     `json:"reasoning,omitempty"`
	ReasoningContent string     `json:"reasoning_content,omitempty"`
	ToolCalls        []toolCall `json:"tool_calls,omitempty"`
}

// toolCall is a call, or in a stream a fragment of one: only the first has id, type and name.
type toolCall struct {
	Index    int      `json:"index"`
	ID       string   `json:"id,omitempty"`
	Type     string   `json:"type,omitempty"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name,omitempty"`
	Arguments string `json:"arguments"`
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

// sglext holds SGLang's cached tokens by tier, on request.
type sglext struct {
	CachedTokensDetails cachedDetails `json:"cached_tokens_details"`
}

type cachedDetails struct {
	Device  int64 `json:"device"`
	Host    int64 `json:"host"`
	Storage int64 `json:"storage"`
}

// reply formats one answer. It is made when the first token is there: until then neither the answer nor the cached part
// of its prompt is final.
type reply struct {
	to     endpoint
	asked  request
	said   answer
	vendor vendor
	style  Answer
	cached [3]int64 // prompt tokens found on device, host and disk
	common response // the common part of all responses to one request
}

func (e *Engine) newReply(to endpoint, s *sequence) *reply {
	prefix := "cmpl"
	if to == chatCompletions {
		prefix = "chatcmpl"
	}
	r := &reply{to: to, asked: s.asked, said: s.said, vendor: e.vendor, style: e.config.Answer, common: response{
		ID:      fmt.Sprintf("%s-simulated-%d", prefix, s.number),
		Object:  string(to),
		Created: time.Now().Unix(), Model: e.config.Model,
		SystemFingerprint: fmt.Sprintf("simulated-%d", e.config.Seed),
		Choices:           []choice{},
	}}
	r.cached[0], r.cached[1], r.cached[2] = fromTiers(s.hits, e.config.KV.TokensPerBlock)
	return r
}

// usage returns the usage after so many tokens of answer.
func (r *reply) usage(tokens int) *usage {
	u := &usage{PromptTokens: r.asked.promptTokens, CompletionTokens: tokens, TotalTokens: r.asked.promptTokens + tokens}
	if r.style.CachedTokens {
		u.PromptTokensDetails = &promptDetails{int(r.cached[0] + r.cached[1] + r.cached[2])}
	}
	return u
}

// details returns the cached tokens by tier.
func (r *reply) details() *sglext {
	if !r.asked.details {
		return nil
	}
	return &sglext{cachedDetails{r.cached[0], r.cached[1], r.cached[2]}}
}

// whole returns the response without streaming.
func (r *reply) whole() response {
	n := r.said.tokens()
	c := choice{FinishReason: r.reason()}
	if r.to == chatCompletions {
		whole := r.piece(0, n)
		whole.Role = assistant
		c.Message = whole
	} else {
		c.Text = &r.said.text
	}
	out := r.common
	out.Choices = []choice{c}
	if r.style.Usage != UsageNever {
		out.Usage = r.usage(n)
	}
	out.SGLExt = r.details()
	return out
}

// reason returns why the answer ended, as sent to the client.
func (r *reply) reason() *finishReason {
	reason := r.said.reason
	if r.asked.tool != "" && reason == finishStop {
		reason = finishToolCalls
	}
	return &reason
}

// piece returns what tokens from up to, and not including, to add to a chat.
func (r *reply) piece(from, to int) *turn {
	thought := 0
	if r.style.ReasoningTokens > 0 {
		thought = min(r.style.ReasoningTokens, r.said.tokens()-1)
	}
	out := &turn{}
	if from < thought {
		thoughts := r.said.between(from, min(to, thought))
		if r.vendor.reasoning == "reasoning" {
			out.Reasoning = thoughts
		} else {
			out.ReasoningContent = thoughts
		}
		from = min(to, thought)
	}
	switch {
	case from == to:
	case r.asked.tool != "":
		out.ToolCalls = []toolCall{r.call(thought, from, to)}
	default:
		text := r.said.between(from, to)
		out.Content = &text
	}
	return out
}

// call returns the fragment of the call that begins with token begin. The words are letters, spaces, commas and full
// stops, which JSON does not escape.
func (r *reply) call(begin, from, to int) toolCall {
	fragment := toolCall{Function: function{Arguments: r.said.between(from, to)}}
	if from == begin {
		fragment.ID, fragment.Type, fragment.Function.Name = "call-"+r.common.ID, "function", r.asked.tool
		fragment.Function.Arguments = `{"text":"` + fragment.Function.Arguments
	}
	if to == r.said.tokens() {
		fragment.Function.Arguments += `"}`
	}
	return fragment
}
