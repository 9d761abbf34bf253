package engine

import (
	"encoding/json"
	"path"

	"github.com/umascope/umascope/exporter/metric"
)

// readLlamaCPP reads a page of llama.cpp's server, which serves one model and names it at another path.
func readLlamaCPP(all view) []Model {
	v := all
	prompt, cached := v.counter(metric.ForeignLlamaCPPPromptTokens), v.counter(metric.ForeignLlamaCPPCachedTokens)
	var found *Lookups
	if prompt != nil && cached != nil {
		prompt = new(*prompt + *cached)
		found = lookups(prompt, map[string]*float64{metric.TierAny: cached})
	}
	return []Model{{
		Pool: Pool{UsedRatio: ratio(v.gauge(metric.ForeignLlamaCPPKVUsage)), UsedTokens: v.gauge(metric.ForeignLlamaCPPKVTokens)},
		Requests: requests(map[string]*float64{
			metric.RequestsRunning: v.gauge(metric.ForeignLlamaCPPProcessing), metric.RequestsWaiting: v.gauge(metric.ForeignLlamaCPPDeferred),
		}),
		PrefixTokens:     found,
		Speculation:      llamaSpeculation(v),
		PromptTokens:     prompt,
		GenerationTokens: v.counter(metric.ForeignLlamaCPPPredictedTokens),
	}}
}

// llamaProperties is the answer of /props (tools/server/README.md).
//
//	{"total_slots": 1, "model_path": "../models/Llama-3.1-8B-Q4_K_M.gguf", "build_info": "b6500-4b8560a2"}
type llamaProperties struct {
	ModelAlias string `json:"model_alias"`
	ModelPath  string `json:"model_path"`
	BuildInfo  string `json:"build_info"`
}

// model returns the name of the server's model, else that of its file.
func (p llamaProperties) model() string {
	if p.ModelAlias != "" || p.ModelPath == "" {
		return p.ModelAlias
	}
	return path.Base(p.ModelPath)
}

// llamaSlot is an entry of /slots (tools/server/README.md). Its prompt is not read.
//
//	[{"id": 0, "n_ctx": 65536, "is_processing": true, "n_prompt_tokens": 1203, "next_token": [{"n_decoded": 136}]}]
type llamaSlot struct {
	Context      *float64   `json:"n_ctx"`
	Processing   bool       `json:"is_processing"`
	PromptTokens *float64   `json:"n_prompt_tokens"` // newer builds
	Next         llamaNexts `json:"next_token"`
}

type llamaNext struct {
	Decoded float64 `json:"n_decoded"`
}

// llamaNexts is a list, or in some builds one object without a list around it.
type llamaNexts []llamaNext

// UnmarshalJSON implements json.Unmarshaler.
func (n *llamaNexts) UnmarshalJSON(text []byte) error {
	var one llamaNext
	if json.Unmarshal(text, &one) == nil {
		*n = llamaNexts{one}
		return nil
	}
	return json.Unmarshal(text, (*[]llamaNext)(n))
}

// slotPool is the KV cache as the slots show it. Several slots report either the size of one cache that they share, or
// each the size of its own part, without a mark of which: then the capacity is unknown.
func slotPool(slots []llamaSlot) Pool {
	var pool Pool
	if len(slots) == 1 {
		pool.CapacityTokens = notBelowZero(slots[0].Context)
	}
	used := 0.0
	for _, slot := range slots {
		if !slot.Processing {
			continue
		}
		if notBelowZero(slot.PromptTokens) == nil {
			return pool
		}
		used += *slot.PromptTokens
		for _, next := range slot.Next {
			used += max(0, next.Decoded)
		}
	}
	if len(slots) > 0 {
		pool.UsedTokens = &used
	}
	if pool.CapacityTokens != nil && *pool.CapacityTokens > 0 {
		pool.UsedRatio = ratio(new(used / *pool.CapacityTokens))
	}
	return pool
}
