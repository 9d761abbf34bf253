package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"

	"github.com/umascope/umascope/loadgen/executor"
	"github.com/umascope/umascope/loadgen/openai"
)

// dialogue is a conversation so far: the messages sent and the server's real answers. Only one request at a time uses
// it, so it has no lock.
type dialogue struct {
	messages []openai.Message
	sum      hash.Hash // of the messages
}

func newDialogue() *dialogue { return &dialogue{sum: sha256.New()} }

// say appends messages.
func (d *dialogue) say(messages ...openai.Message) {
	d.messages = append(d.messages, messages...)
	for _, m := range messages {
		// A separator that cannot occur in a role keeps two messages from hashing like one.
		d.sum.Write([]byte(m.Role + "\x00" + m.Content + "\x00"))
	}
}

// turn makes the request of a turn when it is due and adds its answer to the dialogue. A failed turn is not added: the
// next turn follows the previous one.
func (w *Workload) turn(talk *dialogue, d draft) (speak func(*executor.Job) error, heard func(openai.Result)) {
	said := openai.Message{Role: "user", Content: d.prompt.Text}
	speak = func(j *executor.Job) error {
		talk.say(messagesOf(d.prompt.Before)...)
		if len(talk.messages) > 0 {
			j.PrefixSHA256 = hex.EncodeToString(talk.sum.Sum(nil))
		}
		body, err := w.body(d.sampling, talk.messages, said.Content, nil)
		j.Request = w.request(d.sampling, body)
		j.Request.KeepText = true
		return err
	}
	heard = func(result openai.Result) {
		if result.Record.Status == openai.StatusOK {
			// An answer that is not valid text cannot be sent back as text.
			talk.say(said, openai.Message{Role: "assistant", Content: strings.ToValidUTF8(result.Text, "\ufffd")})
		}
	}
	return speak, heard
}
