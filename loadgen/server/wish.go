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

// wish is an optional request field of the run.
type wish struct {
	// name is the field's name in JSON, or several names with commas.
	name string
	// asker is the flag that asks for it; empty if the run can do without it.
	asker string
	// known is true if all releases of the engine accept it.
	known bool
	apply func(*openai.Params)
}

// Wanted is what a run needs of requests in addition to a model, a prompt, a cap, temperature and top_p.
type Wanted struct {
	Seed      *int64
	Stop      []string
	IgnoreEOS bool
	Stream    bool
	// CacheSalt asks for the field, if there is one, that keeps a request from using the cache entries of others.
	CacheSalt bool
	// TokenIDs asks for the ids of the tokens of each chunk, if there is a field for that.
	TokenIDs bool
	Extra    map[string]any // the user's own fields
	// Temperature and TopP are those of the run. A server may refuse some values.
	Temperature, TopP float64
	// Insisted are the flags of the fields of OpenAI's own that the run may not go without.
	Insisted map[openai.Field]string
}

// wishes lists the fields for these needs, for a vendor's API at an endpoint.
func (w Wanted) wishes(vendor openai.Vendor, endpoint openai.Endpoint) []wish {
	var all []wish
	if w.Seed != nil {
		all = append(all, wish{"seed", "--request-seed", true, func(p *openai.Params) { p.Seed = w.Seed }})
	}
	if len(w.Stop) > 0 {
		all = append(all, wish{"stop", "--stop", true, func(p *openai.Params) { p.Stop = w.Stop }})
	}
	known, newer := vendor.Fields(endpoint), vendor.Newer
	if w.IgnoreEOS {
		all = append(all,
			wish{string(openai.FieldIgnoreEOS), exactLength, slices.Contains(known, openai.FieldIgnoreEOS), grant(openai.FieldIgnoreEOS)},
			wish{string(openai.FieldMinTokens), exactLength, slices.Contains(known, openai.FieldMinTokens), grant(openai.FieldMinTokens)})
	}
	for _, field := range reports(w.Stream) {
		if slices.Contains(known, field) || slices.Contains(newer, field) {
			all = append(all, wish{string(field), "", slices.Contains(known, field), grant(field)})
		}
	}
	for _, of := range []struct {
		field  openai.Field
		wanted bool
	}{{openai.FieldCacheSalt, w.CacheSalt}, {openai.FieldTokenIDs, w.TokenIDs && w.Stream}} {
		if sure := slices.Contains(known, of.field); of.wanted && (sure || slices.Contains(newer, of.field)) {
			all = append(all, wish{string(of.field), "", sure, grant(of.field)})
		}
	}
	for _, name := range slices.Sorted(maps.Keys(w.Extra)) {
		if !length(name) {
			all = append(all, wish{name, "--extra-body", false, extra(name, w.Extra[name])})
		}
	}
	return all
}

// reports returns the fields that make a server report more, at no cost.
func reports(stream bool) []openai.Field {
	fields := []openai.Field{openai.FieldCachedDetails, openai.FieldDraftDetails}
	if stream {
		fields = append(fields, openai.FieldContinuousUsage)
	}
	return fields
}

// exactLength are the flags that ask for answers of one length.
const exactLength = "--ignore-eos of run, --exact of arena"

// length reports whether a field decides the length of an answer. Such fields are not tried: a probe would be as long
// as the answers of the run, or ask for more tokens than its own cap.
func length(name string) bool {
	return slices.Contains([]string{"max_tokens", "max_completion_tokens", "min_tokens"}, name)
}

// grant adds a field of the vendor.
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
			p.Extra = merged(p.Extra, string(field), openai.CacheSalt("probe", "salt")) // in the form that a run sends
		}
	}
}

// extra adds a field as the user gave it.
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

// fieldsOf returns the fields that requests may have from now on; nil means the vendor's.
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

// insisted returns an error for fields of OpenAI's own that the server refuses and the user asked for. The cap has two
// names; it is missing if the server refuses both.
func (w Wanted) insisted(a rundir.Acceptance, omit []openai.Field) error {
	for _, r := range a.Refused {
		field := openai.Field(r.Field)
		isCap := slices.Contains(openai.Vendor{}.Caps(openai.Chat), field)
		flag := w.Insisted[field]
		if flag == "" || !slices.Contains(omit, field) || isCap && openai.Capped(omit, nil) {
			continue
		}
		return fmt.Errorf("%s: the server refuses %s: %s; without the flag the field is left out", flag, r.Field, r.Says)
	}
	return nil
}

// cost describes what a run loses by requests without a field; "" if nothing.
func cost(field openai.Field, omit []openai.Field) string {
	switch field {
	case openai.FieldMaxTokens, openai.FieldMaxCompletionTokens:
		if openai.Capped(omit, nil) {
			return "the cap is sent under its other name, which costs nothing"
		}
		return "answers are as long as the model makes them, so E2E and tokens per second are of other lengths than those asked for"
	case openai.FieldTemperature:
		return "the server draws tokens by its own temperature, so answers, their lengths and comparisons of outputs vary"
	case openai.FieldTopP:
		return "the server's own top_p applies"
	case openai.FieldStreamOptions:
		return "the server is not asked for usage: where it counts no tokens unasked, each chunk counts as one, and tokens per second and TPOT are wrong if chunks hold several"
	case openai.FieldContinuousUsage, openai.FieldTokenIDs:
		return "the tokens of each chunk may not be known, and then there is no ITL"
	case openai.FieldCachedDetails:
		return "the tiers of cached tokens are not known"
	case openai.FieldDraftDetails:
		return "drafted tokens of requests are not known"
	case openai.FieldCacheSalt:
		return "requests may hit what the server cached for others"
	}
	return ""
}

// renounced returns a warning for each field that requests of the run go without, and what it costs.
func renounced(a rundir.Acceptance, omit []openai.Field) []string {
	var warnings []string
	for _, r := range a.Refused {
		warning := fmt.Sprintf("requests were sent without %s, which the server refuses (%s)", r.Field, r.Says)
		if lost := cost(openai.Field(r.Field), omit); lost != "" {
			warning += ": " + lost
		}
		warnings = append(warnings, warning)
	}
	return warnings
}

// missing returns an error for the fields that the user asked for and the server does not accept.
func missing(a rundir.Acceptance, wishes []wish) error {
	for _, r := range a.Refused {
		i := slices.IndexFunc(wishes, func(w wish) bool { return w.name == r.Field })
		if i >= 0 && wishes[i].asker != "" {
			return fmt.Errorf("%s: the server refuses %s: %s", wishes[i].asker, r.Field, r.Says)
		}
	}
	return nil
}

// warn logs the fields that the run goes without: at level info if only newer releases of the engine accept the field,
// else at level warning.
func warn(a rundir.Acceptance, wishes []wish, log *slog.Logger) {
	if a.Unknown != "" {
		log.Warn("which request fields the server takes could not be found out; those of its vendor are sent", "why", a.Unknown)
	}
	for _, r := range a.Refused {
		level := slog.LevelWarn
		if i := slices.IndexFunc(wishes, func(w wish) bool { return w.name == r.Field }); i >= 0 && !wishes[i].known {
			level = slog.LevelInfo
		}
		log.Log(context.Background(), level, "left out: the server refuses it", "field", r.Field, "says", r.Says)
	}
}
