package server

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// wish is a field of requests that the run would like to send.
type wish struct {
	// name is the field's in JSON, or several with commas.
	name string
	// asker is the flag that asks for it; empty if nobody does and the run can do without.
	asker string
	// known: all releases of the engine are known to take it.
	known bool
	apply func(*openai.Params)
}

// Wanted is what a run asks of requests beyond a model, a prompt, a cap, temperature and top_p.
type Wanted struct {
	Seed      *int64
	Stop      []string
	IgnoreEOS bool
	Stream    bool
	// CacheSalt asks for the field that keeps a request from what was cached for others, where there is one.
	CacheSalt bool
	Extra     map[string]any // the user's own fields
}

// wishes lists the fields for that, of an engine whose API is used at an endpoint.
func (w Wanted) wishes(engine string, endpoint openai.Endpoint) []wish {
	var all []wish
	if w.Seed != nil {
		all = append(all, wish{"seed", "--request-seed", true, func(p *openai.Params) { p.Seed = w.Seed }})
	}
	if len(w.Stop) > 0 {
		all = append(all, wish{"stop", "--stop", true, func(p *openai.Params) { p.Stop = w.Stop }})
	}
	known, newer := openai.Fields(engine, endpoint)
	if w.IgnoreEOS {
		all = append(all,
			wish{string(openai.FieldIgnoreEOS), "--ignore-eos", slices.Contains(known, openai.FieldIgnoreEOS), grant(openai.FieldIgnoreEOS)},
			wish{string(openai.FieldMinTokens), "--ignore-eos", slices.Contains(known, openai.FieldMinTokens), grant(openai.FieldMinTokens)})
	}
	for _, field := range reports(w.Stream) {
		if slices.Contains(known, field) || slices.Contains(newer, field) {
			all = append(all, wish{string(field), "", slices.Contains(known, field), grant(field)})
		}
	}
	if sure := slices.Contains(known, openai.FieldCacheSalt); w.CacheSalt && (sure || slices.Contains(newer, openai.FieldCacheSalt)) {
		all = append(all, wish{string(openai.FieldCacheSalt), "", sure, grant(openai.FieldCacheSalt)})
	}
	for _, name := range slices.Sorted(maps.Keys(w.Extra)) {
		if !length(name) {
			all = append(all, wish{name, "--extra-body", false, extra(name, w.Extra[name])})
		}
	}
	return all
}

// reports are the fields that make a server tell more, and cost nothing.
func reports(stream bool) []openai.Field {
	fields := []openai.Field{openai.FieldCachedDetails}
	if stream {
		fields = append(fields, openai.FieldContinuousUsage)
	}
	return fields
}

// length says whether a field decides how long an answer is. Such ones are not tried: a probe would be
// as long as the answers of the run, or ask for more tokens than its own cap.
func length(name string) bool {
	return slices.Contains([]string{"max_tokens", "max_completion_tokens", "min_tokens"}, name)
}

// grant asks for a field of the vendor's.
func grant(field openai.Field) func(*openai.Params) {
	return func(p *openai.Params) {
		p.Fields = append(slices.Clip(p.Fields), field)
		switch field {
		case openai.FieldIgnoreEOS:
			p.IgnoreEOS = true
		case openai.FieldMinTokens:
			p.MinTokens = p.MaxTokens
		case openai.FieldTokenIDs:
			p.Extra = merged(p.Extra, string(field), true)
		case openai.FieldCacheSalt:
			p.Extra = merged(p.Extra, string(field), openai.CacheSalt("probe", "salt")) // of the form that a run sends
		}
	}
}

// extra sends a field as the user gave it.
func extra(name string, value any) func(*openai.Params) {
	return func(p *openai.Params) { p.Extra = merged(p.Extra, name, value) }
}

func merged(fields map[string]any, name string, value any) map[string]any {
	all := maps.Clone(fields)
	if all == nil {
		all = map[string]any{}
	}
	all[name] = value
	return all
}

// fieldsOf are those that requests may have from now on; nil stands for the vendor's.
func fieldsOf(a rundir.Acceptance, wishes []wish) []openai.Field {
	if a.Unknown != "" {
		return nil
	}
	fields := []openai.Field{}
	for _, w := range wishes {
		if slices.Contains(a.Accepted, w.name) {
			fields = append(fields, openai.Field(w.name))
		}
	}
	return fields
}

// missing is what the user asked for and the server does not take; nil if that is nothing.
func missing(a rundir.Acceptance, wishes []wish) error {
	for _, r := range a.Refused {
		i := slices.IndexFunc(wishes, func(w wish) bool { return w.name == r.Field })
		if i >= 0 && wishes[i].asker != "" {
			return fmt.Errorf("%s: the server refuses %s: %s", wishes[i].asker, r.Field, r.Says)
		}
	}
	return nil
}

// warn says what the run goes on without. That a release is older than a field is no surprise.
func warn(a rundir.Acceptance, wishes []wish, log *slog.Logger) {
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
