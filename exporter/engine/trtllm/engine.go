// Package trtllm has all that is known of TensorRT-LLM.
package trtllm

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/umascope/umascope/exporter/engine/spec"
)

// Engine describes TensorRT-LLM.
func Engine() spec.Engine {
	return spec.Engine{
		Name: "trtllm", Title: "TensorRT-LLM",
		Metrics: spec.Metrics{
			Path: PagePath,
			Forms: []spec.Form{
				{Prefix: Prefix, Labels: labels(), Read: read},
				{Prefix: Prefix, Names: unprefixed(), Mark: spec.LabelEngineType, Labels: labels(), Read: readUnprefixed},
			},
			Cache: &spec.CacheCounters{
				Prompt: PromptTokens, Tiers: HitTokens, TierLabel: LabelCacheTier, Tier: tier, Found: []string{CachedTokens},
			},
			Drafts: spec.DraftCounters{Tokens: DraftTokens, Accepted: AcceptedTokens},
			Sizes:  []string{MaxBlocks, TokensPerBlock}, Size: size,
			Enable: "set return_perf_metrics",
			Draining: &spec.Draining{
				Path: DrainingPath, Latest: latest,
				Refusal: fmt.Sprintf("TensorRT-LLM hands its statistics on %s to one reader only and has no page on %s: set return_perf_metrics, or say --engine.iteration-stats", DrainingPath, PagePath),
			},
		},
		Identity:    spec.Identity{Owners: []string{"tensorrt_llm"}, About: spec.AboutVersion(), Manner: manner},
		CommandLine: commandLine(),
		Sizing:      &spec.Sizing{Version: "of November 2026", Grant: grant, CUDAFree: true},
		Log:         log(),
		// serve/openai_protocol.py, which refuses any other field.
		Request: &spec.Request{
			Source:  "serve/openai_protocol.py",
			ChatCap: spec.MaxCompletionTokens,
			Both:    []string{spec.IgnoreEOS, spec.MinTokens, spec.ContinuousUsage}, Chat: []string{spec.CacheSalt},
		},
		// Streams of some releases have it in a choice, others in usage.
		Answer: []spec.AnswerCount{
			{Of: spec.AnsweredPerStep, Path: []string{spec.AnswerChoices, "avg_decoded_tokens_per_iter"}},
			{Of: spec.AnsweredPerStep, Path: []string{spec.AnswerUsage, "avg_decoded_tokens_per_iter"}},
		},
		Wording: spec.Wording{
			TooLong: []string{
				"The sum of prompt length (9351.0), query length (0) should not exceed max_num_tokens (8192)",
				"Prompt length (5056) exceeds maximum input length (2048)",
			},
			GivenUp: []string{"timeout", "cancelled", "error"},
		},
		Programs: []spec.Program{ // 1.0
			{Command: "trtllm-serve", Flag: "--port", Port: 8000},
			{Command: "tensorrt_llm.commands.serve", Flag: "--port", Port: 8000},
		},
	}
}

// labels are the labels of the page.
func labels() spec.Labels {
	return spec.Labels{Others: []string{
		spec.LabelModelName, spec.LabelEngineType, LabelFinish, LabelPosition, LabelCacheLevel, LabelCacheTier,
	}}
}

// unprefixed are all series of releases without a prefix.
func unprefixed() []string {
	return []string{OldSuccess, "e2e_request_latency_seconds", "time_to_first_token_seconds", "time_per_output_token_seconds", "request_queue_time_seconds"}
}

// latest reads the statistics. An empty answer means no new entry, not an idle engine.
func latest(body []byte) (func(*spec.Model), error) {
	var iterations []iteration
	if err := json.Unmarshal(body, &iterations); err != nil || len(iterations) == 0 {
		return nil, err
	}
	return iterations[len(iterations)-1].complete, nil
}

// manner recognizes the errors of a server in Python with flat objects, which list missing fields.
func manner(body []byte) string {
	var answer struct {
		Object string `json:"object"`
	}
	if json.Unmarshal(body, &answer) == nil && answer.Object == "error" && bytes.Contains(body, []byte("'missing'")) {
		return "its errors are flat objects of FastAPI"
	}
	return ""
}
