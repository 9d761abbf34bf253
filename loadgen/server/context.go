package server

import (
	"context"
	"encoding/json"
)

// contextOf asks a server that does not list it with its models for the longest prompt with its answer,
// in tokens; 0 is not known. Ollama cuts what is longer without a word, and knows the figure only of a
// model that it has loaded: it must have answered before.
func (a *api) contextOf(ctx context.Context, m Model) int {
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
			Context int `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if json.Unmarshal(body, &props) != nil {
		return 0
	}
	return max(props.Settings.Context, 0)
}

// loadedContext reads Ollama's GET /api/ps, which has it since 0.10:
//
//	{"models":[{"name":"llama3:latest","size_vram":0,"context_length":4096}]}
func loadedContext(body []byte, model string) int {
	var loaded struct {
		Models []struct {
			Name    string `json:"name"`
			Context int    `json:"context_length"`
		} `json:"models"`
	}
	if json.Unmarshal(body, &loaded) != nil {
		return 0
	}
	for _, m := range loaded.Models {
		if m.Name == model {
			return max(m.Context, 0)
		}
	}
	return 0
}
