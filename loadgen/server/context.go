package server

import (
	"context"
	"encoding/json"
	"math"
	"strings"

	"github.com/umascope/umascope/exporter/metric"
)

// contextOf is the longest prompt with its answer, in tokens, for check and run alike; 0 is not known. A
// server that does not list it with its models is asked for it. Dynamo before 1.0 has it on its page, llama.cpp in its properties. Ollama cuts what is longer without a word, and knows the figure only of a
// model that it has loaded: it must have answered before.
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

// propsContext reads llama.cpp's GET /props, where it is the context of one slot:
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

// loadedContext reads Ollama's GET /api/ps, which has it since 0.10:
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

// modelGauge reads the value of a series with one label for the model; 0 is not known. Dynamo before 1.0
// writes some names of models in lower case.
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

// tokens is a number of tokens in JSON; 0 stands for anything that is none.
type tokens int

// UnmarshalJSON never fails: one entry in a form of its own must not hide a list of models.
func (t *tokens) UnmarshalJSON(text []byte) error {
	var number float64
	if json.Unmarshal(text, &number) != nil {
		number = 0
	}
	*t = wholeTokens(number)
	return nil
}

// wholeTokens is the figure as a number of tokens, 0 where it is none.
func wholeTokens(figure float64) tokens {
	if figure != math.Trunc(figure) || figure < 0 || figure > math.MaxInt32 {
		return 0
	}
	return tokens(figure)
}
