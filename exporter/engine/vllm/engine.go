// Package vllm has all that is known of vLLM.
package vllm

import (
	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// Engine describes vLLM.
func Engine() spec.Engine {
	return spec.Engine{
		Name: "vllm", Title: "vLLM",
		Metrics: spec.Metrics{
			KeptIsFree: true, Preempted: "preemptions", Bytes: spec.BytesIfSet,
			Forms: []spec.Form{{Prefix: Prefix, Labels: labels(), Read: read}},
			Cache: &spec.CacheCounters{
				Prompt: metric.VLLMPromptTokensTotal.Def().Name,
				Tiers:  CachedBySource, TierLabel: LabelTokenSource, Tier: tier,
				Found: []string{PrefixHits, GPUPrefixHits}, OnDevice: true, External: ExternalHits,
				Loaded: OffloadedBytes, LoadedLabel: LabelTransfer, LoadedValue: TransferLoad,
			},
			Drafts: spec.DraftCounters{Tokens: DraftTokens, Accepted: AcceptedTokens, Drafts: Drafts, ByPosition: AcceptedByPos, PositionLabel: LabelPosition},
			Sizes:  []string{CacheConfigInfo}, Size: size,
		},
		// Its server gives the description of its API without a key. No server of TensorRT-LLM counts the tokens of a text.
		Identity: spec.Identity{
			Owners: []string{"vllm"}, Route: tokenizePath, About: spec.AboutVersion(), Manner: manner, Fingerprint: fingerprint,
		},
		// LabelBlockSize can be the size from before it was fitted to a hybrid model.
		Block:       []string{LabelBlockSize, LabelEffectiveBlockSize, LabelMambaBlockSize},
		CommandLine: commandLine(),
		Sizing:      &spec.Sizing{Version: "0.32.0", Grant: grant},
		Log:         log(), LogTiers: tiers,
		// vllm/entrypoints/openai/protocol.py.
		Request: &spec.Request{
			Source:  "vllm/entrypoints/openai/protocol.py",
			ChatCap: spec.MaxCompletionTokens,
			Both:    []string{spec.IgnoreEOS, spec.MinTokens, spec.ContinuousUsage, spec.ReturnTokenIDs, spec.CacheSalt},
		},
		// vllm/entrypoints/serve/dev/cache/api_router.py of 0.32.0.
		Reset: &spec.Reset{
			Path: "/reset_prefix_cache", Needs: "with VLLM_SERVER_DEV_MODE=1", Without: "vLLM has it with VLLM_SERVER_DEV_MODE=1 in its environment only",
		},
		Tokenizer:    &spec.Tokenizer{Path: tokenizePath, Text: "prompt", Fixed: map[string]any{"add_special_tokens": false}},
		Settings:     spec.Settings{Info: CacheConfigInfo},
		CachedTokens: "--enable-prompt-tokens-details",
		Wording: spec.Wording{
			TooLong: []string{
				"This model's maximum context length is 8192 tokens. However, you requested 9000 tokens.",
				"The decoder prompt (length 9000) is longer than the maximum model length of 8192.",
			},
			NoModel: []string{"The model `gone` does not exist."},
			GivenUp: []string{"abort", "error"},
		},
		Programs: []spec.Program{ // 0.32.0
			{Command: "vllm", Verb: "serve", Flag: "--port", Port: 8000},
			{Command: "vllm.entrypoints.cli.main", Verb: "serve", Flag: "--port", Port: 8000},
			{Command: "vllm.entrypoints.openai.api_server", Flag: "--port", Port: 8000},
		},
	}
}

// labels are the labels of the page.
func labels() spec.Labels {
	return spec.Labels{
		Replica: []string{LabelEngine},
		Others:  []string{spec.LabelModelName, LabelTokenSource, LabelPosition, LabelTransfer, LabelTier},
	}
}
