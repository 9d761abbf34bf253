package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/prompt"
)

// calibrate measures how many tokens texts have for the server: by its tokenizer where it has a
// route for that, else by usage.prompt_tokens of a few requests of one token of answer. What cannot
// be had is assumed, and the scale says so.
func (r *run) calibrate(ctx context.Context) prompt.Scale {
	ctx, cancel := context.WithTimeout(ctx, slowestCheck)
	defer cancel()
	c := calibration{run: r}
	scale, err := c.scale(ctx)
	if err != nil {
		r.log.Info("the server does not say how many tokens texts have", "why", printable(err.Error()))
		return prompt.Assumption()
	}
	r.log.Debug("prompt lengths", "scale", scale.String())
	return scale
}

// calibration asks one server.
type calibration struct {
	run *run
	api *server
}

func (c *calibration) scale(ctx context.Context) (prompt.Scale, error) {
	api, err := newServer(c.run.settings.target, c.run.server.key)
	if err != nil {
		return prompt.Scale{}, err
	}
	c.api = api
	defer api.client.CloseIdleConnections()
	probes := prompt.NewProbes()
	basis, count := prompt.ByTokenizer, c.tokenize
	one, err := count(ctx, probes.One)
	if err != nil {
		basis, count = prompt.ByUsage, c.usage
		if one, err = count(ctx, probes.One); err != nil {
			return prompt.Scale{}, err
		}
	}
	scale, err := scaleOf(ctx, basis, probes, one, count)
	if err != nil {
		return prompt.Scale{}, err
	}
	if basis == prompt.ByUsage {
		added := one - 1
		scale.TemplateTokens = &added
	} else if used, err := c.usage(ctx, probes.One); err == nil && used >= one {
		added := used - one
		scale.TemplateTokens = &added
		scale = c.words(ctx, scale)
	}
	return c.file(ctx, scale, count, one), nil
}

// scaleOf counts the probes.
func scaleOf(ctx context.Context, basis prompt.Basis, probes prompt.Probes, one int, count func(context.Context, string) (int, error)) (prompt.Scale, error) {
	counts := prompt.Counts{One: one}
	for _, probe := range []struct {
		text string
		into *int
	}{{probes.Short, &counts.Short}, {probes.Instructed, &counts.Instructed}, {probes.Whole, &counts.Whole}} {
		n, err := count(ctx, probe.text)
		if err != nil {
			return prompt.Scale{}, err
		}
		*probe.into = n
	}
	return prompt.NewScale(basis, counts)
}

// words counts every word where not all of them are one token: a tokenizer's route is quick, and
// lengths are then exact again.
func (c *calibration) words(ctx context.Context, scale prompt.Scale) prompt.Scale {
	if scale.TokensPerWord == 1 {
		return scale
	}
	var counts []int
	for _, word := range prompt.Words() {
		n, err := c.tokenize(ctx, word)
		if err != nil {
			return scale
		}
		counts = append(counts, n)
	}
	if exact, err := scale.WithWords(counts); err == nil {
		return exact
	}
	return scale
}

// file calibrates texts of the user's file by a sample of them.
func (c *calibration) file(ctx context.Context, scale prompt.Scale, count func(context.Context, string) (int, error), one int) prompt.Scale {
	file := c.run.settings.file
	if file == nil {
		return scale
	}
	sample := file.Sample()
	if n, err := count(ctx, sample); err == nil && n >= one {
		scale.TokensPerByte = max(float64(n-one+1)/float64(len(sample)), leastPerByte)
	}
	return scale
}

// leastPerByte bounds what is believed of a text that repeats one word.
const leastPerByte = 0.02

// usage counts a text by a request of its own.
func (c *calibration) usage(ctx context.Context, text string) (int, error) {
	s := c.run.settings
	body, err := chat.Body(chat.Params{
		Endpoint: s.target.endpoint, Model: c.run.server.model.ID, Engine: c.run.server.engine, Fields: c.run.server.fields,
		Prompt: text, MaxTokens: 1, TopP: 1, Stream: !s.noStream,
	})
	if err != nil {
		return 0, err
	}
	clock := func() int64 { return 0 } // nothing is timed
	record := c.run.client.Do(ctx, chat.Request{Endpoint: s.target.endpoint, Body: body}, clock, nil).Record
	switch {
	case record.Status != chat.StatusOK:
		return 0, fmt.Errorf("a probe failed: %s", record.Error)
	case record.TokensIn == nil || *record.TokensIn < 1:
		return 0, errors.New("the server does not count prompt tokens")
	}
	return *record.TokensIn, nil
}

// tokenize counts a text by the server's tokenizer: POST /tokenize of vLLM and SGLang, which take
// the text as prompt, and of llama.cpp, which takes it as content; none of them minds the other.
func (c *calibration) tokenize(ctx context.Context, text string) (int, error) {
	body, err := json.Marshal(map[string]any{
		"model": c.run.server.model.ID, "prompt": text, "content": text, "add_special_tokens": false, "add_special": false,
	})
	if err != nil {
		return 0, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.api.root+"/tokenize", bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header = c.api.header.Clone()
	request.Header.Set("Content-Type", "application/json")
	request.Host = c.api.header.Get("Host")
	response, err := c.api.client.Do(request)
	if err != nil {
		return 0, withoutURL(err)
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, longestAnswer))
	if err != nil {
		return 0, err
	}
	if response.StatusCode != http.StatusOK {
		return 0, fmt.Errorf("POST /tokenize answered %d", response.StatusCode)
	}
	return tokensOf(answer)
}

// tokensOf reads the answer: {"count": 2, "tokens": [9906, 1917]}, or only the latter.
func tokensOf(answer []byte) (int, error) {
	var said struct {
		Count  *int  `json:"count"`
		Tokens []any `json:"tokens"`
	}
	if err := json.Unmarshal(answer, &said); err != nil {
		return 0, fmt.Errorf("POST /tokenize: %w", err)
	}
	n := len(said.Tokens)
	if said.Count != nil {
		n = *said.Count
	}
	if n < 1 {
		return 0, errors.New("POST /tokenize: no tokens")
	}
	return n, nil
}
