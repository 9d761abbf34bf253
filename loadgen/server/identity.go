package server

import (
	"context"
	"fmt"
	"log/slog"
	"strings"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Identity is what answers a run: looked at before it (Recognize), watched while it lasts (Watch, Saw),
// and looked at again (Again).
type Identity struct {
	api   *api
	probe *prober
	url   string
	model Model
	start fingerprint
	end   *fingerprint // nil when it could not be asked for again
	guard *guard       // nil before the load
	// gone is why there is no model to compare with at the end.
	gone string
}

// Recognize finds out which request fields the server takes, enters them into what was found, and takes
// the model's fingerprint. Whoever has it closes it. An error is bad input, unless the context is done: the server takes no such
// request, or not what a flag asks for.
func Recognize(ctx context.Context, t Target, f *Served, want Wanted, log *slog.Logger) (*Identity, error) {
	probe, err := newProber(t, f.Key, openai.Params{
		Endpoint: t.Endpoint, Model: f.Model.ID, Engine: f.Engine, TopP: 1, Stream: want.Stream,
	})
	if err != nil {
		return nil, err
	}
	api, err := newAPI(t, f.Key)
	if err != nil {
		probe.close()
		return nil, err
	}
	i := &Identity{api: api, probe: probe, url: t.URL, model: f.Model}
	if err := i.accept(ctx, f, want, log); err != nil {
		i.Close()
		return nil, err
	}
	f.Model.MaxTokens = api.contextOf(ctx, f.Model, f.Engine)
	i.start = probe.fingerprint(ctx, t.URL, f.Model)
	if ctx.Err() != nil {
		i.Close()
		return nil, ctx.Err()
	}
	return i, nil
}

// accept finds out which of the fields that the run would like to send it may send.
func (i *Identity) accept(ctx context.Context, f *Served, want Wanted, log *slog.Logger) error {
	endpoint := i.probe.base.Endpoint
	wishes := want.wishes(f.Engine, endpoint)
	accepted, err := i.probe.accept(ctx, wishes)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return fmt.Errorf("--endpoint: %s: %w", endpoint, err)
	}
	if err := missing(accepted, wishes); err != nil {
		return err
	}
	warn(accepted, wishes, log)
	f.Accepted, f.Fields = accepted, fieldsOf(accepted, wishes)
	i.probe.base.Fields = []openai.Field{} // what tells more of a run is of no use to a probe
	return nil
}

// Close frees its connections.
func (i *Identity) Close() {
	i.probe.close()
	i.api.close()
}

// Watch begins to look at failures; halt ends the run at once.
func (i *Identity) Watch(ctx context.Context, halt context.CancelCauseFunc) {
	i.guard = &guard{models: i.api.models, model: i.model.ID, halt: halt, ctx: ctx}
}

// Saw takes a result of the load. It may be called from many goroutines and returns at once.
func (i *Identity) Saw(result openai.Result) { i.guard.saw(result) }

// Hold waits while it is looked whether the model is gone, and reports whether it waited; it fails when the
// load was stopped or the context is done.
func (i *Identity) Hold(ctx context.Context) (waited bool, err error) { return i.guard.pass(ctx) }

// Stopped says whether the load was stopped for what was seen.
func (i *Identity) Stopped() bool { return i.guard != nil && i.guard.stopped() != nil }

// Again looks at the model once more, when the load is over. A run that was stopped, or never began, has
// nothing to compare.
func (i *Identity) Again(ctx context.Context) {
	if i.guard == nil {
		return
	}
	i.guard.wait()
	if ctx.Err() != nil || i.Stopped() {
		return
	}
	models, err := i.api.models(ctx)
	if err != nil {
		i.gone = err.Error()
		return
	}
	model, served := find(models, i.model.ID)
	if !served {
		i.guard.stop(&stopReason{modelDropped, fmt.Sprintf("at the end %q is not served any more; served are: %s", i.model.ID, namesOf(models))})
		return
	}
	end := i.probe.fingerprint(ctx, i.url, model)
	i.end = &end
}

// Fingerprints are those of start and end; the latter is nil if it could not be had.
func (i *Identity) Fingerprints() (start, end *rundir.Fingerprint) {
	if i.end != nil {
		end = &i.end.Fingerprint
	}
	return &i.start.Fingerprint, end
}

// Verdict is what is known of the model when the run is over.
type Verdict struct {
	// Fingerprint is what summaries name the model by, part by part; empty: nothing was observable.
	Fingerprint string
	// Compared says whether what decides is known of start and end, Changed what shows another model.
	Compared bool
	Changed  string
	// Guarded says whether failures were looked into; Dropped and PromptLimit why the load was stopped,
	// of which at most one is not empty.
	Guarded              bool
	Dropped, PromptLimit string
}

// Verdict sums up what the fingerprints and the guard show.
func (i *Identity) Verdict() Verdict {
	v := Verdict{Fingerprint: i.start.id(), Guarded: i.guard != nil}
	if i.end != nil {
		v.Compared, v.Changed = i.start.comparable(*i.end), i.start.changed(*i.end)
	}
	if !i.Stopped() {
		return v
	}
	switch reason := i.guard.stopped(); reason.kind {
	case modelDropped:
		v.Dropped = reason.detail
	case promptLimit:
		v.PromptLimit = reason.detail
	}
	return v
}

// Warnings says what of the fingerprint could not be had, and what it shows that decides nothing. Most
// servers name no folder of weights: that they do not is in the manifest.
func (i *Identity) Warnings() []string {
	var warnings []string
	for _, missing := range i.start.Missing {
		if !strings.HasPrefix(missing, missingWeights) {
			warnings = append(warnings, "the model's fingerprint is not complete: "+missing)
		}
	}
	if i.gone != "" {
		warnings = append(warnings, "whether the model changed is not known: at the end the server did not list its models: "+printable(i.gone))
	}
	if i.end == nil {
		return warnings
	}
	if i.start.ProbeTokens != nil && i.end.ProbeTokens == nil {
		warnings = append(warnings, "whether the model changed is not known: at the end "+strings.Join(i.end.Missing, "; "))
	}
	if drift := i.start.drift(*i.end); drift != "" {
		warnings = append(warnings, drift)
	}
	return warnings
}
