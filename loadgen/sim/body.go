package sim

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// body is the JSON body of a request. Other fields are ignored, as vLLM and SGLang do, unless the vendor is strict.
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
	Tools               []tool          `json:"tools"`
	ToolChoice          json.RawMessage `json:"tool_choice"`
	CacheSalt           *string         `json:"cache_salt"`
	CachedDetails       bool            `json:"return_cached_tokens_details"` // SGLang's
}

type tool struct {
	Function struct {
		Name string `json:"name"`
	} `json:"function"`
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
func (p prompt) write(to *scroll) {
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
