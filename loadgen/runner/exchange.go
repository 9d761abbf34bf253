package runner

import (
	"bytes"
	"encoding/json"

	"github.com/umascope/umascope/loadgen/rundir"
)

// exchange is a request and its answer for prompts.jsonl. It is encoded when it is written, and not while the load
// waits.
type exchange struct {
	run, phase string
	index      int
	body       []byte // of the request, as JSON
	answer     string
	redact     func(string) string
}

// MarshalJSON encodes it as a rundir.PromptLine.
func (e exchange) MarshalJSON() ([]byte, error) {
	var asked struct {
		Messages any `json:"messages"`
		Prompt   any `json:"prompt"`
	}
	decoder := json.NewDecoder(bytes.NewReader(e.body))
	decoder.UseNumber() // token ids keep the form in which they were sent
	if err := decoder.Decode(&asked); err != nil {
		return nil, err
	}
	var line bytes.Buffer
	encoder := json.NewEncoder(&line)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(rundir.PromptLine{
		Run: e.run, Phase: e.phase, Index: e.index,
		Messages: e.redacted(asked.Messages), Prompt: e.redacted(asked.Prompt), Answer: e.redact(e.answer),
	})
	return line.Bytes(), err
}

// redacted removes secrets from every text of a JSON value.
func (e exchange) redacted(value any) any {
	switch v := value.(type) {
	case string:
		return e.redact(v)
	case []any:
		for i := range v {
			v[i] = e.redacted(v[i])
		}
	case map[string]any:
		for key := range v {
			v[key] = e.redacted(v[key])
		}
	}
	return value
}
