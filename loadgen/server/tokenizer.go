package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/traffic"
)

// tokenizerRoute is a route that counts the tokens of a text.
type tokenizerRoute struct {
	path string
	body func(model, text string) map[string]any
}

// tokenizePath is the route of most engines.
const tokenizePath = "/tokenize"

// tokenizerRoutes returns the known routes: those of the engines, where one path takes the text under the names of all
// engines that have it, since each ignores the other fields; then llama-cpp-python's.
func tokenizerRoutes(known spec.Engines) []tokenizerRoute {
	var routes []tokenizerRoute
	members := map[string]map[string]any{} // by path; the text is nil
	for _, e := range known {
		t := e.Tokenizer
		if t == nil {
			continue
		}
		if members[t.Path] == nil {
			members[t.Path] = map[string]any{}
			fixed := members[t.Path]
			routes = append(routes, tokenizerRoute{t.Path, func(model, text string) map[string]any {
				body := map[string]any{"model": model}
				for name, value := range fixed {
					body[name] = value
					if value == nil {
						body[name] = text
					}
				}
				return body
			}})
		}
		members[t.Path][t.Text] = nil
		maps.Copy(members[t.Path], t.Fixed)
	}
	return append(routes, tokenizerRoute{"/extras/tokenize/count", func(model, text string) map[string]any {
		return map[string]any{"model": model, "input": text}
	}})
}

// tokenize counts a text.
func (c counter) tokenize(ctx context.Context, route tokenizerRoute, text string) (int, error) {
	answer, err := c.tokenized(ctx, route, text)
	if err != nil {
		return 0, err
	}
	return tokensOf(route.path, answer)
}

// tokenized returns the answer of the server's tokenizer.
func (c counter) tokenized(ctx context.Context, route tokenizerRoute, text string) ([]byte, error) {
	return c.post(ctx, route.path, route.body(c.Served.Model.ID, text))
}

// tokensOf parses the answer: {"count": 2, "tokens": [9906, 1917]}, or one of the two.
func tokensOf(path string, answer []byte) (int, error) {
	var output struct {
		Count  *int  `json:"count"`
		Tokens []any `json:"tokens"`
	}
	if err := json.Unmarshal(answer, &output); err != nil {
		return 0, fmt.Errorf("POST %s: %w", path, err)
	}
	n := len(output.Tokens)
	if output.Count != nil {
		n = *output.Count
	}
	if n < 1 {
		return 0, fmt.Errorf("POST %s: no tokens", path)
	}
	return n, nil
}

// Tokenizer counts the tokens of texts with the server's own tokenizer, without a request to the model.
type Tokenizer struct {
	counter counter
	way     way
}

// Tokenizer returns the server's tokenizer. The error names the routes that were tried. The caller closes the result.
func (c Calibration) Tokenizer(ctx context.Context) (*Tokenizer, error) {
	api, err := newAPI(c.Target, c.Served.Key)
	if err != nil {
		return nil, err
	}
	var problems []error
	of := counter{c, api}
	for _, way := range of.byTokenizer() {
		if _, err := way.count(ctx, traffic.NewProbes().One); err == nil {
			return &Tokenizer{of, way}, nil
		} else if ctx.Err() != nil {
			break
		} else {
			problems = append(problems, err)
		}
	}
	api.close()
	return nil, errors.Join(append(problems, ctx.Err())...)
}

// Close closes the connections.
func (t *Tokenizer) Close() { t.counter.api.close() }

// Count returns the tokens of a text within a chat.
func (t *Tokenizer) Count(ctx context.Context, text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	return t.way.count(ctx, text)
}

// Framing is how many tokens the server's chat template adds to a request: with a user's message alone, and with a
// system message before it.
type Framing struct{ User, System int }

// The texts whose requests show what the template adds.
const (
	framedSystem = "You answer in one word."
	framedUser   = "Which colour has a clear sky?"
)

// Framing compares usage.prompt_tokens of two requests of one token with the tokens of their texts. It also returns the
// first of the counts of whole chats that agrees with both; nil if none does.
func (c Calibration) Framing(ctx context.Context, count func(text string) (int, error), chats ...ChatCount) (Framing, ChatCount, error) {
	ctx, cancel := context.WithTimeout(ctx, slowestCheck)
	defer cancel()
	api, err := newAPI(c.Target, c.Served.Key)
	if err != nil {
		return Framing{}, nil, err
	}
	defer api.close()
	of, texts := counter{c, api}, 0
	var framing Framing
	for _, one := range []struct {
		text     string
		messages []openai.Message
		into     *int
	}{
		{framedUser, []openai.Message{{Role: "user", Content: framedUser}}, &framing.User},
		{framedSystem, []openai.Message{{Role: "system", Content: framedSystem}, {Role: "user", Content: framedUser}}, &framing.System},
	} {
		plain, err := count(one.text)
		if err != nil {
			return Framing{}, nil, err
		}
		texts += plain
		used, err := of.used(ctx, one.messages)
		if err != nil {
			return Framing{}, nil, err
		}
		chats = slices.DeleteFunc(slices.Clone(chats), func(chat ChatCount) bool {
			n, err := chat(ctx, one.messages)
			return err != nil || n != used
		})
		if *one.into = used - texts; used < texts {
			return Framing{}, nil, fmt.Errorf("the server counts %d prompt tokens for texts of %d", used, texts)
		}
	}
	if len(chats) == 0 {
		return framing, nil, nil
	}
	return framing, chats[0], nil
}

// used returns usage.prompt_tokens of a request. llama-cpp-python reports it only without streaming.
func (c counter) used(ctx context.Context, messages []openai.Message) (int, error) {
	n, err := c.promptTokens(ctx, openai.Params{Messages: messages, Stream: c.Stream})
	if errors.Is(err, errUncounted) && c.Stream {
		return c.promptTokens(ctx, openai.Params{Messages: messages})
	}
	return n, err
}
