package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// DrainsError is the error of an address on which an engine serves each entry of its statistics to one reader only. One
// request found that out, and there are no further ones.
type DrainsError struct {
	refusal string
	page    error // why there is no page
}

func (e DrainsError) Error() string { return e.refusal + " (" + e.page.Error() + ")" }

// Unwrap returns why there is no page at the other address.
func (e DrainsError) Unwrap() error { return e.page }

// Read reads an engine. Before is the previous reading, zero if there is none: values that are constant while an engine
// runs are read once. Keep the reading of a failed read too, unless the engine could not be reached.
func (c Client) Read(ctx context.Context, e *Endpoint, before Reading) (Reading, error) {
	reading := Reading{drains: before.drains}
	var err error
	draining, drains := c.drainingAt(e)
	if !reading.drains {
		reading, err = c.translated(ctx, e)
		if errors.Is(err, ErrNotPage) && drains {
			reading.drains = true
		}
	}
	if reading.drains {
		reading, err = c.drained(ctx, e, draining)
	}
	if err != nil {
		return reading, err
	}
	return c.complete(ctx, e, reading, before)
}

// drainingAt returns the engine that may hand out its statistics at this path.
func (c Client) drainingAt(e *Endpoint) (spec.Engine, bool) {
	i := slices.IndexFunc(c.Engines, e.draining)
	if i < 0 {
		return spec.Engine{}, false
	}
	return c.Engines[i], true
}

func (c Client) translated(ctx context.Context, e *Endpoint) (Reading, error) {
	page, err := c.Page(ctx, e)
	if err != nil {
		return Reading{}, err
	}
	translation, err := c.Engines.Translate(page)
	for i, label := range translation.UnknownLabels {
		translation.UnknownLabels[i] = hideText(label, e.secrets(ctx))
	}
	return Reading{Translation: translation}, err
}

// drained reads an engine at the address of its statistics: its page, if any, is at another one.
func (c Client) drained(ctx context.Context, e *Endpoint, draining spec.Engine) (Reading, error) {
	refused := func(err error) error { return DrainsError{draining.Metrics.Draining.Refusal, err} }
	page, err := e.With(draining.PagePath())
	if err != nil {
		return Reading{drains: true}, refused(err)
	}
	reading, err := c.translated(ctx, page)
	switch {
	case errors.Is(err, ErrUnreachable):
		return Reading{}, err
	case err != nil && !c.IterationStats:
		return Reading{drains: true}, refused(err)
	case err != nil:
		reading = Reading{Translation: spec.Translation{Engine: draining.Name, Models: []spec.Model{{}}}, pageless: true}
	}
	reading.drains = true
	return reading, nil
}

// complete adds the values that engines publish at other paths. Values that cannot be read there are absent.
func (c Client) complete(ctx context.Context, e *Endpoint, reading, before Reading) (Reading, error) {
	known, _ := c.Engines.Find(reading.Engine)
	e = e.of(known)
	if reading.follows(before) {
		reading.Version, reading.facts, reading.identified = before.Version, before.facts, before.identified
	} else {
		before = Reading{}
	}
	reading.keepStatePools(before)
	if _, err := e.prefix(); err != nil && known.Identity.About != nil {
		reading.Absent = append(reading.Absent, "its version and what else it publishes beside its page are not read: "+err.Error())
		return reading, nil
	}
	if !reading.identified {
		c.identify(ctx, e, known, &reading)
	}
	if add := known.Identity.Complete; add != nil {
		ask := func(path string, into any) error { return c.JSON(ctx, e, path, into) }
		add(ask, reading.facts, &reading.Models[0])
	}
	if known.Metrics.Draining != nil && c.IterationStats {
		var err error
		reading.latest, err = c.latest(ctx, e, known.Metrics.Draining, before.latest)
		if err != nil && reading.pageless {
			return Reading{drains: true}, err // no path has a value
		}
		if reading.latest != nil && len(reading.Models) == 1 {
			reading.latest(&reading.Models[0])
		}
	}
	return reading, nil
}

// follows reports whether the engine is the same as in the previous reading and has not restarted since.
func (r Reading) follows(before Reading) bool {
	return before.Engine == r.Engine && r.tokens() >= before.tokens()
}

// keepStatePools leaves out the pools that were never in use: engines write 0 for a pool that their model lacks.
func (r *Reading) keepStatePools(before Reading) {
	r.statePools = before.statePools
	for i := range r.Models {
		m := &r.Models[i]
		m.StatePools = slices.DeleteFunc(m.StatePools, func(pool spec.StatePool) bool {
			key := [2]string{m.Name, pool.Kind}
			if pool.UsedRatio > 0 && !slices.Contains(r.statePools, key) {
				r.statePools = append(slices.Clone(r.statePools), key)
			}
			return !slices.Contains(r.statePools, key)
		})
	}
}

// tokens is the number of tokens of all models together, prompts and answers.
func (r Reading) tokens() float64 {
	sum := 0.0
	for _, m := range r.Models {
		for _, count := range []*float64{m.PromptTokens, m.GenerationTokens} {
			if count != nil {
				sum += *count
			}
		}
	}
	return sum
}

// identify asks for version and name until the engine returns them or has no path that does: an engine that is busy, or
// loads its model, may return them later.
func (c Client) identify(ctx context.Context, e *Endpoint, known spec.Engine, reading *Reading) {
	var err error
	if about := known.Identity.About; about != nil {
		var answer json.RawMessage
		if err = c.JSON(ctx, e, about.Path, &answer); err == nil {
			reading.facts, err = about.Read(answer)
			reading.facts = spec.Facts{Version: spec.ShortText(reading.facts.Version), Model: spec.ShortText(reading.facts.Model)}
			reading.Version = reading.facts.Version
		}
	}
	reading.identified = err == nil || errors.Is(err, StatusError(http.StatusNotFound))
}

// latest is the newest statistics entry served, else the last one before: an answer without an entry is no sign of an
// idle engine.
func (c Client) latest(ctx context.Context, e *Endpoint, draining *spec.Draining, before func(*spec.Model)) (func(*spec.Model), error) {
	var answer json.RawMessage
	if err := c.JSON(ctx, e, draining.Path, &answer); err != nil {
		return nil, err
	}
	latest, err := draining.Latest(answer)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", draining.Path, err)
	case latest == nil:
		return before, nil
	}
	return latest, nil
}
