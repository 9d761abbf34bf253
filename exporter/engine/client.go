package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// ErrDrains is wrapped for an address of TensorRT-LLM that serves each entry to one reader only. One request found that
// out, and there are no further ones.
var ErrDrains = fmt.Errorf("TensorRT-LLM hands its statistics on %s to one reader only and has no page on %s: set return_perf_metrics, or say --engine.iteration-stats",
	metric.ForeignTensorRTLLMDrainingPath, metric.ForeignTensorRTLLMPagePath)

// Read reads an engine. Before is the previous reading, zero if there is none: values that are constant while an engine
// runs are read once. Keep the reading of a failed read too, unless the engine could not be reached.
func (c Client) Read(ctx context.Context, e *Endpoint, before Reading) (Reading, error) {
	reading := Reading{drains: before.drains}
	var err error
	if !reading.drains {
		reading, err = c.translated(ctx, e)
		if errors.Is(err, ErrNotPage) && e.draining() {
			reading.drains = true
		}
	}
	if reading.drains {
		reading, err = c.drained(ctx, e)
	}
	if err != nil {
		return reading, err
	}
	return c.complete(ctx, e, reading, before)
}

func (c Client) translated(ctx context.Context, e *Endpoint) (Reading, error) {
	page, err := c.Page(ctx, e)
	if err != nil {
		return Reading{}, err
	}
	reading, err := Translate(page)
	for i, label := range reading.UnknownLabels {
		reading.UnknownLabels[i] = hideText(label, e.secrets(ctx))
	}
	return reading, err
}

// drained reads a TensorRT-LLM whose address is that of the statistics: its page, if any, is at another address.
func (c Client) drained(ctx context.Context, e *Endpoint) (Reading, error) {
	page, err := e.With(metric.ForeignTensorRTLLMPagePath)
	if err != nil {
		return Reading{drains: true}, fmt.Errorf("%w (%w)", ErrDrains, err)
	}
	reading, err := c.translated(ctx, page)
	switch {
	case errors.Is(err, ErrUnreachable):
		return Reading{}, err
	case err != nil && !c.IterationStats:
		return Reading{drains: true}, fmt.Errorf("%w (%w)", ErrDrains, err)
	case err != nil:
		reading = Reading{Engine: metric.EngineTensorRTLLM, Models: []Model{{}}, pageless: true}
	}
	reading.drains = true
	return reading, nil
}

// complete adds the values that engines publish at other paths. Values that cannot be read there are absent.
func (c Client) complete(ctx context.Context, e *Endpoint, reading, before Reading) (Reading, error) {
	e = e.of(reading.Engine)
	if reading.follows(before) {
		reading.Version, reading.properties, reading.identified = before.Version, before.properties, before.identified
	} else {
		before = Reading{}
	}
	reading.keepStatePools(before)
	if _, err := e.prefix(); err != nil && reading.asks() {
		reading.Absent = append(reading.Absent, "its version and what else it publishes beside its page are not read: "+err.Error())
		return reading, nil
	}
	if !reading.identified {
		c.identify(ctx, e, &reading)
	}
	switch {
	case reading.Engine == metric.EngineLlamaCPP:
		c.completeLlamaCPP(ctx, e, &reading.Models[0], reading.properties)
	case reading.Engine == metric.EngineTensorRTLLM && c.IterationStats:
		var err error
		reading.draining, err = c.lastIteration(ctx, e, before.draining)
		if err != nil && reading.pageless {
			return Reading{drains: true}, err // no path has a value
		}
		if reading.draining != nil && len(reading.Models) == 1 {
			reading.draining.complete(&reading.Models[0])
		}
	}
	return reading, nil
}

// follows reports whether the engine is the same as in the previous reading and has not restarted since.
func (r Reading) follows(before Reading) bool {
	return before.Engine == r.Engine && r.tokens() >= before.tokens()
}

// asks reports whether the engine publishes anything beside its page.
func (r Reading) asks() bool {
	return r.Engine != metric.EngineSGLang && r.Engine != metric.EngineLMCache
}

// keepStatePools leaves out the pools that were never in use: engines write 0 for a pool that their model lacks.
func (r *Reading) keepStatePools(before Reading) {
	r.statePools = before.statePools
	for i := range r.Models {
		m := &r.Models[i]
		m.StatePools = slices.DeleteFunc(m.StatePools, func(pool StatePool) bool {
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
func (c Client) identify(ctx context.Context, e *Endpoint, reading *Reading) {
	var err error
	switch reading.Engine {
	case metric.EngineLlamaCPP:
		if err = c.JSON(ctx, e, metric.ForeignLlamaCPPPropertiesPath, &reading.properties); err == nil {
			reading.Version = shortText(reading.properties.BuildInfo)
		}
	case metric.EngineDynamo: // a worker has no such path
		var answer struct {
			Info struct{ Title, Version string }
		}
		if err = c.JSON(ctx, e, metric.ForeignDynamoOpenAPIPath, &answer); err == nil && strings.Contains(answer.Info.Title, "Dynamo") {
			reading.Version = shortText(answer.Info.Version)
		}
	case metric.EngineVLLM, metric.EngineTensorRTLLM:
		var answer struct{ Version string }
		if err = c.JSON(ctx, e, metric.ForeignVersionPath, &answer); err == nil {
			reading.Version = shortText(answer.Version)
		}
	}
	reading.identified = err == nil || errors.Is(err, StatusError(http.StatusNotFound))
}

// completeLlamaCPP adds the model's name, and the KV cache where the page does not have it.
func (c Client) completeLlamaCPP(ctx context.Context, e *Endpoint, m *Model, properties llamaProperties) {
	m.Name = shortText(properties.model())
	var slots []llamaSlot
	if m.UsedRatio == nil && c.JSON(ctx, e, metric.ForeignLlamaCPPSlotsPath, &slots) == nil {
		m.Pool = slotPool(slots)
	}
}

// lastIteration is the newest statistics entry served. An empty answer means no new entry, not an idle engine: then the
// last entry still holds.
func (c Client) lastIteration(ctx context.Context, e *Endpoint, before *iteration) (*iteration, error) {
	var iterations []iteration
	if err := c.JSON(ctx, e, metric.ForeignTensorRTLLMDrainingPath, &iterations); err != nil {
		return nil, err
	}
	if len(iterations) == 0 {
		return before, nil
	}
	return &iterations[len(iterations)-1], nil
}

// shortText limits the length of a text that becomes a label.
func shortText(text string) string {
	const enough = 200
	return text[:min(len(text), enough)]
}
