package llamacpp

import (
	"encoding/json"
	"path"

	"github.com/umascope/umascope/exporter/engine/spec"
	"github.com/umascope/umascope/exporter/metric"
)

// read reads a page of llama.cpp's server, which serves one model and names it at another path.
func read(all spec.View) []spec.Model {
	v := all
	prompt, cached := v.Counter(PromptTokens), v.Counter(CachedTokens)
	var found *spec.Lookups
	if prompt != nil && cached != nil {
		prompt = new(*prompt + *cached)
		found = spec.NewLookups(prompt, map[string]*float64{metric.TierAny: cached})
	}
	return []spec.Model{{
		Pool: spec.Pool{UsedRatio: spec.Ratio(v.Gauge(KVUsage)), UsedTokens: v.Gauge(KVTokens)},
		Requests: spec.Counts(map[string]*float64{
			metric.RequestsRunning: v.Gauge(Processing), metric.RequestsWaiting: v.Gauge(Deferred),
		}),
		PrefixTokens:     found,
		Speculation:      speculation(v),
		PromptTokens:     prompt,
		GenerationTokens: v.Counter(PredictedTokens),
	}}
}

// properties is the answer of /props (tools/server/README.md).
//
//	{"total_slots": 1, "model_path": "../models/Llama-3.1-8B-Q4_K_M.gguf", "build_info": "b6500-4b8560a2"}
type properties struct {
	ModelAlias string `json:"model_alias"`
	ModelPath  string `json:"model_path"`
	BuildInfo  string `json:"build_info"`
}

// model returns the name of the server's model, else that of its file.
func (p properties) model() string {
	if p.ModelAlias != "" || p.ModelPath == "" {
		return p.ModelAlias
	}
	return path.Base(p.ModelPath)
}

// slot is an entry of /slots (tools/server/README.md). Its prompt is not read.
//
//	[{"id": 0, "n_ctx": 65536, "is_processing": true, "n_prompt_tokens": 1203, "next_token": [{"n_decoded": 136}]}]
type slot struct {
	Context      *float64 `json:"n_ctx"`
	Processing   bool     `json:"is_processing"`
	PromptTokens *float64 `json:"n_prompt_tokens"` // newer builds
	Next         nexts    `json:"next_token"`
}

type next struct {
	Decoded float64 `json:"n_decoded"`
}

// nexts is a list, or in some builds one object without a list around it.
type nexts []next

// UnmarshalJSON implements json.Unmarshaler.
func (n *nexts) UnmarshalJSON(text []byte) error {
	var one next
	if json.Unmarshal(text, &one) == nil {
		*n = nexts{one}
		return nil
	}
	return json.Unmarshal(text, (*[]next)(n))
}

// slotPool is the KV cache as the slots show it. Several slots report either the size of one cache that they share, or
// each the size of its own part, without a mark of which: then the capacity is unknown.
func slotPool(slots []slot) spec.Pool {
	var pool spec.Pool
	if len(slots) == 1 {
		pool.CapacityTokens = spec.NotBelowZero(slots[0].Context)
	}
	used := 0.0
	for _, slot := range slots {
		if !slot.Processing {
			continue
		}
		if spec.NotBelowZero(slot.PromptTokens) == nil {
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
		pool.UsedRatio = spec.Ratio(new(used / *pool.CapacityTokens))
	}
	return pool
}

// speculation leaves accepted tokens out until something was drafted: before, the page has no positions, and a
// series without a position would end when they appear.
func speculation(v spec.View) spec.Speculation {
	s := spec.Speculation{
		Drafts: v.Counter(Drafts), DraftTokens: v.Counter(DraftTokens),
		Accepted: spec.AcceptedByPosition(v, AcceptedByPos, LabelPosition),
	}
	if total := v.Counter(AcceptedTokens); s.Accepted == nil && spec.AboveZero(s.DraftTokens) != nil {
		s.Accepted = spec.Accepted(total)
	}
	return s
}
