package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"
)

// Endpoint is one of the two OpenAI-compatible routes.
type Endpoint string

// The endpoints.
const (
	Chat        Endpoint = "chat"        // POST /v1/chat/completions
	Completions Endpoint = "completions" // POST /v1/completions
)

// Route returns the path below the base URL.
func (e Endpoint) Route() string {
	if e == Completions {
		return "/v1/completions"
	}
	return "/v1/chat/completions"
}

// Message is one turn of a chat.
type Message struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// Params are what a request asks for, independent of the vendor.
type Params struct {
	Endpoint Endpoint
	Model    string
	// Prompt is the text for Completions. For Chat it is one more user message, after Messages.
	Prompt   string
	Messages []Message
	// PromptIDs are token ids, which Completions take instead of a text.
	PromptIDs []uint32
	// MaxTokens caps the output; 0 leaves it to the server (which may cap it very low).
	MaxTokens int
	// MinTokens and IgnoreEOS force a length. They are left out if the server does not accept them, so check the length
	// achieved.
	MinTokens   int
	IgnoreEOS   bool
	Temperature float64
	TopP        float64 // 0: the server's default
	Stop        []string
	Seed        *int64
	Stream      bool
	// TokenIDs asks for the ids of the tokens of each chunk of a stream, if the server takes the field.
	TokenIDs bool
	// Extra adds or replaces fields of the request, except those that decide what is measured.
	Extra map[string]any
	// Vendor is the kind of server.
	Vendor Vendor
	// Fields are the vendor's fields that the server accepts, as probed. nil means those that all of its releases accept. Of the fields that no parameter above asks for, only FieldContinuousUsage, FieldCachedDetails
	// and FieldDraftDetails are sent: they cost nothing and add counts.
	Fields []Field
	// Omit are the fields of OpenAI's own that the server refuses. The cap on output tokens is sent under the first of
	// its names (Caps) that is not among them.
	Omit []Field
}

// sends reports whether the server takes a field of OpenAI's own.
func (p Params) sends(field Field) bool { return !slices.Contains(p.Omit, field) }

// Capped reports whether requests without these fields, and with the caller's own, have the cap that was asked for.
func Capped(omit []Field, extra map[string]any) bool {
	left := 0
	for _, name := range []Field{FieldMaxTokens, FieldMaxCompletionTokens} {
		if _, own := extra[string(name)]; own {
			return false
		}
		if !slices.Contains(omit, name) {
			left++
		}
	}
	return left > 0
}

// accepts reports whether the server takes a field.
func (p Params) accepts(field Field) bool {
	if p.Fields != nil {
		return slices.Contains(p.Fields, field)
	}
	return slices.Contains(p.Vendor.Fields(p.Endpoint), field)
}

// Body returns the request's JSON. Equal parameters give equal bytes, so that it can be hashed. The error names the
// wrong parameter.
func Body(p Params) ([]byte, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	fields := map[string]any{"model": p.Model}
	if p.Stream || p.sends(FieldStream) {
		fields["stream"] = p.Stream
	}
	p.addPrompt(fields)
	p.addLength(fields)
	p.addSampling(fields)
	p.addReports(fields)
	if err := CheckExtra(p.Extra); err != nil {
		return nil, err
	}
	maps.Copy(fields, p.Extra) // the caller's fields replace the client's
	return marshal(fields)
}

func (p Params) check() error {
	switch {
	case p.Endpoint != Chat && p.Endpoint != Completions:
		return fmt.Errorf("endpoint %q is neither chat nor completions", p.Endpoint)
	case p.Model == "":
		return errors.New("no model")
	case p.Endpoint == Completions && len(p.Messages) > 0:
		return errors.New("messages do not go to the completions endpoint")
	case len(p.PromptIDs) > 0 && (p.Endpoint != Completions || p.Prompt != ""):
		return errors.New("token ids go to the completions endpoint, and without a text")
	case p.MaxTokens < 0 || p.MinTokens < 0:
		return errors.New("negative number of tokens")
	case p.MaxTokens > 0 && p.MinTokens > p.MaxTokens:
		return fmt.Errorf("at least %d tokens asked for, at most %d", p.MinTokens, p.MaxTokens)
	}
	return p.checkText()
}

// checkText refuses text that JSON cannot carry: the encoder would replace the bytes silently, and the hash would be of
// a prompt other than the one sent.
func (p Params) checkText() error {
	if !utf8.ValidString(p.Prompt) {
		return errors.New("prompt is not valid UTF-8")
	}
	for i, m := range p.Messages {
		if !utf8.ValidString(m.Content) {
			return fmt.Errorf("message %d is not valid UTF-8", i)
		}
	}
	return nil
}

func (p Params) addPrompt(fields map[string]any) {
	if p.Endpoint == Completions {
		fields["prompt"] = p.Prompt
		if len(p.PromptIDs) > 0 {
			fields["prompt"] = p.PromptIDs
		}
		return
	}
	messages := p.Messages
	if p.Prompt != "" || len(messages) == 0 {
		messages = append(messages[:len(messages):len(messages)], Message{Role: "user", Content: p.Prompt})
	}
	fields["messages"] = messages
}

func (p Params) addLength(fields map[string]any) {
	names := p.Vendor.Caps(p.Endpoint)
	if i := slices.IndexFunc(names, p.sends); i >= 0 && p.MaxTokens > 0 {
		fields[string(names[i])] = p.MaxTokens
	}
	if p.MinTokens > 0 && p.accepts(FieldMinTokens) {
		fields["min_tokens"] = p.MinTokens
	}
	if p.IgnoreEOS && p.accepts(FieldIgnoreEOS) {
		fields["ignore_eos"] = true
	}
}

func (p Params) addSampling(fields map[string]any) {
	if p.sends(FieldTemperature) {
		fields["temperature"] = p.Temperature
	}
	if p.TopP > 0 && p.sends(FieldTopP) {
		fields["top_p"] = p.TopP
	}
	if len(p.Stop) > 0 {
		fields["stop"] = p.Stop
	}
	if p.Seed != nil {
		fields["seed"] = *p.Seed
	}
}

// addReports asks the server for all of its counts.
func (p Params) addReports(fields map[string]any) {
	if p.Stream && p.sends(FieldStreamOptions) {
		options := map[string]any{"include_usage": true}
		if p.accepts(FieldContinuousUsage) {
			options["continuous_usage_stats"] = true
		}
		fields["stream_options"] = options
	}
	if p.Stream && p.TokenIDs && p.accepts(FieldTokenIDs) {
		fields[string(FieldTokenIDs)] = true
	}
	if p.accepts(FieldCachedDetails) {
		fields["return_cached_tokens_details"] = true
	}
	if p.accepts(FieldDraftDetails) {
		fields["return_spec_tokens_details"] = true
	}
}

// CheckExtra refuses fields that decide what is sent and how the answer is read: the record would differ from what the
// server did, or take an echoed prompt for the first token. Body checks them too; CheckExtra is for an earlier check.
func CheckExtra(extra map[string]any) error {
	for _, name := range []string{"model", "prompt", "messages", "stream", "n", "best_of", "echo"} {
		if _, set := extra[name]; set {
			return fmt.Errorf("extra body field %q cannot be set", name)
		}
	}
	return nil
}

// marshal writes <, > and & as they are: escaping is for HTML and would lengthen prompts.
func marshal(fields map[string]any) ([]byte, error) {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(fields); err != nil {
		return nil, fmt.Errorf("request body: %w", err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n")), nil
}
