package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/umascope/umascope/loadgen/openai"
	"github.com/umascope/umascope/loadgen/rundir"
)

// Identity is the identity of the server under test: found before a run (Recognize), watched during it (Watch, Saw),
// and checked again after it (Again).
type Identity struct {
	api   *api
	probe *prober
	url   string
	model Model
	start fingerprint
	end   *fingerprint // nil if it could not be taken
	guard *guard       // nil before the load
	// gone is why there is no model to compare with at the end.
	gone string
	// unlisted is why the server has no list of models; empty if it has one.
	unlisted string
	// renounced are warnings about fields that requests go without.
	renounced []string
}

// Recognize finds out which request fields the server accepts, adds them to f, and takes the model's fingerprint. The
// caller closes the result. The error is bad input, unless the context is done: the server does not accept the
// request, or a field that a flag asks for.
func Recognize(ctx context.Context, t Target, f *Served, want Wanted, log *slog.Logger) (*Identity, error) {
	probe, err := newProber(t, f.Key, openai.Params{
		Endpoint: t.Endpoint, Model: f.Model.ID, Vendor: VendorOf(t.Known, f.Engine), Temperature: want.Temperature, TopP: want.TopP, Stream: want.Stream,
	})
	if err != nil {
		return nil, err
	}
	api, err := newAPI(t, f.Key)
	if err != nil {
		probe.close()
		return nil, err
	}
	i := &Identity{api: api, probe: probe, url: t.URL, model: f.Model, unlisted: f.Unlisted}
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

// accept finds out which of the optional fields of the run the server accepts.
func (i *Identity) accept(ctx context.Context, f *Served, want Wanted, log *slog.Logger) error {
	endpoint := i.probe.base.Endpoint
	wishes := want.wishes(i.probe.base.Vendor, endpoint)
	accepted, err := i.probe.accept(ctx, wishes)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil && f.Unlisted != "":
		return fmt.Errorf("--endpoint: %s: %w; %s either: is it the engine's own address, such as http://127.0.0.1:8000?", endpoint, err, f.Unlisted)
	case err != nil:
		return err
	}
	omit := i.probe.base.Omit
	if err := errors.Join(want.insisted(accepted, omit), missing(accepted, wishes)); err != nil {
		return err
	}
	warn(accepted, wishes, log)
	f.Accepted, f.Fields, f.Omit = accepted, fieldsOf(accepted, wishes), omit
	i.renounced = renounced(accepted, omit)
	i.probe.base.Fields = []openai.Field{} // fields that only make a server report more have no use in a probe
	return nil
}

// Close closes its connections.
func (i *Identity) Close() {
	i.probe.close()
	i.api.close()
}

// Watch begins to examine failures. halt ends the run at once.
func (i *Identity) Watch(ctx context.Context, halt context.CancelCauseFunc) {
	i.guard = &guard{models: i.models, model: i.model.ID, halt: halt, ctx: ctx}
}

// Saw takes a result of the load. It may be called from many goroutines and returns at once.
func (i *Identity) Saw(result openai.Result) { i.guard.saw(result) }

// Hold waits while the model list is checked, and reports whether it waited. It fails when the load was stopped or the
// context is done.
func (i *Identity) Hold(ctx context.Context) (waited bool, err error) { return i.guard.pass(ctx) }

// Stopped reports whether the guard has stopped the load.
func (i *Identity) Stopped() bool { return i.guard != nil && i.guard.stopped() != nil }

// Unlike returns what shows that another server has another model, by the fingerprints before the load; "" if nothing
// does.
func (i *Identity) Unlike(other *Identity) string { return i.start.unlike(other.start) }

// models lists the models. A server without a list still has the model that was asked for.
func (i *Identity) models(ctx context.Context) ([]Model, error) {
	models, err := i.api.models(ctx)
	if i.unlisted != "" && noList(models, err) != "" {
		return []Model{i.model}, nil
	}
	return models, err
}

// Again takes the fingerprint once more, after the load. It does nothing for a run that was stopped or never began.
func (i *Identity) Again(ctx context.Context) {
	if i.guard == nil {
		return
	}
	i.guard.wait()
	if ctx.Err() != nil || i.Stopped() {
		return
	}
	models, err := i.models(ctx)
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

// Fingerprints returns those of start and end; the latter is nil if it could not be taken.
func (i *Identity) Fingerprints() (start, end *rundir.Fingerprint) {
	if i.end != nil {
		end = &i.end.Fingerprint
	}
	return &i.start.Fingerprint, end
}

// Verdict holds the findings about the model at the end of a run.
type Verdict struct {
	// Fingerprint is the name of the model in summaries, part by part; empty if no part was observable.
	Fingerprint string
	// Compared is true if the deciding parts were observed at start and end. Changed describes what shows another
	// model.
	Compared bool
	Changed  string
	// Guarded is true if failures were examined. Dropped and PromptLimit are why the load was stopped; at most one of
	// them is not empty.
	Guarded              bool
	Dropped, PromptLimit string
}

// Verdict combines the findings of the fingerprints and the guard.
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

// Warnings returns the parts of the fingerprint that could not be observed, and differences that do not decide. A
// missing weights folder, which is usual, is only in the manifest.
func (i *Identity) Warnings() []string {
	warnings := i.renounced
	if i.unlisted != "" {
		warnings = append(warnings, "the server does not list its models ("+printable(i.unlisted)+"): the model is the one that --model names; a limit of prompt and answer, and a model that is dropped, are not noticed by the list")
	}
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
