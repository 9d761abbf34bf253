package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

const (
	// slowestCheck is the longest that a request outside of a load may take, if the load's requests may take as long.
	slowestCheck = 60 * time.Second
	// probeTokens is the length of the probes' answers: enough to show that a length was forced.
	probeTokens = 4
	// probePrompt is short, and unlike any prompt that is measured.
	probePrompt = "Say the word ready, and nothing else."
	// shownRefusal is the most of a server's error that the manifest repeats.
	shownRefusal = 300
)

// prober sends requests that are not part of any load.
type prober struct {
	// client sends requests for streams, buffered those for whole answers, which have no deadline of a first token.
	client, buffered *openai.Client
	clock            openai.Clock
	// due is the deadline of the load that a probe missing its own has missed, for people; empty if the load's requests
	// may take longer than a probe.
	due string
	// base is the part that all requests share. Its fields are those that the server is known to accept.
	base openai.Params
}

// newProber makes a client of its own: the measuring client has other deadlines, and its connections must not be warm
// before it begins.
func newProber(t Target, key string, base openai.Params) (*prober, error) {
	options := openai.Options{
		BaseURL: t.URL, Header: t.RequestHeader(), APIKey: key, CAFile: t.CAFile, Dial: t.Dial, Counts: CountsOf(t.Known), Connections: 1,
		RequestTimeout: within(slowestCheck, t.RequestTimeout),
	}
	buffered, err := openai.New(options)
	if err != nil {
		return nil, err
	}
	options.FirstTokenTimeout = within(options.RequestTimeout, t.FirstTokenTimeout)
	client, err := openai.New(options)
	if err != nil {
		return nil, err
	}
	start := time.Now()
	return &prober{client, buffered, func() int64 { return int64(time.Since(start)) }, t.due(base.Stream), base}, nil
}

// due returns the flag whose deadline is that of a probe too; empty if there is none.
func (t Target) due(stream bool) string {
	switch {
	case stream && t.FirstTokenTimeout > 0 && t.FirstTokenTimeout < within(slowestCheck, t.RequestTimeout):
		return "--first-token-timeout"
	case t.RequestTimeout > 0 && t.RequestTimeout <= slowestCheck:
		return "--request-timeout"
	}
	return ""
}

func (p *prober) close() {
	p.client.Close()
	p.buffered.Close()
}

// send sends a request. The error describes for people how it failed.
func (p *prober) send(ctx context.Context, params openai.Params) (openai.Result, error) {
	body, err := openai.Body(params)
	if err != nil {
		return openai.Result{}, err
	}
	client := p.client
	if !params.Stream {
		client = p.buffered
	}
	result := client.Do(ctx, openai.Request{Endpoint: params.Endpoint, Body: body, KeepOutput: true}, p.clock, nil)
	if record := result.Record; record.Status != openai.StatusOK {
		return result, errors.New(printable(failure(record)))
	}
	return result, nil
}

// failure describes how a request ended, without repetition: the record's own text contains the status of an answer.
func failure(record openai.Record) string {
	if record.Status == openai.StatusHTTP {
		return record.Error
	}
	return string(record.Status) + ": " + record.Error
}

// turnsDown reports whether the server refused the request itself, so that an equal request would fail too.
func turnsDown(record openai.Record) bool {
	return record.Status == openai.StatusHTTP && slices.Contains([]int{400, 401, 403, 404, 405, 415, 422}, record.HTTPStatus)
}

// mayRefuseField reports whether a request may have failed for one of its fields. Servers that pass the fields on as
// arguments answer 500 to one that they do not have, others 200 with an error.
func mayRefuseField(record openai.Record) bool {
	switch record.HTTPStatus {
	case http.StatusBadRequest, http.StatusUnprocessableEntity, http.StatusUnsupportedMediaType, http.StatusInternalServerError, http.StatusNotImplemented:
		return true
	}
	return record.Status == openai.StatusInBand && len(record.ArrivalsNS) == 0
}

// accept finds out which of the wishes the server accepts: all in one request or, if the server refuses that request,
// one by one. It fails if the server refuses a request with none of them, and with as few of the usual fields as can be
// (shrink).
func (p *prober) accept(ctx context.Context, wishes []wish) (rundir.Acceptance, error) {
	record, err := p.try(ctx, wishes...)
	if err == nil {
		return accepted(wishes), nil
	}
	if dead := p.overdue(record); dead != nil {
		return rundir.Acceptance{}, dead
	}
	if !turnsDown(record) && !mayRefuseField(record) {
		return rundir.Acceptance{Unknown: err.Error()}, nil
	}
	var renounced rundir.Acceptance
	if record, err = p.try(ctx); err != nil && mayRefuseField(record) {
		renounced, record, err = p.shrink(ctx, err)
	}
	if err != nil {
		if turnsDown(record) {
			return rundir.Acceptance{}, fmt.Errorf("--endpoint: %s: %w", p.base.Endpoint, err)
		}
		return rundir.Acceptance{Unknown: err.Error()}, nil
	}
	a := p.oneByOne(ctx, wishes)
	a.Accepted, a.Refused = append(renounced.Accepted, a.Accepted...), append(renounced.Refused, a.Refused...)
	return a, nil
}

// shrink makes requests smaller for a server that refuses the usual ones, for the given reason: it looks for the fewest
// fields of OpenAI's own to leave out, or for the other name of the cap, and sets base.Omit. It fails if the server
// refuses a request with the least fields.
func (p *prober) shrink(ctx context.Context, because error) (rundir.Acceptance, openai.Record, error) {
	a := rundir.Acceptance{Accepted: []string{}}
	refuse := func(field openai.Field, err error) {
		a.Refused = append(a.Refused, rundir.Refusal{Field: string(field), Says: openai.Printable(err.Error(), shownRefusal)})
	}
	optional := []openai.Field{openai.FieldTemperature, openai.FieldTopP, openai.FieldStreamOptions}
	if !p.base.Stream {
		optional[2] = openai.FieldStream
	}
	caps := p.base.Vendor.Caps(p.base.Endpoint)
	var record openai.Record
	var err error
	for refused := 0; refused <= len(caps); refused++ {
		p.base.Omit = slices.Concat(optional, caps[:refused])
		if record, err = p.try(ctx); err == nil {
			if refused > 0 && refused < len(caps) {
				a.Accepted = append(a.Accepted, string(caps[refused]))
			}
			break
		}
		if !mayRefuseField(record) || refused == len(caps) {
			p.base.Omit = nil
			return a, record, because
		}
		refuse(caps[refused], err)
	}
	for _, field := range optional {
		less := p.base.Omit
		p.base.Omit = slices.DeleteFunc(slices.Clone(less), func(f openai.Field) bool { return f == field })
		if _, err := p.try(ctx); err != nil {
			p.base.Omit = less
			refuse(field, err)
		}
	}
	return a, record, nil
}

// overdue returns the error of a probe that missed the deadline of the load's requests; nil if there is no such
// deadline. The load's own requests, which ask for more, would end the same way one by one.
func (p *prober) overdue(record openai.Record) error {
	if p.due == "" || record.Status != openai.StatusTimeout {
		return nil
	}
	return fmt.Errorf("%s: a request for %d tokens of %q was not answered: %s; restart the engine, or set a longer timeout if it loads the model at the first request",
		p.due, probeTokens, p.base.Model, printable(record.Error))
}

func accepted(wishes []wish) rundir.Acceptance {
	a := rundir.Acceptance{Accepted: []string{}}
	for _, w := range wishes {
		a.Accepted = append(a.Accepted, w.name)
	}
	return a
}

func (p *prober) oneByOne(ctx context.Context, wishes []wish) rundir.Acceptance {
	a := rundir.Acceptance{Accepted: []string{}}
	for _, w := range wishes {
		if w.name == string(openai.FieldContinuousUsage) && slices.Contains(p.base.Omit, openai.FieldStreamOptions) {
			continue // it is a member of the other
		}
		record, err := p.try(ctx, w)
		switch {
		case err == nil:
			a.Accepted = append(a.Accepted, w.name)
		case turnsDown(record):
			a.Refused = append(a.Refused, rundir.Refusal{Field: w.name, Says: openai.Printable(err.Error(), shownRefusal)})
		default:
			a.Unknown = err.Error()
			return a
		}
	}
	return a
}

// try sends one request with only the given wishes.
func (p *prober) try(ctx context.Context, wishes ...wish) (openai.Record, error) {
	params := p.base
	params.Prompt, params.MaxTokens, params.Fields = probePrompt, probeTokens, []openai.Field{}
	for _, w := range wishes {
		w.apply(&params)
	}
	result, err := p.send(ctx, params)
	return result.Record, err
}
