package runner

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/workload"
)

// verbosity is what is printed of each request, for people who watch. Printing takes the client time, so it is not for
// measurements.
type verbosity struct {
	Requests bool // a line for each request
	Content  bool // and the text of request and answer
}

// print prints the result of a request.
func (v verbosity) print(to io.Writer, j workload.Job, result openai.Result) {
	if !v.Requests && !v.Content {
		return
	}
	var text strings.Builder
	fmt.Fprintf(&text, "%s\n", requestLine(result.Record))
	if v.Content {
		fmt.Fprintf(&text, "  asked: %s\n  answered: %s\n", printable(asked(j.Request.Body)), printable(result.Output))
	}
	// One write, so that the lines of requests that end at the same moment do not mix.
	_, _ = io.WriteString(to, text.String()) // a closed terminal does not affect the run
}

// requestLine is a request in one line, such as
//
//	measure 12: ok, first token after 312ms, whole after 1.92s, 1024 tokens in, 256 out
func requestLine(r openai.Record) string {
	parts := []string{fmt.Sprintf("%s %d: %s", printable(r.Phase), r.Index, r.Status)}
	if r.Conversation != "" {
		parts[0] = fmt.Sprintf("%s %d (%s, turn %d): %s", printable(r.Phase), r.Index, printable(r.Conversation), r.Turn, r.Status)
	}
	if r.Error != "" {
		parts = append(parts, r.Error)
	}
	for _, span := range []struct {
		what string
		of   func(openai.Origin) (time.Duration, bool)
	}{{"first token", r.TTFT}, {"whole", r.E2E}} {
		if took, known := span.of(openai.FromSend); known {
			parts = append(parts, fmt.Sprintf("%s after %s", span.what, took.Round(100*time.Microsecond)))
		}
	}
	if r.TokensIn != nil {
		parts = append(parts, fmt.Sprintf("%d tokens in", *r.TokensIn))
	}
	if r.TokensOut != nil {
		parts = append(parts, fmt.Sprintf("%d out", *r.TokensOut))
	}
	return strings.Join(parts, ", ")
}

// asked returns the text of a request; for a conversation, its last message.
func asked(body []byte) string {
	var request struct {
		Messages []openai.Message `json:"messages"`
		Prompt   json.RawMessage  `json:"prompt"`
	}
	if json.Unmarshal(body, &request) != nil {
		return ""
	}
	if n := len(request.Messages); n > 0 {
		return request.Messages[n-1].Content
	}
	var text string
	if json.Unmarshal(request.Prompt, &text) != nil {
		return "token ids " + string(request.Prompt)
	}
	return text
}
