// Package llamacpp has all that is known of llama.cpp.
package llamacpp

import (
	"encoding/json"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// Engine describes llama.cpp.
func Engine() spec.Engine {
	return spec.Engine{
		Name: "llamacpp", Title: "llama.cpp",
		Metrics: spec.Metrics{
			Forms: []spec.Form{{Prefix: Prefix, Labels: spec.Labels{Others: []string{LabelPosition}}, Read: read}},
			Cache: &spec.CacheCounters{Prompt: PromptTokens, Computed: true, Found: []string{CachedTokens}},
			Drafts: spec.DraftCounters{
				Tokens: DraftTokens, Accepted: AcceptedTokens, Drafts: Drafts, ByPosition: AcceptedByPos, PositionLabel: LabelPosition,
			},
			Enable: "start llama-server with --metrics",
		},
		// It calls itself so also while it loads its model.
		Identity: spec.Identity{
			Server: "llama.cpp", Owners: []string{"llamacpp"},
			About:    &spec.About{Path: PropertiesPath, Read: about},
			Complete: complete,
		},
		CommandLine: commandLine(),
		Sizing:      &spec.Sizing{Version: "0.5.0", Grant: grant},
		Log:         log(), LogNeeds: "-lv 4",
		Request: &spec.Request{Plain: true},
		// {"timings":{"cache_n":4,"prompt_n":5,"draft_n":16,"draft_n_accepted":14}}; the last two only if something was drafted.
		Answer: []spec.AnswerCount{
			{Of: spec.AnsweredCached, Path: []string{"timings", "cache_n"}},
			{Of: spec.AnsweredDrafted, Path: []string{"timings", "draft_n"}},
			{Of: spec.AnsweredAccepted, Path: []string{"timings", "draft_n_accepted"}},
		},
		Tokenizer: &spec.Tokenizer{Path: "/tokenize", Text: "content", Fixed: map[string]any{"add_special": false}},
		Context:   &spec.Context{Path: PropertiesPath, Read: slotContext},
		Settings:  spec.Settings{Paths: []string{PropertiesPath}, Members: []string{"build_info", "total_slots"}},
		Wording:   spec.Wording{TooLong: []string{"the request exceeds the available context size"}},
		Programs:  []spec.Program{{Command: "llama-server", Flag: "--port", Variable: portVariable, Port: 8080}}, // b6000
		Variables: []string{portVariable},
	}
}

const portVariable = "LLAMA_ARG_PORT"

func about(body []byte) (spec.Facts, error) {
	var p properties
	if err := json.Unmarshal(body, &p); err != nil {
		return spec.Facts{}, err
	}
	return spec.Facts{Version: p.BuildInfo, Model: p.model()}, nil
}

// complete adds the model's name, and the KV cache where the page does not have it.
func complete(ask func(path string, into any) error, facts spec.Facts, m *spec.Model) {
	m.Name = facts.Model
	var slots []slot
	if m.UsedRatio == nil && ask(SlotsPath, &slots) == nil {
		m.Pool = slotPool(slots)
	}
}

// slotContext reads the context of one slot:
//
//	{"default_generation_settings":{"n_ctx":4096},"total_slots":2}
func slotContext(body []byte, _ string) float64 {
	var answer struct {
		Settings struct {
			Context any `json:"n_ctx"`
		} `json:"default_generation_settings"`
	}
	if json.Unmarshal(body, &answer) != nil {
		return 0
	}
	tokens, _ := answer.Settings.Context.(float64)
	return tokens
}
