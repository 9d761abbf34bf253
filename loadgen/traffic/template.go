package traffic

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"text/template"
)

// Names of the built-in templates.
const (
	TemplateNone   = "none"
	TemplateLlama3 = "llama3"
)

// llama3 is the prompt format of Llama 3 instruct models (llama.com/docs, "Llama 3 prompt formats") up to the beginning
// of the answer. Its first token, <|begin_of_text|>, is left out: completions endpoints add it to every prompt
// themselves, and a second one would change the prompt.
const llama3 = `{{range .Messages}}<|start_header_id|>{{.Role}}<|end_header_id|>

{{.Content}}<|eot_id|>{{end}}<|start_header_id|>assistant<|end_header_id|>

`

const (
	maxTemplateBytes = 64 << 10
	maxRenderedBytes = 64 << 20
)

// Template makes one text of the messages of a chat, for endpoints that have no chat template of
// their own.
type Template struct{ parsed *template.Template }

// ParseTemplate reads a template in the language of Go's text/template. It gets .Messages, each with .Role and
// .Content:
//
//	{{range .Messages}}[{{.Role}}] {{.Content}}{{"\n"}}{{end}}[assistant]
//
// A template that drops a message is an error: the run would not send what its prompts contain.
func ParseTemplate(source string) (*Template, error) {
	if len(source) > maxTemplateBytes {
		return nil, fmt.Errorf("longer than %d KiB", maxTemplateBytes>>10)
	}
	parsed, err := template.New("template").Parse(source)
	if err != nil {
		return nil, err
	}
	t := &Template{parsed}
	const first, second = "uma first message", "uma second message"
	rendered, err := t.Render([]Message{{"user", first}, {"assistant", second}})
	if err != nil {
		return nil, err
	}
	if !strings.Contains(rendered, first) || !strings.Contains(rendered, second) {
		return nil, errors.New("it leaves out the content of messages: write {{range .Messages}}{{.Content}}{{end}}")
	}
	return t, nil
}

// Llama3 returns the template of Llama 3 instruct models.
func Llama3() (*Template, error) { return ParseTemplate(llama3) }

// Render returns the text of the messages.
func (t *Template) Render(messages []Message) (string, error) {
	var b strings.Builder
	err := t.parsed.Execute(&boundedWriter{&b, maxRenderedBytes}, struct{ Messages []Message }{messages})
	return b.String(), err
}

// boundedWriter refuses to write more than its remaining bytes: templates can loop over their output.
type boundedWriter struct {
	to   io.Writer
	left int
}

func (w *boundedWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, fmt.Errorf("the text is longer than %d MiB", maxRenderedBytes>>20)
	}
	return w.to.Write(p)
}
