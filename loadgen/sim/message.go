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
