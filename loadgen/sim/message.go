package sim

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
)

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

// Special tokens of the template; each of these counts is of tokens that are no text.
const (
	messageOverhead = 4 // two around the role, one for the two line ends, one after the content
	chatOverhead    = 5 // begin of text, and the head of the answer: three around and after its role, and the role
)

// render writes messages as the Llama 3 chat template does, ending where the answer begins. The
// template's special tokens are one token each, as in the real tokenizer, and not what
// countTokens would make of their spelling.
func render(messages []message) (text string, tokens int) {
	var b strings.Builder
	b.WriteString("<|begin_of_text|>")
	tokens = chatOverhead
	for _, m := range messages {
		b.WriteString("<|start_header_id|>" + m.Role + "<|end_header_id|>\n\n" + string(m.Content) + "<|eot_id|>")
		tokens += messageOverhead + countTokens(m.Role) + countTokens(string(m.Content))
	}
	b.WriteString("<|start_header_id|>assistant<|end_header_id|>\n\n")
	return b.String(), tokens
}
