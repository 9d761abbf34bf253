package loadgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/umascope/umascope/loadgen/chat"
)

const (
	// probeTokens is how long the answers of probes are: enough to show that a length was forced.
	probeTokens = 4
	// probePrompt is short, and like no prompt that is measured.
	probePrompt = "Say the word ready, and nothing else."
	// shownRefusal bounds what the manifest repeats of a server's words.
	shownRefusal = 300
)

// prober sends requests that are not part of any load.
type prober struct {
	client *chat.Client
	clock  chat.Clock
	// base is what every request has; its fields are those that the server is known to accept.
	base chat.Params
}

// newProber makes a client of its own: one that measures has other deadlines, and its connections
// shall not be warm before it begins.
func newProber(t target, key string, base chat.Params) (*prober, error) {
	client, err := chat.New(chat.Options{
		BaseURL: t.url, Header: t.requestHeader(), APIKey: key, CAFile: t.caFile, Connections: 1,
		RequestTimeout: slowestCheck, FirstTokenTimeout: slowestCheck, ChunkTimeout: slowestCheck,
	})
	if err != nil {
		return nil, usage(err)
	}
	start := time.Now()
	return &prober{client, func() int64 { return int64(time.Since(start)) }, base}, nil
}

func (p *prober) close() { p.client.Close() }

// send sends a request. The error says how it ended if not well, in words fit for people.
func (p *prober) send(ctx context.Context, params chat.Params) (chat.Result, error) {
	body, err := chat.Body(params)
	if err != nil {
		return chat.Result{}, err
	}
	result := p.client.Do(ctx, chat.Request{Endpoint: params.Endpoint, Body: body, KeepOutput: true}, p.clock, nil)
	if record := result.Record; record.Status != chat.StatusOK {
		return result, errors.New(printable(failure(record)))
	}
	return result, nil
}

// failure says how a request ended, once: the record's own text has the status of an answer in it.
func failure(record chat.Record) string {
	if record.Status == chat.StatusHTTP {
		return record.Error
	}
	return string(record.Status) + ": " + record.Error
}

// turnsDown says whether a failure is the server's no to the request as it is, which the next one
// like it would get too.
func turnsDown(record chat.Record) bool {
	return record.Status == chat.StatusHTTP && slices.Contains([]int{400, 401, 403, 404, 405, 415, 422}, record.HTTPStatus)
}

// wish is a field of requests that the run would like to send.
type wish struct {
	// name is the field's in JSON, or several with commas.
	name string
	// asker is the flag that asks for it; empty if nobody does and the run can do without.
	asker string
	// known: all releases of the engine are known to take it.
	known bool
	apply func(*chat.Params)
}

// wishes lists what a run would send beyond a model, a prompt, a cap, temperature and top_p.
func (s *settings) wishes(engine string) []wish {
	var all []wish
	if s.requestSeed != nil {
		all = append(all, wish{"seed", "--request-seed", true, func(p *chat.Params) { p.Seed = s.requestSeed }})
	}
	if len(s.stop) > 0 {
		all = append(all, wish{"stop", "--stop", true, func(p *chat.Params) { p.Stop = s.stop }})
	}
	known, newer := chat.Fields(engine, s.target.endpoint)
	if s.ignoreEOS {
		all = append(all,
			wish{string(chat.FieldIgnoreEOS), "--ignore-eos", slices.Contains(known, chat.FieldIgnoreEOS), grant(chat.FieldIgnoreEOS)},
			wish{string(chat.FieldMinTokens), "--ignore-eos", slices.Contains(known, chat.FieldMinTokens), grant(chat.FieldMinTokens)})
	}
	for _, field := range reports(!s.noStream) {
		if slices.Contains(known, field) || slices.Contains(newer, field) {
			all = append(all, wish{string(field), "", slices.Contains(known, field), grant(field)})
		}
	}
	all = append(all, s.withSalt(known, newer)...)
	for _, name := range slices.Sorted(maps.Keys(s.extraBody)) {
		if !length(name) {
			all = append(all, wish{name, "--extra-body", false, extra(name, s.extraBody[name])})
		}
	}
	return all
}

// reports are the fields that make a server tell more, and cost nothing.
func reports(stream bool) []chat.Field {
	fields := []chat.Field{chat.FieldCachedDetails}
	if stream {
		fields = append(fields, chat.FieldContinuousUsage)
	}
	return fields
}

// length says whether a field decides how long an answer is. Such ones are not tried: a probe would be
// as long as the answers of the run, or ask for more tokens than its own cap.
func length(name string) bool {
	return slices.Contains([]string{"max_tokens", "max_completion_tokens", "min_tokens"}, name)
}

// grant asks for a field of the vendor's.
func grant(field chat.Field) func(*chat.Params) {
	return func(p *chat.Params) {
		p.Fields = append(slices.Clip(p.Fields), field)
		switch field {
		case chat.FieldIgnoreEOS:
			p.IgnoreEOS = true
		case chat.FieldMinTokens:
			p.MinTokens = p.MaxTokens
		case chat.FieldTokenIDs, chat.FieldCacheSalt:
			p.Extra = merged(p.Extra, string(field), map[chat.Field]any{chat.FieldTokenIDs: true, chat.FieldCacheSalt: "uma-load"}[field])
		}
	}
}

// extra sends a field as the user gave it.
func extra(name string, value any) func(*chat.Params) {
	return func(p *chat.Params) { p.Extra = merged(p.Extra, name, value) }
}

func merged(fields map[string]any, name string, value any) map[string]any {
	all := maps.Clone(fields)
	if all == nil {
		all = map[string]any{}
	}
	all[name] = value
	return all
}

// refusal is a field that the server does not take, in its own words.
type refusal struct {
	Field string `json:"field"`
	Says  string `json:"says"`
}

// acceptance is which fields a server takes. Accepted is not obeyed: many ignore what they do not
// know, so that what a field was asked for must be looked at.
type acceptance struct {
	Accepted []string  `json:"accepted"`
	Refused  []refusal `json:"refused,omitempty"`
	// Unknown is why it could not be found out; the vendor's fields are then believed in.
	Unknown string `json:"unknown,omitempty"`
}

// accept finds out which of the wishes the server takes: all in one request or, if it turns that one
// down, one after the other. The error: it turns down a request with none of them.
func (p *prober) accept(ctx context.Context, wishes []wish) (acceptance, error) {
	record, err := p.try(ctx, wishes...)
	if err == nil {
		return accepted(wishes), nil
	}
	if !turnsDown(record) {
		return acceptance{Unknown: err.Error()}, nil
	}
	if record, err = p.try(ctx); err != nil {
		if turnsDown(record) {
			return acceptance{}, err
		}
		return acceptance{Unknown: err.Error()}, nil
	}
	return p.oneByOne(ctx, wishes), nil
}

func accepted(wishes []wish) acceptance {
	a := acceptance{Accepted: []string{}}
	for _, w := range wishes {
		a.Accepted = append(a.Accepted, w.name)
	}
	return a
}

func (p *prober) oneByOne(ctx context.Context, wishes []wish) acceptance {
	a := acceptance{Accepted: []string{}}
	for _, w := range wishes {
		record, err := p.try(ctx, w)
		switch {
		case err == nil:
			a.Accepted = append(a.Accepted, w.name)
		case turnsDown(record):
			a.Refused = append(a.Refused, refusal{w.name, chat.Printable(err.Error(), shownRefusal)})
		default:
			a.Unknown = err.Error()
			return a
		}
	}
	return a
}

// try sends one request with the given wishes and no other.
func (p *prober) try(ctx context.Context, wishes ...wish) (chat.Record, error) {
	params := p.base
	params.Prompt, params.MaxTokens, params.Fields = probePrompt, probeTokens, []chat.Field{}
	for _, w := range wishes {
		w.apply(&params)
	}
	result, err := p.send(ctx, params)
	return result.Record, err
}

// fields are those that requests may have from now on; nil stands for the vendor's.
func (a acceptance) fields(wishes []wish) []chat.Field {
	if a.Unknown != "" {
		return nil
	}
	fields := []chat.Field{}
	for _, w := range wishes {
		if slices.Contains(a.Accepted, w.name) {
			fields = append(fields, chat.Field(w.name))
		}
	}
	return fields
}

// missing is what the user asked for and the server does not take; nil if that is nothing.
func (a acceptance) missing(wishes []wish) error {
	for _, r := range a.Refused {
		i := slices.IndexFunc(wishes, func(w wish) bool { return w.name == r.Field })
		if i >= 0 && wishes[i].asker != "" {
			return usage(fmt.Errorf("%s: the server refuses %s: %s", wishes[i].asker, r.Field, r.Says))
		}
	}
	return nil
}

// warn says what the run goes on without. That a release is older than a field is no surprise.
func (a acceptance) warn(wishes []wish, log *slog.Logger) {
	if a.Unknown != "" {
		log.Warn("which request fields the server takes could not be found out; those of its vendor are sent", "why", a.Unknown)
	}
	for _, r := range a.Refused {
		level := slog.LevelInfo
		if i := slices.IndexFunc(wishes, func(w wish) bool { return w.name == r.Field }); i >= 0 && wishes[i].known {
			level = slog.LevelWarn
		}
		log.Log(context.Background(), level, "left out: the server refuses it", "field", r.Field, "says", r.Says)
	}
}

// String lists what is taken and what is not, for a person.
func (a acceptance) String() string {
	var refused []string
	for _, r := range a.Refused {
		refused = append(refused, r.Field)
	}
	switch {
	case a.Unknown != "":
		return "not known: " + a.Unknown
	case len(refused) == 0:
		return strings.Join(a.Accepted, ", ")
	}
	return strings.Join(a.Accepted, ", ") + "; not " + strings.Join(refused, ", ")
}
