package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"

	"github.com/umascope/umascope/loadgen/openai"
)

// conversation is a conversation so far: the messages sent and the server's real answers. Only one request at a time
// uses it, so it has no lock.
type conversation struct {
	messages []openai.Message
	sum      hash.Hash // of the messages
}

func newConversation() *conversation { return &conversation{sum: sha256.New()} }

// append appends messages.
func (c *conversation) append(messages ...openai.Message) {
	c.messages = append(c.messages, messages...)
	for _, m := range messages {
		// A separator that cannot occur in a role keeps two messages from hashing like one.
		c.sum.Write([]byte(m.Role + "\x00" + m.Content + "\x00"))
	}
}

// turn makes the request of a turn when it is due and adds its answer to the conversation. A failed turn is not added:
// the next turn follows the previous one.
func (w *Workload) turn(history *conversation, d draft) (build func(*Job) error, answered func(openai.Result)) {
	question := openai.Message{Role: "user", Content: d.prompt.Text}
	build = func(j *Job) error {
		history.append(messagesOf(d.prompt.Before)...)
		if len(history.messages) > 0 {
			j.PrefixSHA256 = hex.EncodeToString(history.sum.Sum(nil))
		}
		body, err := w.body(d.sampling, history.messages, question.Content, nil)
		j.Request = w.request(d.sampling, body)
		j.Request.KeepText = true
		return err
	}
	answered = func(result openai.Result) {
		if result.Record.Status == openai.StatusOK {
			// An answer that is not valid text cannot be sent back as text.
			history.append(question, openai.Message{Role: "assistant", Content: strings.ToValidUTF8(result.Text, "\ufffd")})
		}
	}
	return build, answered
}
