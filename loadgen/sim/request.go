package sim

import (
	"strings"
	"unicode/utf8"
)

// endpoint is one of the two endpoints.
type endpoint string

const (
	chatCompletions endpoint = "chat.completion"
	completions     endpoint = "text_completion"
)

// request is a checked request, in the engine's terms.
type request struct {
	prompt       string // what the model reads, template included
	promptTokens int
	text         *transcript // the same with the keys of its blocks
	maxTokens    int         // at least 1; with the prompt at most MaxModelTokens
	minTokens    int
	ignoreEOS    bool
	stop         []string
	temperature  float64
	topP         float64
	seed         int64
	stream       bool
	usage        bool // an event with the usage before [DONE]
	usageAlways  bool // usage in every event
}

// Limits of a request.
const (
	maxStops       = 16
	maxStopBytes   = 1 << 10
	maxTemperature = 2
	maxSaltChars   = 128 // vLLM's
)

// completionsTokens is the default output cap of a completions request: OpenAI's own.
const completionsTokens = 16

// decode reads and checks a request body.
func (c Config) decode(to endpoint, text []byte) (request, *problem) {
	v, _ := c.Vendor.find()
	if p := v.checkFields(to, text); p != nil {
		return request{}, p
	}
	var b body
	if err := unmarshal(text, &b); err != nil {
		return request{}, malformed(err)
	}
	for _, check := range []func(body) *problem{c.checkModel, c.checkSalt, checkSupported, checkSampling, checkLengths} {
		if p := check(b); p != nil {
			return request{}, p
		}
	}
	r := request{
		minTokens: b.MinTokens, ignoreEOS: b.IgnoreEOS, stop: b.Stop,
		temperature: valueOr(b.Temperature, 1), topP: valueOr(b.TopP, 1), seed: b.Seed, stream: b.Stream,
	}
	if b.StreamOptions != nil {
		r.usage, r.usageAlways = valueOr(b.StreamOptions.IncludeUsage, v.usageByDefault), b.StreamOptions.ContinuousUsageStats && v.continuous
	}
	if p := c.setPrompt(&r, to, b); p != nil {
		return request{}, p
	}
	return r, c.setMaxTokens(&r, to, b)
}

func (c Config) checkModel(b body) *problem {
	v, _ := c.Vendor.find()
	if b.Model == "" {
		return invalid("model", "model is missing")
	}
	if b.Model != c.Model && !v.anyModel {
		return unknownModel(b.Model)
	}
	return nil
}

// checkSalt refuses, with vLLM's error text, the salts that vLLM 0.32 refuses.
func (c Config) checkSalt(b body) *problem {
	v, _ := c.Vendor.find()
	switch {
	case b.CacheSalt == nil || !v.plainSalts:
		return nil
	case *b.CacheSalt == "":
		return invalid("cache_salt", "Parameter 'cache_salt' must be a non-empty string if provided. (parameter=cache_salt)")
	case utf8.RuneCountInString(*b.CacheSalt) > maxSaltChars || strings.ContainsAny(*b.CacheSalt, "@/\\\x00"):
		return invalid("cache_salt", "Parameter 'cache_salt' must be at most %d characters and must not contain '@', '/', '\\\\', or NUL. (parameter=cache_salt)", maxSaltChars)
	}
	return nil
}

// checkSupported refuses fields that would change the answer and are not simulated: ignoring them would give an answer
// that looks right.
func checkSupported(b body) *problem {
	switch {
	case b.N != nil && *b.N != 1:
		return invalid("n", "only n = 1 is simulated")
	case b.BestOf != nil && *b.BestOf != 1:
		return invalid("best_of", "only best_of = 1 is simulated")
	case b.Echo:
		return invalid("echo", "echo is not simulated")
	case b.Suffix != "":
		return invalid("suffix", "suffix is not simulated")
	case len(b.Logprobs) > 0 && string(b.Logprobs) != "null" && string(b.Logprobs) != "false":
		return invalid("logprobs", "logprobs are not simulated")
	case b.ResponseFormat != nil && b.ResponseFormat.Type != "text":
		return invalid("response_format", "only response_format text is simulated")
	}
	return nil
}

func checkSampling(b body) *problem {
	if t := valueOr(b.Temperature, 1); t < 0 || t > maxTemperature {
		return invalid("temperature", "temperature is %v, must be from 0 to %d", t, maxTemperature)
	}
	if p := valueOr(b.TopP, 1); p <= 0 || p > 1 {
		return invalid("top_p", "top_p is %v, must be above 0, to 1", p)
	}
	if len(b.Stop) > maxStops {
		return invalid("stop", "%d stop strings, at most %d", len(b.Stop), maxStops)
	}
	for _, stop := range b.Stop {
		if stop == "" || len(stop) > maxStopBytes {
			return invalid("stop", "a stop string has %d bytes, must have 1 to %d", len(stop), maxStopBytes)
		}
	}
	if b.StreamOptions != nil && !b.Stream {
		return invalid("stream_options", "stream_options needs stream = true")
	}
	return nil
}

func checkLengths(b body) *problem {
	if b.MaxTokens != nil && *b.MaxTokens < 1 {
		return invalid("max_tokens", "max_tokens is %d, must be at least 1", *b.MaxTokens)
	}
	if b.MaxCompletionTokens != nil && *b.MaxCompletionTokens < 1 {
		return invalid("max_completion_tokens", "max_completion_tokens is %d, must be at least 1", *b.MaxCompletionTokens)
	}
	if b.MinTokens < 0 {
		return invalid("min_tokens", "min_tokens is %d, must not be negative", b.MinTokens)
	}
	return nil
}

func (c Config) setPrompt(r *request, to endpoint, b body) *problem {
	text := newTranscript(c.KV.TokensPerBlock, valueOr(b.CacheSalt, ""))
	if to == chatCompletions {
		if len(b.Messages) == 0 {
			return invalid("messages", "messages is missing or empty")
		}
		for i, m := range b.Messages {
			if !m.knownRole() {
				return invalid("messages", "message %d has the unknown role %.40q", i, m.Role)
			}
		}
		text.chat(b.Messages)
	} else {
		b.Prompt.write(text)
		if text.tokens == 0 {
			return invalid("prompt", "prompt is missing or empty")
		}
	}
	r.text, r.prompt, r.promptTokens = text, text.text.String(), text.tokens
	return nil
}

// setMaxTokens checks the request against the context length before it runs, as engines do.
func (c Config) setMaxTokens(r *request, to endpoint, b body) *problem {
	if c.MaxPromptTokens > 0 && r.promptTokens > c.MaxPromptTokens {
		return promptTooLong(r.promptTokens, c.MaxPromptTokens)
	}
	room := c.MaxModelTokens - r.promptTokens
	if room < 1 {
		return tooLong("the prompt has %d tokens; with one of answer that is more than the context of %d", r.promptTokens, c.MaxModelTokens)
	}
	limit := b.MaxTokens
	if to == chatCompletions && b.MaxCompletionTokens != nil {
		limit = b.MaxCompletionTokens
	}
	switch {
	case limit != nil:
		r.maxTokens = *limit
	case to == completions:
		r.maxTokens = min(room, completionsTokens)
	default:
		r.maxTokens = room
	}
	if r.maxTokens > room {
		return tooLong("the prompt has %d tokens and %d of answer are asked for: more than the context of %d", r.promptTokens, r.maxTokens, c.MaxModelTokens)
	}
	if r.minTokens > r.maxTokens {
		return invalid("min_tokens", "min_tokens is %d, above the output cap of %d", r.minTokens, r.maxTokens)
	}
	return nil
}

func valueOr[T any](p *T, otherwise T) T {
	if p == nil {
		return otherwise
	}
	return *p
}
