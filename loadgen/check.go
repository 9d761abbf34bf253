package loadgen

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
)

// finding is one line of check's answer.
type finding struct {
	Name string `json:"name"`
	// OK is whether a run can rely on it; absent where there is nothing to rely on.
	OK     *bool  `json:"ok,omitempty"`
	Detail string `json:"detail"`
}

// findings are what check prints as JSON.
type findings struct {
	URL      string    `json:"url"`
	Model    string    `json:"model,omitempty"`
	Engine   string    `json:"engine,omitempty"`
	Usable   bool      `json:"usable"`
	Findings []finding `json:"findings"`
}

// checkTokens is how long the answers of the check are: enough for several chunks.
const checkTokens = 32

// checkPrompt is longer than the blocks in which engines keep KV caches, 16 to 64 tokens, so
// that sending it twice can show cached tokens.
const checkPrompt = "Count slowly from one to one hundred, and write every number as a word on a line of its own. Do not explain, do not stop early, do not add anything else before or after the numbers, and begin with the word one. " +
	"This text is sent twice, word for word, by a program that looks at what a server says about itself; it is long so that its beginning fills several blocks of a prefix cache, however large those blocks are."

// checker asks one server.
type checker struct {
	target target
	found  findings
	api    *server
	client *chat.Client
	clock  chat.Clock
}

// check asks the server what it is and what it accepts, prints that and fails unless a run on
// the chosen endpoint can work.
func check(ctx context.Context, t target, asJSON bool, out io.Writer) error {
	key, err := t.apiKey()
	if err != nil {
		return err
	}
	api, err := newServer(t, key)
	if err != nil {
		return err
	}
	defer api.client.CloseIdleConnections()
	client, err := chat.New(chat.Options{
		BaseURL: t.url, Header: t.requestHeader(), APIKey: key, CAFile: t.caFile, Connections: 1,
		RequestTimeout: slowestCheck, FirstTokenTimeout: slowestCheck, ChunkTimeout: slowestCheck,
	})
	if err != nil {
		return usage(err)
	}
	defer client.Close()
	start := time.Now()
	c := &checker{target: t, api: api, client: client, clock: func() int64 { return int64(time.Since(start)) }, found: findings{URL: t.url}}
	failure := c.ask(ctx)
	c.found.Usable = failure == nil
	if err := c.found.print(out, asJSON); err != nil {
		return err
	}
	if failure != nil {
		return usage(failure)
	}
	return nil
}

// ask goes through all questions; the error is the one that makes a run impossible.
func (c *checker) ask(ctx context.Context) error {
	models, err := c.api.models(ctx)
	if err != nil {
		c.found.add("models", false, err.Error())
		return fmt.Errorf("--url: %s: %w", c.target.url, err)
	}
	c.found.add("models", len(models) > 0, namesOf(models))
	m, err := choose(models, c.target.model)
	if err != nil {
		return err
	}
	c.found.Model, c.found.Engine = m.ID, c.target.engine
	if c.target.engine == engineAuto {
		c.found.Engine = m.vendor()
	}
	c.health(ctx)
	c.found.note("engine", strings.TrimSpace(c.found.Engine+" "+c.api.version(ctx)))
	if m.MaxTokens > 0 {
		c.found.note("longest prompt with answer", fmt.Sprintf("%d tokens", m.MaxTokens))
	}
	if err := c.complete(ctx); err != nil {
		return err
	}
	for _, feature := range features() {
		c.accepts(ctx, feature)
	}
	return nil
}

// health asks the route that most engines have; one that lacks it is no worse for that.
func (c *checker) health(ctx context.Context) {
	switch status, _, err := c.api.get(ctx, "/health"); {
	case err != nil:
		c.found.note("health", err.Error())
	case status == http.StatusOK:
		c.found.add("health", true, "GET /health answered 200")
	default:
		c.found.note("health", fmt.Sprintf("GET /health answered %d", status))
	}
}

// params are those of an ordinary request.
func (c *checker) params(endpoint chat.Endpoint) chat.Params {
	return chat.Params{Endpoint: endpoint, Model: c.found.Model, Engine: c.found.Engine, Prompt: checkPrompt, MaxTokens: checkTokens, TopP: 1, Stream: true}
}

func (c *checker) send(ctx context.Context, params chat.Params) (chat.Result, error) {
	body, err := chat.Body(params)
	if err != nil {
		return chat.Result{}, err
	}
	result := c.client.Do(ctx, chat.Request{Endpoint: params.Endpoint, Body: body}, c.clock, func() {})
	if record := result.Record; record.Status != chat.StatusOK {
		return result, errors.New(printable(strings.TrimSpace(fmt.Sprintf("%s %s", statusText(record), record.Error))))
	}
	return result, nil
}

func statusText(record chat.Record) string {
	if record.Status == chat.StatusHTTP {
		return fmt.Sprintf("answered %d:", record.HTTPStatus)
	}
	return string(record.Status) + ":"
}

// complete sends one streaming request to each endpoint and looks closely at the chosen one's.
func (c *checker) complete(ctx context.Context) error {
	var chosen error
	for _, endpoint := range []chat.Endpoint{chat.Chat, chat.Completions} {
		result, err := c.send(ctx, c.params(endpoint))
		if err != nil {
			c.found.add(string(endpoint), false, err.Error())
			if endpoint == c.target.endpoint {
				chosen = fmt.Errorf("--endpoint: %s: %w", endpoint, err)
			}
			continue
		}
		c.found.add(string(endpoint), true, describe(result.Record))
		if endpoint == c.target.endpoint {
			c.look(ctx, result)
		}
	}
	return chosen
}

func describe(record chat.Record) string {
	text := fmt.Sprintf("%d chunks, finished by %q", len(record.ArrivalsNS), record.FinishReason)
	if ttft, ok := record.TTFT(chat.FromSend); ok {
		text += fmt.Sprintf(", first token after %s", ttft.Round(time.Millisecond))
	}
	return printable(text)
}

// look says what the answer of the chosen endpoint shows.
func (c *checker) look(ctx context.Context, result chat.Result) {
	record := result.Record
	if len(record.ArrivalsNS) < 2 {
		c.found.note("streaming", "one chunk only: nothing to tell from")
	} else {
		c.found.add("streaming", !buffered(record), streamingText(record))
	}
	if record.TokensSource == "usage" && record.TokensIn != nil && record.TokensOut != nil {
		c.found.add("usage", true, fmt.Sprintf("%d tokens in, %d out", *record.TokensIn, *record.TokensOut))
	} else {
		c.found.add("usage", false, "the server does not count tokens; throughput and time per token will be missing")
	}
	if result.Model == "" {
		c.found.note("model", "answers do not say which model they are from")
	} else {
		c.found.add("model", result.Model == c.found.Model, fmt.Sprintf("answers are from %q", printable(result.Model)))
	}
	again, err := c.send(ctx, c.params(c.target.endpoint))
	switch cached := again.Record.TokensCached; {
	case err != nil:
		c.found.note("cached tokens", "the same request again: "+err.Error())
	case cached == nil:
		c.found.note("cached tokens", "not reported")
	default:
		c.found.note("cached tokens", fmt.Sprintf("%d when the same request came again", *cached))
	}
}

// buffered says whether several payload chunks all came in one read: something between engine
// and client collects the stream, and no latency inside it means anything.
func buffered(record chat.Record) bool {
	if len(record.ReadIDs) < 2 {
		return false
	}
	for _, id := range record.ReadIDs {
		if id != record.ReadIDs[0] {
			return false
		}
	}
	return true
}

func streamingText(record chat.Record) string {
	if buffered(record) {
		return fmt.Sprintf("all %d chunks came in one read: something buffers the stream", len(record.ArrivalsNS))
	}
	return fmt.Sprintf("%d chunks, %d of them in a read with the one before", len(record.ArrivalsNS), record.SameReadChunks())
}

// feature is something that a server may accept.
type feature struct {
	name  string
	apply func(*chat.Params)
}

// features lists what is tried, each in a request of its own.
func features() []feature {
	extra := func(name string, value any) func(*chat.Params) {
		return func(p *chat.Params) { p.Extra = map[string]any{name: value} }
	}
	return []feature{
		{"seed", func(p *chat.Params) { seed := int64(1); p.Seed = &seed }},
		{"stop", func(p *chat.Params) { p.Stop = []string{"\n\n\n"} }},
		{"ignore_eos", extra("ignore_eos", true)},
		{"min_tokens", extra("min_tokens", 2)},
		{"return_token_ids", extra("return_token_ids", true)},
		{"cache_salt", extra("cache_salt", "uma-load")},
		{"whole answers (no stream)", func(p *chat.Params) { p.Stream = false }},
	}
}

// accepts tries a feature. Accepted is not obeyed: many servers ignore what they do not know.
func (c *checker) accepts(ctx context.Context, f feature) {
	params := c.params(c.target.endpoint)
	params.MaxTokens = 4
	f.apply(&params)
	if _, err := c.send(ctx, params); err != nil {
		c.found.note("accepts "+f.name, "no: "+err.Error())
		return
	}
	c.found.note("accepts "+f.name, "yes, or ignores it")
}

func (f *findings) add(name string, ok bool, detail string) {
	f.Findings = append(f.Findings, finding{name, &ok, detail})
}

func (f *findings) note(name, detail string) {
	f.Findings = append(f.Findings, finding{Name: name, Detail: detail})
}

func (f *findings) print(out io.Writer, asJSON bool) error {
	if asJSON {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(f)
	}
	for _, line := range f.Findings {
		mark := "-"
		if line.OK != nil {
			mark = map[bool]string{true: "ok", false: "NO"}[*line.OK]
		}
		if _, err := fmt.Fprintf(out, "%-2s  %-28s %s\n", mark, line.Name, printable(line.Detail)); err != nil {
			return err
		}
	}
	return nil
}
