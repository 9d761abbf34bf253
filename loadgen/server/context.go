package server

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// contextOf returns the longest prompt with its answer, in tokens, for check and run alike; 0 if unknown. If a server
// does not list it with its models, it is read elsewhere: on the engine's page of metrics, or in answers of engines that may
// have it. One that cuts longer prompts without an error may report the limit of a loaded model only, so it must have
// answered before.
func (a *api) contextOf(ctx context.Context, m Model, engine string) int {
	if m.MaxTokens > 0 {
		return m.MaxTokens
	}
	if known, is := a.known.Find(engine); is && known.Metrics.ContextGauge != "" {
		return modelGauge(a.fetch(ctx, metricsPath).okBody(), known.Metrics.ContextGauge, m.ID)
	}
	for _, e := range a.known {
		if c := e.Context; c != nil {
			if n := wholeTokens(c.Read(a.fetch(ctx, c.Path).okBody(), m.ID)); n > 0 {
				return int(n)
			}
		}
	}
	return 0
}

// ContextOf returns the longest prompt with its answer that a server takes, in tokens; 0 if unknown.
func ContextOf(ctx context.Context, t Target, s Served) (int, error) {
	api, err := newAPI(t, s.Key)
	if err != nil {
		return 0, err
	}
	defer api.close()
	return api.contextOf(ctx, s.Model, s.Engine), ctx.Err()
}

// modelGauge reads the value of a series with one label for the model; 0 if unknown. An engine may write some
// model names in lower case.
//
//	dynamo_frontend_model_context_length{model="Tiny-Llama-8B"} 32768
func modelGauge(page []byte, name, id string) int {
	for _, series := range labelled(page, name) {
		for _, label := range series.GetLabel() {
			if label.GetName() == spec.LabelModel && strings.EqualFold(label.GetValue(), id) {
				return int(wholeTokens(series.GetUntyped().GetValue()))
			}
		}
	}
	return 0
}

// tokens is a number of tokens in JSON; 0 for any value that is not one.
type tokens int

// UnmarshalJSON never fails: an entry in an unusual form must not hide a list of models.
func (t *tokens) UnmarshalJSON(text []byte) error {
	var number float64
	if json.Unmarshal(text, &number) != nil {
		number = 0
	}
	*t = wholeTokens(number)
	return nil
}

// wholeTokens converts a number to a number of tokens, 0 if it is not one.
func wholeTokens(figure float64) tokens {
	if figure != math.Trunc(figure) || figure < 0 || figure > math.MaxInt32 {
		return 0
	}
	return tokens(figure)
}
