package server

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// contextOf returns the longest prompt with its answer, in tokens, for check and run alike; 0 if unknown. If a server
// does not list it with its models, it is read elsewhere: Dynamo before 1.0 has it on its metrics page, llama.cpp in
// its properties. Ollama cuts longer prompts without an error, and reports the limit only of a loaded model, so it
// must have answered before.
func (a *api) contextOf(ctx context.Context, m Model, engine string) int {
	if m.MaxTokens > 0 {
		return m.MaxTokens
	}
	if engine == "dynamo" {
		return modelGauge(a.fetch(ctx, metricsPath).okBody(), metric.ForeignDynamoModelContext, m.ID)
	}
	if tokens := propsContext(a.fetch(ctx, "/props").okBody()); tokens > 0 {
		return tokens
	}
	return loadedContext(a.fetch(ctx, "/api/ps").okBody(), m.ID)
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

// propsContext reads llama.cpp's GET /props, which has the context of one slot:
//
//	{"default_generation_settings":{"n_ctx":4096},"total_slots":2}
func propsContext(body []byte) int {
	var props struct {
		Settings struct {
			Context tokens `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if json.Unmarshal(body, &props) != nil {
		return 0
	}
	return int(props.Settings.Context)
}

// loadedContext reads Ollama's GET /api/ps, which has the context since 0.10:
//
//	{"models":[{"name":"llama3:latest","size_vram":0,"context_length":4096}]}
func loadedContext(body []byte, model string) int {
	var loaded struct {
		Models []struct {
			Name    string `json:"name"`
			Context tokens `json:"context_length"`
		} `json:"models"`
	}
	if json.Unmarshal(body, &loaded) != nil {
		return 0
	}
	for _, m := range loaded.Models {
		if m.Name == model {
			return int(m.Context)
		}
	}
	return 0
}

// modelGauge reads the value of a series with one label for the model; 0 if unknown. Dynamo before 1.0 writes some
// model names in lower case.
//
//	dynamo_frontend_model_context_length{model="Tiny-Llama-8B"} 32768
func modelGauge(page []byte, name, id string) int {
	for _, series := range labelled(page, name) {
		for _, label := range series.GetLabel() {
			if label.GetName() == metric.ForeignLabelModel && strings.EqualFold(label.GetValue(), id) {
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
