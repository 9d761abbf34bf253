package loadgen

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/umascope/umascope/loadgen/chat"
	"github.com/umascope/umascope/loadgen/report"
)

// identity is what answers a run: looked at before it, watched while it lasts, and looked at again.
// Nobody's word is taken for it: names prove nothing.
type identity struct {
	api   *server
	probe *prober
	url   string
	model model

	start fingerprint
	end   *fingerprint // nil when it could not be asked for again
	guard *guard
	// gone is why there is no model to compare with at the end.
	gone string
}

// recognize finds out which request fields the server takes and takes the model's fingerprint. An
// error is bad input: the server takes no such request, or not what a flag asks for.
func (r *run) recognize(ctx context.Context) error {
	s := r.settings
	probe, err := newProber(s.target, r.server.key, chat.Params{
		Endpoint: s.target.endpoint, Model: r.server.model.ID, Engine: r.server.engine, TopP: 1, Stream: !s.noStream,
	})
	if err != nil {
		return err
	}
	api, err := newServer(s.target, r.server.key)
	if err != nil {
		return err
	}
	r.identity = &identity{api: api, probe: probe, url: s.target.url, model: r.server.model}
	wishes := s.wishes(r.server.engine)
	r.server.accepted, err = probe.accept(ctx, wishes)
	if ctx.Err() != nil {
		return errInterrupted
	}
	if err != nil {
		return usage(fmt.Errorf("--endpoint: %s: %w", s.target.endpoint, err))
	}
	if err := r.server.accepted.missing(wishes); err != nil {
		return err
	}
	r.server.accepted.warn(wishes, r.log)
	r.server.fields = r.server.accepted.fields(wishes)
	probe.base.Fields = []chat.Field{} // what tells more of a run is of no use to a probe
	r.identity.start = probe.fingerprint(ctx, s.target.url, r.server.model)
	if ctx.Err() != nil {
		return errInterrupted
	}
	return nil
}

func (i *identity) close() {
	i.probe.close()
	i.api.client.CloseIdleConnections()
}

// watch begins to look at failures; halt ends the run at once.
func (i *identity) watch(ctx context.Context, halt context.CancelCauseFunc) {
	i.guard = &guard{models: i.api.models, model: i.model.ID, halt: halt, ctx: ctx}
}

// again looks at the model once more, when the load is over. A run that was stopped has nothing to
// compare.
func (i *identity) again(ctx context.Context) {
	i.guard.wait()
	if ctx.Err() != nil || i.guard.stopped() != nil {
		return
	}
	models, err := i.api.models(ctx)
	if err != nil {
		i.gone = err.Error()
		return
	}
	at := slices.IndexFunc(models, func(m model) bool { return m.ID == i.model.ID })
	if at < 0 {
		i.guard.stop(&stopReason{report.CodeModelDropped, fmt.Sprintf("at the end %q is not served any more; served are: %s", i.model.ID, namesOf(models))})
		return
	}
	end := i.probe.fingerprint(ctx, i.url, models[at])
	i.end = &end
}

// record enters what is known at the end.
func (i *identity) record(facts *serverFacts) { facts.FingerprintEnd = i.end }

// judge adds what the fingerprints and the guard show to what the answers said.
func (i *identity) judge(m report.Model) report.Model {
	m.Fingerprint = i.start.id()
	if i.end != nil {
		m.Compared, m.Changed = i.start.comparable(*i.end), i.start.changed(*i.end)
	}
	if i.guard == nil {
		return m
	}
	m.Guarded = true
	if reason := i.guard.stopped(); reason != nil {
		switch reason.code {
		case report.CodeModelDropped:
			m.Dropped = reason.detail
		case report.CodePromptLimit:
			m.PromptLimit = reason.detail
		}
	}
	return m
}

// warnings says what of the fingerprint could not be had, and what it shows that decides nothing. Most
// servers name no folder of weights: that they do not is in the manifest.
func (i *identity) warnings() []string {
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
