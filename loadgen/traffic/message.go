package traffic

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Roles of messages.
const (
	roleSystem    = "system"
	roleUser      = "user"
	roleAssistant = "assistant"
)

// mostIDBytes bounds the name of a conversation, since every record of it contains the name.
const mostIDBytes = 128

// message is a message in a file, in the format of OpenAI or of ShareGPT.
type message struct {
	Role    string   `json:"role"`
	Content *content `json:"content"`
	From    string   `json:"from"`
	Value   *content `json:"value"`
}

// content is a text, not a list of parts.
type content string

// UnmarshalJSON returns a plain error for any other value.
func (t *content) UnmarshalJSON(data []byte) error {
	if len(data) == 0 || data[0] != '"' {
		return errors.New("the content of a message is not a text")
	}
	return json.Unmarshal(data, (*string)(t))
}

// conversationItem is an element of an array of conversations.
type conversationItem struct {
	ID            id        `json:"id"`
	Messages      []message `json:"messages"`
	Conversations []message `json:"conversations"`
}

// id is a text or a number.
type id string

// UnmarshalJSON keeps the digits of a number.
func (i *id) UnmarshalJSON(data []byte) error {
	if len(data) > 0 && data[0] == '"' {
		return json.Unmarshal(data, (*string)(i))
	}
	*i = id(strings.Trim(string(data), "nul"))
	return nil
}

// addItem adds an element of an array; it leaves out one without a user's message, which ShareGPT often has.
func (f *PromptFile) addItem(item conversationItem) error {
	messages, format := item.Messages, formatMessages
	if item.Conversations != nil {
		messages, format = item.Conversations, formatShareGPT
	}
	if messages == nil {
		return errors.New("neither messages nor conversations")
	}
	f.Format = format
	c := Conversation{ID: string(item.ID)}
	if len(c.ID) > mostIDBytes {
		c.ID = c.ID[:mostIDBytes]
	}
	c.ID = strings.ToValidUTF8(c.ID, "")
	if err := c.converse(messages); err != nil || len(c.Turns) == 0 {
		return err
	}
	return f.add(c)
}

// plain returns the message in OpenAI's format.
func (m message) plain() (Message, error) {
	role, content := m.Role, m.Content
	if role == "" {
		role, content = m.From, m.Value
	}
	if content == nil {
		return Message{}, errors.New("a message without a text")
	}
	switch strings.ToLower(role) {
	case "user", "human":
		role = roleUser
	case "assistant", "gpt", "chatgpt", "bing", "bard":
		role = roleAssistant
	case "system", "developer":
		role = roleSystem
	default:
		return Message{}, fmt.Errorf("a message of %.40q, who is none of user, assistant, system, human and gpt", role)
	}
	return Message{role, string(*content)}, nil
}

// converse makes turns of the messages: the system's messages before the first user message, and the user's. It leaves
// out recorded answers, since the server gives its own, and empty messages; two user messages in a row are two turns.
func (c *Conversation) converse(messages []message) error {
	if len(messages) > maxMessages {
		return fmt.Errorf("more than %d messages", maxMessages)
	}
	for _, m := range messages {
		p, err := m.plain()
		switch {
		case err != nil:
			return err
		case p.Content == "":
		case p.Role == roleUser:
			c.Turns = append(c.Turns, Turn{Text: p.Content})
		case p.Role == roleSystem && len(c.Turns) == 0:
			if err := checkText(p.Content); err != nil {
				return err
			}
			c.Before = append(c.Before, p)
		}
	}
	return nil
}

// asItStands returns the messages of a row that is sent whole; the last one is the user's.
func asItStands(messages []message) ([]Message, error) {
	plain := make([]Message, len(messages))
	for i, m := range messages {
		var err error
		if plain[i], err = m.plain(); err != nil {
			return nil, err
		}
		if err := checkText(plain[i].Content); err != nil {
			return nil, err
		}
	}
	if plain[len(plain)-1].Role != roleUser {
		return nil, errors.New("the last message is not the user's")
	}
	return plain, nil
}
