// Package sglang has all that is known of SGLang.
package sglang

import "github.com/umascope/umascope/exporter/engine/spec"

// Engine describes SGLang.
func Engine() spec.Engine {
	return spec.Engine{
		Name: "sglang", Title: "SGLang",
		Metrics: spec.Metrics{
			KeptIsFree: true, Preempted: "retractions", PreemptedLate: true, Bytes: spec.BytesAlways,
			Forms: []spec.Form{{Prefix: Prefix, Labels: labels(), Read: read}},
			Cache: &spec.CacheCounters{
				Prompt: PromptTokens, Tiers: CachedTokens, TierLabel: LabelCacheSource, Tier: tier,
			},
			Sizes: []string{MaxTokens, KVGigabytes}, Size: size,
			Enable: "start SGLang with --enable-metrics",
		},
		Identity:    spec.Identity{Owners: []string{"sglang"}, Traits: []spec.Trait{{Path: "/get_model_info", Shows: modelInfo}}, Gateway: gateway()},
		Block:       []string{LabelPageSize},
		CommandLine: commandLine(),
		Sizing:      &spec.Sizing{Version: "0.5.23", Grant: grant, Runtime: runtime},
		Log:         log(),
		// srt/entrypoints/openai/protocol.py.
		Request: &spec.Request{
			Source: "srt/entrypoints/openai/protocol.py",
			Both:   []string{spec.IgnoreEOS, spec.MinTokens, spec.ContinuousUsage, spec.ReturnTokenIDs, spec.CacheSalt},
			Newer:  []string{"return_cached_tokens_details", "return_spec_tokens_details"},
		},
		Answer: answer(),
		// sglang/srt/entrypoints/http_server.py of 0.5.23.
		Reset:        &spec.Reset{Path: "/flush_cache", Without: "a gateway before SGLang may not pass it on"},
		Tokenizer:    &spec.Tokenizer{Path: "/tokenize", Text: "prompt", Fixed: map[string]any{"add_special_tokens": false}},
		Settings:     spec.Settings{Paths: []string{"/server_info", argumentsPath}, Members: settings()},
		CachedTokens: "--enable-cache-report",
		Wording: spec.Wording{
			TooLong: []string{
				"The input (9000 tokens) is longer than the model's context length (8192 tokens).",
				"Input length (9000 tokens) exceeds the maximum allowed length (8186 tokens)",
				"Requested token count exceeds the model's maximum context length of 8192 tokens.",
			},
			GivenUp: []string{"abort", "error"},
		},
		Programs: []spec.Program{ // 0.5.15
			{Command: "sglang.launch_server", Flag: "--port", Port: 30000},
			{Command: "sglang", Verb: "serve", Flag: "--port", Port: 30000},
		},
	}
}

// labels are the labels of the page.
func labels() spec.Labels {
	return spec.Labels{
		Replica: []string{LabelReplica},
		Others: append([]string{spec.LabelModelName, spec.LabelEngineType, LabelPriority, LabelPhase, LabelCacheSource,
			LabelCacheType, LabelBackend, LabelPool, "pp_size", "attn_cp_rank", "attn_cp_size"}, ranks()...),
	}
}

// ranks number the processes of one replica, each on a GPU of its own.
func ranks() []string { return []string{LabelTensorRank, LabelPipelineRank, LabelExpertRank} }
