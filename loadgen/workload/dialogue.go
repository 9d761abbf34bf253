package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"strings"

	"github.com/umascope/umascope/loadgen/executor"
	"github.com/umascope/umascope/loadgen/openai"
)

// dialogue is a conversation as it went: what was said and what the server really answered. One
// request at a time uses it, so that nothing guards it.
type dialogue struct {
	messages []openai.Message
	sum      hash.Hash // of the messages
}

func newDialogue() *dialogue { return &dialogue{sum: sha256.New()} }

// say adds messages for good.
func (d *dialogue) say(messages ...openai.Message) {
	d.messages = append(d.messages, messages...)
	for _, m := range messages {
		// A separator that no role holds keeps two messages from reading like one.
		d.sum.Write([]byte(m.Role + "\x00" + m.Content + "\x00"))
	}
}

// turn makes the request of a turn when it is due, and goes on with its answer. A turn that failed
// was never said: the next one follows the one before it.
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
			// What is no text cannot be sent back as one.
			talk.say(said, openai.Message{Role: "assistant", Content: strings.ToValidUTF8(result.Text, "\ufffd")})
		}
	}
	return speak, heard
}
