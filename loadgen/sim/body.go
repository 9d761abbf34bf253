package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// body is the JSON body of a request. Other fields are ignored, as vLLM does, unless the vendor is strict.
type body struct {
	Model               string          `json:"model"`
	Prompt              prompt          `json:"prompt"`
	Messages            []message       `json:"messages"`
	MaxTokens           *int            `json:"max_tokens"`
	MaxCompletionTokens *int            `json:"max_completion_tokens"`
	MinTokens           int             `json:"min_tokens"`
	IgnoreEOS           bool            `json:"ignore_eos"`
	Stop                texts           `json:"stop"`
	Temperature         *float64        `json:"temperature"`
	TopP                *float64        `json:"top_p"`
	Seed                int64           `json:"seed"`
	Stream              bool            `json:"stream"`
	StreamOptions       *streamOptions  `json:"stream_options"`
	N                   *int            `json:"n"`
	BestOf              *int            `json:"best_of"`
	Echo                bool            `json:"echo"`
	Suffix              string          `json:"suffix"`
	Logprobs            json.RawMessage `json:"logprobs"`
	ResponseFormat      *responseFormat `json:"response_format"`
	CacheSalt           *string         `json:"cache_salt"`
}

type streamOptions struct {
	IncludeUsage         *bool `json:"include_usage"`
	ContinuousUsageStats bool  `json:"continuous_usage_stats"`
}

type responseFormat struct {
	Type string `json:"type"`
}

// unmarshal reads exactly one JSON object.
func unmarshal(text []byte, b *body) error {
	if trimmed := bytes.TrimLeft(text, " \t\r\n"); len(trimmed) == 0 || trimmed[0] != '{' {
		return errors.New("a JSON object is wanted")
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	if err := decoder.Decode(b); err != nil {
		return err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return errors.New("there is something after the JSON object")
	}
	return nil
}

// malformed describes a fault of a body in the terms of the API, not of Go's types.
func malformed(err error) *problem {
	if wrong := (*json.UnmarshalTypeError)(nil); errors.As(err, &wrong) {
		return invalid(wrong.Field, "%s cannot be a JSON %.40s", wrong.Field, wrong.Value)
	}
	return invalid("", "the body is not a request: %v", err)
}

// texts reads a string, a list of strings or null.
type texts []string

func (t *texts) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		if string(text) != "null" {
			*t = texts{one}
		}
		return nil
	}
	if json.Unmarshal(text, (*[]string)(t)) != nil {
		return errors.New("stop: a text or a list of texts is wanted")
	}
	return nil
}

// prompt reads the prompt of a completions request: a text, a list of token ids, or a list of one of either. Several
// prompts in one request are not simulated.
type prompt struct {
	text string
	ids  []uint32
}

func (p *prompt) UnmarshalJSON(text []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(text, &list); err == nil && len(list) == 1 && isTextOrList(list[0]) {
		text = list[0]
	}
	var one string
	if json.Unmarshal(text, &one) == nil {
		*p = prompt{text: one}
		return nil
	}
	var ids []uint32
	if json.Unmarshal(text, &ids) == nil {
		*p = prompt{ids: ids}
		return nil
	}
	return errors.New("prompt: one text or one list of token ids is wanted")
}

// write writes the prompt as the model reads it. Token ids become a description: their text is not simulated.
func (p prompt) write(to *transcript) {
	if len(p.ids) > 0 {
		for _, id := range p.ids {
			to.id(id)
		}
		to.text.WriteString(fmt.Sprint("token ids ", p.ids))
		return
	}
	to.write(p.text)
}

func isTextOrList(value json.RawMessage) bool { return value[0] == '"' || value[0] == '[' }

// message is one of a chat.
type message struct {
	Role    string  `json:"role"`
	Content content `json:"content"`
}

func (m message) knownRole() bool {
	return slices.Contains([]string{"system", "developer", "user", "assistant", "tool"}, m.Role)
}

// content reads a text, null (an assistant's tool call), or a list of parts that are all texts.
type content string

func (c *content) UnmarshalJSON(text []byte) error {
	if json.Unmarshal(text, (*string)(c)) == nil {
		return nil
	}
	var parts []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(text, &parts); err != nil {
		return errors.New("content: a text or a list of parts is wanted")
	}
	var joined strings.Builder
	for _, part := range parts {
		if part.Type != "text" {
			return fmt.Errorf("content: a part of type %.40q is not simulated, only text", part.Type)
		}
		joined.WriteString(part.Text)
	}
	*c = content(joined.String())
	return nil
}
