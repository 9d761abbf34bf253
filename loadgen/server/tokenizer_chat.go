package server

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	"github.com/umascope/umascope/loadgen/openai"
)

// ChatCount counts the tokens of a chat's prompt, with what the server's chat template adds. Where a text meets the
// template, characters of both may be one token: the parts do not add up to the whole.
type ChatCount func(context.Context, []openai.Message) (int, error)

// Chats returns the ways in which the known servers count the prompt of a chat without a request to the model. Whether
// one is that of the server, Framing finds out.
func (t *Tokenizer) Chats() []ChatCount { return []ChatCount{t.counter.messages, t.counter.applied} }

// messages counts by vLLM's /tokenize, which takes the messages of a chat in place of a prompt.
func (c counter) messages(ctx context.Context, messages []openai.Message) (int, error) {
	answer, err := c.post(ctx, tokenizePath, map[string]any{"model": c.Served.Model.ID, "messages": messages})
	if err != nil {
		return 0, err
	}
	return tokensOf(tokenizePath, answer)
}

// applied counts by llama.cpp's /apply-template, whose answer is the text of the prompt, and its /tokenize, which reads
// the template's marks as tokens with parse_special.
func (c counter) applied(ctx context.Context, messages []openai.Message) (int, error) {
	const path = "/apply-template"
	answer, err := c.post(ctx, path, map[string]any{"messages": messages})
	if err != nil {
		return 0, err
	}
	var output struct {
		Prompt string `json:"prompt"`
	}
	if err := json.Unmarshal(answer, &output); err != nil {
		return 0, fmt.Errorf("POST %s: %w", path, err)
	}
	if answer, err = c.post(ctx, tokenizePath, map[string]any{"content": output.Prompt, "add_special": true, "parse_special": true}); err != nil {
		return 0, err
	}
	return tokensOf(tokenizePath, answer)
}

// post returns the body of an answer of status 200.
func (c counter) post(ctx context.Context, path string, fields map[string]any) ([]byte, error) {
	body, err := json.Marshal(fields)
	if err != nil {
		return nil, err
	}
	answer := c.api.send(ctx, http.MethodPost, path, body)
	switch {
	case answer.err != nil:
		return nil, fmt.Errorf("POST %s: %w", path, answer.err)
	case answer.status != http.StatusOK:
		return nil, fmt.Errorf("POST %s answered %d", path, answer.status)
	}
	return answer.body, nil
}
